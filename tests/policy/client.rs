//! One client for all transports: requests out, replies and notices in.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::client::{Connection, exchange, notification, request};
use crate::http::program::Serve;
use crate::support::server::{Server, modern, program};

/// The transports of the older era.
pub const TRANSPORTS: [&str; 3] = ["stdio", "http", "sse"];

/// A user's folders and the flags of a server in front of the built-in simulator.
pub struct Place {
    folder: TempDir,
    upstream: Option<String>,
}

impl Place {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            upstream: None,
        }
    }

    /// A place whose calls go to an upstream.
    pub fn with_upstream(url: &str) -> Self {
        Self {
            upstream: Some(url.to_owned()),
            ..Self::new()
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn audit(&self) -> PathBuf {
        self.path().join("state/audit")
    }

    /// Writes `glovebox.toml` in one step, as an editor does.
    pub fn configure(&self, text: &str) {
        let folder = self.path().join(".config/glovebox");
        std::fs::create_dir_all(&folder).unwrap();
        let draft = folder.join("draft");
        std::fs::write(&draft, text).unwrap();
        std::fs::rename(draft, folder.join("glovebox.toml")).unwrap();
    }

    /// The events of the audit log, oldest first.
    pub fn events(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.audit().join("audit.jsonl")).unwrap_or_default();
        let lines = text.lines();
        lines
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
            })
            .collect()
    }

    /// Waits for events that fit, as many as wanted.
    pub fn wait_for_events(&self, count: usize, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
        let until = std::time::Instant::now() + crate::support::GENEROUS;
        loop {
            let found: Vec<Value> = self.events().into_iter().filter(&fits).collect();
            if found.len() >= count {
                return found;
            }
            let all = self.events();
            assert!(
                std::time::Instant::now() < until,
                "{count} events: {all:#?}"
            );
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = program(self.path());
        command.args(args);
        match &self.upstream {
            Some(url) => command
                .env("GLOVEBOX_UPSTREAM", url)
                .env("BRAVE_ANSWERS_KEY", crate::support::KEY),
            None => command.args(["--simulate", "--pace", "0"]),
        };
        command
    }

    pub fn stdio(&self, flags: &[&str]) -> Server {
        let mut command = self.command(&["stdio"]);
        command.args(flags);
        Server::spawn(command)
    }

    pub fn serve(&self, flags: &[&str]) -> Serve {
        let mut command = self.command(&["serve", "--json", "--listen", ":0"]);
        command.args(flags);
        Serve::spawn(command)
    }
}

/// A client with a session.
pub enum Session {
    Stdio(Box<Server>),
    Http(Http),
    Sse(Sse),
}

pub struct Http {
    pub port: u16,
    pub id: String,
    next: u64,
    notices: Connection,
}

pub struct Sse {
    port: u16,
    path: String,
    next: u64,
    stream: Connection,
    notices: Vec<Value>,
}

/// A client that says this about itself.
fn hello(capabilities: Value) -> Value {
    json!({
        "protocolVersion": "2025-11-25", "capabilities": capabilities,
        "clientInfo": { "name": "policy-test", "version": "7" },
    })
}

impl Session {
    pub fn stdio(mut server: Server, capabilities: Value) -> Self {
        server.ask("initialize", hello(capabilities));
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        Self::Stdio(Box::new(server))
    }

    pub fn http(port: u16, capabilities: Value) -> Self {
        let body = request(0, "initialize", hello(capabilities));
        let (head, _) = exchange(port, "POST", "/mcp", &[], &body);
        let id = head.header("mcp-session-id").unwrap().to_owned();
        let headers = [("mcp-session-id", id.as_str())];
        let begun = notification("notifications/initialized", json!({}));
        assert_eq!(
            exchange(port, "POST", "/mcp", &headers, &begun).0.status,
            202
        );
        let mut notices = Connection::open(port);
        let accept = ("accept", "text/event-stream");
        notices.send("GET", "/mcp", &[headers[0], accept], "");
        assert!(notices.head().is_stream());
        Self::Http(Http {
            port,
            id,
            next: 0,
            notices,
        })
    }

    pub fn sse(port: u16, capabilities: Value) -> Self {
        let mut stream = Connection::open(port);
        stream.send("GET", "/sse", &[], "");
        assert!(stream.head().is_stream());
        let path = stream.event().unwrap().data.unwrap();
        let mut session = Self::Sse(Sse {
            port,
            path,
            next: 0,
            stream,
            notices: Vec::new(),
        });
        session.ask("initialize", hello(capabilities));
        session.tell("notifications/initialized", json!({}));
        session
    }

    fn tell(&mut self, method: &str, params: Value) {
        let Self::Sse(sse) = self else { unreachable!() };
        let body = notification(method, params);
        assert_eq!(
            exchange(sse.port, "POST", &sse.path, &[], &body).0.status,
            202
        );
    }

    /// Sends a request and gives its reply.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        match self {
            Self::Stdio(server) => server.ask(method, params),
            Self::Http(http) => {
                http.next += 1;
                let body = request(http.next, method, params);
                let headers = [("mcp-session-id", http.id.as_str())];
                post(http.port, &headers, &body)
            }
            Self::Sse(sse) => {
                sse.next += 1;
                let id = sse.next;
                let body = request(id, method, params);
                assert_eq!(
                    exchange(sse.port, "POST", &sse.path, &[], &body).0.status,
                    202
                );
                loop {
                    let (_, message) = sse.stream.message().unwrap();
                    if message["id"] == id {
                        return message;
                    }
                    sse.notices.push(message);
                }
            }
        }
    }

    /// The names of the listed tools.
    pub fn listed(&mut self) -> Vec<String> {
        let reply = self.ask("tools/list", json!({}));
        let tools = reply["result"]["tools"].as_array().unwrap();
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        tools.iter().map(name).collect()
    }

    /// Calls a tool and gives its result.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let reply = self.ask(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        );
        reply
            .get("result")
            .unwrap_or_else(|| panic!("{reply}"))
            .clone()
    }

    /// Waits for a notice.
    pub fn notice(&mut self, method: &str) -> Value {
        match self {
            Self::Stdio(server) => server.wait_for(|message| message["method"] == method),
            Self::Http(http) => loop {
                let (_, message) = http.notices.message().unwrap();
                if message["method"] == method {
                    return message;
                }
            },
            Self::Sse(sse) => {
                let known = sse
                    .notices
                    .iter()
                    .position(|notice| notice["method"] == method);
                if let Some(at) = known {
                    return sse.notices.remove(at);
                }
                loop {
                    let (_, message) = sse.stream.message().unwrap();
                    if message["method"] == method {
                        return message;
                    }
                }
            }
        }
    }
}

/// Posts a request and gives its reply, whether that comes as JSON or on a stream.
pub fn post(port: u16, headers: &[(&str, &str)], body: &str) -> Value {
    let mut connection = Connection::open(port);
    connection.send("POST", "/mcp", headers, body);
    let head = connection.head();
    assert_eq!(head.status, 200);
    if !head.is_stream() {
        return serde_json::from_str(&connection.body(&head)).unwrap();
    }
    loop {
        let (_, message) = connection.message().unwrap();
        if message.get("method").is_none() {
            return message;
        }
    }
}

/// The parameters of a call of 2026-07-28.
pub fn modern_params(capabilities: Value, tool: &str, arguments: Value) -> Value {
    json!({ "name": tool, "arguments": arguments, "_meta": modern(capabilities) })
}
