//! Unsafe tools: a family of the test's own, in this process, over the real transports.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use glovebox::answers::AnswersConfig;
use glovebox::jobs::clock::WallClock;
use glovebox::mcp::{
    Args, Config, Families, Family, Guarded, Hints, KeyState, Reply, ResultBounds, Runs, Server,
    Service, Structured, Tool, ToolCall, ToolResult,
};
use glovebox::policy::audit::{AuditConfig, AuditDir, AuditLog, OnFailure, ROTATE_BYTES, Recorder};
use glovebox::policy::{Caller, Control, Policy, Rules, Safety, Situation, ToolFlags};
use glovebox::simulator::Simulator;
use glovebox::transport::http::gate::{Host, Mode};
use glovebox::transport::http::limits::Limits;
use glovebox::transport::http::listener::{self, ListenAddress};
use glovebox::transport::http::token::TokenFile;
use glovebox::transport::http::{Channel, Config as HttpConfig, Endpoint, Http, Start, run};
use glovebox::transport::stdio::Stdio;
use rmcp::ServiceExt as _;
use rmcp::model::JsonObject;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::client::{Session, TRANSPORTS};
use crate::support::server::text;

/// How often an unsafe tool ran.
static RUNS: AtomicUsize = AtomicUsize::new(0);

fn acts<'a>(_service: &'a Service, _args: Args, _call: &'a ToolCall) -> BoxFuture<'a, Reply> {
    async {
        RUNS.fetch_add(1, Ordering::SeqCst);
        ToolResult::new("it acted", json!({ "state": "done" })).into()
    }
    .boxed()
}

const fn tool(name: &'static str, other_hosts: bool, safety: Safety) -> Tool {
    Tool {
        name,
        title: name,
        description: "A tool of a test",
        groups: &["test"],
        params: &[],
        output: &[],
        hints: Hints {
            read_only: false,
            destructive: true,
            idempotent: false,
            open_world: true,
        },
        flags: ToolFlags {
            spends: false,
            foreground: true,
            other_hosts,
            changes: true,
            safety,
        },
        spending: None,
        run: acts,
    }
}

const FAMILY: Family = Family {
    name: "test",
    instructions: "Tools of a test.",
    tools: &[
        tool("safe", false, Safety::Safe),
        tool("sends", true, Safety::Safe),
        tool("writes", false, Safety::Unsafe),
        tool("widens", false, Safety::UnsafeUnlessNamed),
    ],
    bounds: ResultBounds {
        kept: &["state"],
        cut_first: &[],
    },
    has_research: false,
};

const FAMILIES: Families = Families(&[FAMILY]);

/// A service in this process.
pub struct InProcess {
    pub runtime: tokio::runtime::Runtime,
    pub service: Service,
    families: Families,
    pub folder: tempfile::TempDir,
    pub simulator: Simulator,
}

impl InProcess {
    pub fn start(families: Families, rules: &Rules, ask_within: Duration) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let (jobs, simulator) =
            runtime.block_on(crate::jobs::store::jobs(&path, Arc::new(WallClock), None));
        let policy = Policy::new(&families.facts(), rules).unwrap();
        let control = Control::new(policy, Some(recorder(path)));
        let config = Config {
            structured: Structured::Auto,
            output_bytes: 64 << 10,
            answer_deadline: Duration::from_secs(60),
            research_deadline: Duration::from_secs(60),
            idle: None,
            keep: Duration::from_secs(3600),
            capture: false,
            simulate: None,
            runs: Runs::Here,
            answers: AnswersConfig::default(),
            address: "a test".to_owned(),
            key: Arc::new(|| KeyState {
                key: Ok("a test's".to_owned()),
                advice: None,
            }),
            situation: Situation::default(),
            ask_within,
        };
        Self {
            service: Service::new(jobs, Arc::new(control), config),
            families,
            runtime,
            folder,
            simulator,
        }
    }

    pub fn events(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path().join("audit/audit.jsonl")).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// A client over pipes, as over standard input and output: a writer and a reader of lines.
    pub fn pipes(&self) -> Pipes {
        let (theirs, input) = std::io::pipe().unwrap();
        let (output, ours) = std::io::pipe().unwrap();
        let transport = Stdio::over(BufReader::new(theirs), ours).unwrap();
        let server = Server::new(
            self.service.clone(),
            self.families,
            Caller::stdio(),
            transport.ended(),
        );
        self.runtime.spawn(async move {
            Guarded(server)
                .serve(transport)
                .await
                .unwrap()
                .waiting()
                .await
        });
        Pipes {
            input,
            output: BufReader::new(output),
            next: 0,
        }
    }

    pub fn http(&self) -> u16 {
        let address: ListenAddress = "127.0.0.1:0".parse().unwrap();
        let sockets = self.runtime.block_on(address.bind()).unwrap();
        let port = sockets[0].local_addr().unwrap().port();
        let token = TokenFile::new(self.folder.path().join("token"));
        token.read_or_make().unwrap();
        let config = HttpConfig {
            mode: Mode::Local {
                require_token: false,
            },
            allowed_origins: Vec::new(),
            token,
            limits: Limits::default(),
            tls: None,
            host: Host::V4(Ipv4Addr::LOCALHOST),
        };
        let tools = Arc::new(Tools(self.service.clone(), self.families));
        let http = Http::new(config, port, tools, None, Arc::new(WallClock));
        self.runtime.spawn(listener::serve(Arc::new(http), sockets));
        port
    }
}

fn recorder(state: PathBuf) -> Recorder {
    let log = AuditLog::open(AuditConfig {
        dir: AuditDir::of_state(&state),
        key_file: None,
        rotate_bytes: ROTATE_BYTES,
        clock: Arc::new(WallClock),
    });
    Recorder::new(log.unwrap(), Arc::new(WallClock), OnFailure::Deny)
}

struct Tools(Service, Families);

impl Endpoint for Tools {
    fn serve(
        &self,
        channel: Channel,
        start: Start,
        leaving: CancellationToken,
        stop: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let caller = channel.caller().clone();
        let server = Guarded(Server::new(self.0.clone(), self.1, caller, leaving));
        run(server, channel, start, stop).boxed()
    }

    fn gate_denied(&self, _reason: &'static str) {}

    fn input_schema(&self, tool: &str) -> Option<Arc<JsonObject>> {
        let (_, tool) = self.1.tool(tool)?;
        Some(tool.listed(false).input_schema)
    }

    fn unready(&self) -> BoxFuture<'_, Option<String>> {
        async { None }.boxed()
    }

    fn metrics(&self) -> BoxFuture<'_, String> {
        async { String::new() }.boxed()
    }
}

/// A client over pipes.
pub struct Pipes {
    input: std::io::PipeWriter,
    output: BufReader<std::io::PipeReader>,
    next: u64,
}

impl Pipes {
    pub fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    pub fn message(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    pub fn request(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        loop {
            let message = self.message();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    pub fn initialize(&mut self, capabilities: Value) {
        self.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-11-25", "capabilities": capabilities,
                "clientInfo": { "name": "pipes", "version": "1" },
            }),
        );
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }
}

/// One of the three transports.
enum Client {
    Pipes(Box<Pipes>),
    Session(Session),
}

impl Client {
    fn open(server: &InProcess, transport: &str) -> Self {
        match transport {
            "stdio" => {
                let mut pipes = server.pipes();
                pipes.initialize(json!({}));
                Self::Pipes(Box::new(pipes))
            }
            "http" => Self::Session(Session::http(server.http(), json!({}))),
            _ => Self::Session(Session::sse(server.http(), json!({}))),
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        match self {
            Self::Pipes(pipes) => pipes.ask(method, params),
            Self::Session(session) => session.ask(method, params),
        }
    }
}

pub fn rules(select: &str) -> Rules {
    Rules {
        select: vec![select.to_owned()],
        toggles: Vec::new(),
        allow_unsafe: false,
        allow_unsafe_tools: Vec::new(),
        confirm_over: None,
        max_concurrent: 4,
    }
}

#[test]
fn unsafe_tools_need_the_operators_word_over_every_transport() {
    let named = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    let cases = [
        (rules("all"), vec!["safe"]),
        (
            Rules {
                allow_unsafe: true,
                ..rules("all")
            },
            vec!["safe", "sends", "writes"],
        ),
        (
            Rules {
                allow_unsafe_tools: named(&["widens", "sends"]),
                ..rules("all")
            },
            vec!["safe", "sends", "widens"],
        ),
    ];
    for (rules, allowed) in cases {
        for transport in TRANSPORTS {
            let server = InProcess::start(FAMILIES, &rules, Duration::from_secs(1));
            let mut client = Client::open(&server, transport);
            let listed = client.ask("tools/list", json!({}));
            let names: Vec<&str> = listed["result"]["tools"]
                .as_array()
                .unwrap()
                .iter()
                .map(|tool| tool["name"].as_str().unwrap())
                .collect();
            assert_eq!(names, allowed, "{transport}");
            for tool in ["safe", "sends", "writes", "widens"] {
                let before = RUNS.load(Ordering::SeqCst);
                let reply = client.ask("tools/call", json!({ "name": tool, "arguments": {} }));
                let result = &reply["result"];
                let may = allowed.contains(&tool);
                assert_eq!(
                    RUNS.load(Ordering::SeqCst) - before,
                    usize::from(may),
                    "{transport} {tool}"
                );
                assert_eq!(
                    result["isError"] == true,
                    !may,
                    "{transport} {tool}: {reply}"
                );
                let events = server.events();
                let last = events.last().unwrap();
                assert_eq!(
                    (&last["tool"], &last["transport"]),
                    (&json!(tool), &json!(transport))
                );
                if may {
                    assert_eq!(
                        (&last["event"], &last["decision"]),
                        (&json!("tool_end"), &json!("ok"))
                    );
                } else {
                    let said = text(result);
                    assert!(said.contains("tools.allow_unsafe_tools"), "{said}");
                    assert_eq!(
                        said.contains("tools.allow_unsafe or"),
                        tool != "widens",
                        "{said}"
                    );
                    assert_eq!(
                        (&last["event"], &last["reason"]),
                        (&json!("tool_denied"), &json!("unsafe"))
                    );
                }
            }
        }
    }
}
