//! Measures requests per second, latency and memory of an echo tool over streamable HTTP, compared with servers of the
//! TypeScript SDK v2, FastMCP and the Rust SDK, and of the tool `status`.
//!
//! All servers run in turn, three times, on the same machine. Only the ratios are meaningful.
//! `tests/bench/peers/prepare` installs the other servers; missing ones are skipped.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    missing_docs
)]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use glovebox::jobs::clock::WallClock;
use glovebox::transport::http::listener::{self, ListenAddress};
use glovebox::transport::http::token::TokenFile;
use glovebox::transport::http::{Channel, Config, Endpoint, Http, Start, run};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const ROUNDS: usize = 3;
const EACH: Duration = Duration::from_secs(2);
const WARM_UP: Duration = Duration::from_millis(500);
const CLIENTS: [usize; 3] = [1, 32, 256];

/// The argument that runs this program as the measured server.
const AS_SERVER: &str = "--as-server";

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    if args.iter().any(|arg| arg == AS_SERVER) {
        runtime.block_on(serve());
        return;
    }
    let quick = args.iter().any(|arg| arg == "--quick");
    runtime.block_on(measure(quick));
}

// The server.

#[derive(Debug)]
struct Echo;

fn schema() -> JsonObject {
    let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] });
    schema.as_object().unwrap().clone()
}

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![Tool::new(
            "echo",
            "Echo",
            schema(),
        )]))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = params.arguments.unwrap_or_default();
        let text = arguments
            .get("text")
            .and_then(Value::as_str)
            .unwrap_or_default();
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

#[derive(Debug)]
struct Echoes(Arc<JsonObject>);

impl Endpoint for Echoes {
    fn serve(
        &self,
        channel: Channel,
        start: Start,
        _leaving: CancellationToken,
        stop: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        run(Echo, channel, start, stop).boxed()
    }

    fn gate_denied(&self, _reason: &'static str) {}

    fn input_schema(&self, tool: &str) -> Option<Arc<JsonObject>> {
        (tool == "echo").then(|| Arc::clone(&self.0))
    }

    fn unready(&self) -> BoxFuture<'_, Option<String>> {
        async { None }.boxed()
    }

    fn metrics(&self) -> BoxFuture<'_, String> {
        async { String::new() }.boxed()
    }
}

async fn serve() {
    let address: ListenAddress = ":0".parse().unwrap();
    let sockets = address.bind().await.unwrap();
    let port = sockets[0].local_addr().unwrap().port();
    let config = Config::local(TokenFile::new(PathBuf::from("/nonexistent/token")));
    let echoes = Arc::new(Echoes(Arc::new(schema())));
    let http = Http::new(config, port, echoes, None, Arc::new(WallClock));
    println!("{port}");
    listener::serve(Arc::new(http), sockets).await;
}

// The measurement.

struct Server {
    name: &'static str,
    tool: &'static str,
    child: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(name: &'static str, tool: &'static str, mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let port = match serde_json::from_str(line.trim()).unwrap_or_default() {
            Value::Number(port) => u16::try_from(port.as_u64().unwrap()).unwrap(),
            said => said["address"]
                .as_str()
                .unwrap()
                .rsplit(':')
                .next()
                .unwrap()
                .parse()
                .unwrap(),
        };
        Self {
            name,
            tool,
            child,
            port,
        }
    }

    /// Returns the resident memory in MiB.
    fn memory(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS"))
            .unwrap();
        let kib: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kib / 1024.0
    }
}

fn servers(state: &Path) -> Vec<Server> {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/bench/peers");
    let mut this = Command::new(std::env::current_exe().unwrap());
    this.arg(AS_SERVER);
    let mut glovebox = Command::new(env!("CARGO_BIN_EXE_glovebox"));
    glovebox
        .args(["serve", "--simulate", "--json", "--listen", ":0"])
        .env("GLOVEBOX_STATE_DIR", state);
    let mut servers = vec![
        Server::start("glovebox", "echo", this),
        Server::start("glovebox serve", "status", glovebox),
    ];
    for (name, program, args, installed) in [
        (
            "TypeScript SDK 2",
            "node".into(),
            vec![peers.join("server.mjs")],
            peers.join("node_modules/zod"),
        ),
        (
            "FastMCP",
            peers.join(".venv/bin/python"),
            vec![peers.join("server.py")],
            peers.join(".venv/bin/python"),
        ),
        (
            "rmcp",
            peers.join("target/release/peer"),
            vec![],
            peers.join("target/release/peer"),
        ),
    ] {
        if installed.exists() {
            let mut command = Command::new(program);
            command.args(args);
            servers.push(Server::start(name, "echo", command));
        } else {
            println!("{name} is not installed: tests/bench/peers/prepare does that");
        }
    }
    servers
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Era {
    Sessions,
    Stateless,
}

#[derive(Default)]
struct Measured {
    rates: Vec<f64>,
    latencies: Vec<Duration>,
    memory: f64,
}

async fn measure(quick: bool) {
    let state = tempfile::tempdir().unwrap();
    let servers = servers(state.path());
    let (rounds, each) = if quick {
        (1, Duration::from_millis(700))
    } else {
        (ROUNDS, EACH)
    };
    for era in [Era::Stateless, Era::Sessions] {
        for clients in CLIENTS {
            let mut all: Vec<Measured> = servers.iter().map(|_| Measured::default()).collect();
            for _ in 0..rounds {
                for (server, measured) in servers.iter().zip(&mut all) {
                    load(server, era, clients, WARM_UP.min(each)).await;
                    let begun = Instant::now();
                    let latencies = load(server, era, clients, each).await;
                    measured
                        .rates
                        .push(latencies.len() as f64 / begun.elapsed().as_secs_f64());
                    measured.latencies.extend(latencies);
                    measured.memory = measured.memory.max(server.memory());
                }
            }
            report(&servers, era, clients, &mut all);
        }
    }
}

fn report(servers: &[Server], era: Era, clients: usize, all: &mut [Measured]) {
    println!("\n{era:?}, {clients} clients");
    let median = |rates: &mut Vec<f64>| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    };
    let ours = median(&mut all[0].rates);
    for (server, measured) in servers.iter().zip(all) {
        measured.latencies.sort();
        let at = |share: f64| {
            let last = measured.latencies.len() - 1;
            measured.latencies[(last as f64 * share) as usize].as_secs_f64() * 1000.0
        };
        let (p50, p99) = (at(0.5), at(0.99));
        let rate = median(&mut measured.rates);
        println!(
            "  {:16} {:6} {rate:8.0}/s  p50 {p50:7.2} ms  p99 {p99:7.2} ms  {:6.1} MiB  glovebox is {:5.2}x",
            server.name,
            server.tool,
            measured.memory,
            ours / rate,
        );
    }
}

/// Calls the tool from `clients` clients for the duration `each`. Returns the duration of each call.
async fn load(server: &Server, era: Era, clients: usize, each: Duration) -> Vec<Duration> {
    let end = Instant::now() + each;
    let clients = (0..clients).map(|_| tokio::spawn(client(server.port, server.tool, era, end)));
    let all = futures_util::future::join_all(clients).await;
    all.into_iter().flat_map(|client| client.unwrap()).collect()
}

async fn client(port: u16, tool: &'static str, era: Era, end: Instant) -> Vec<Duration> {
    let mut connection = Connection::open(port).await;
    let session = match era {
        Era::Sessions => connection.begin().await,
        Era::Stateless => None,
    };
    let mut params = json!({ "name": tool, "arguments": {} });
    if tool == "echo" {
        params["arguments"]["text"] = "hello".into();
    }
    if era == Era::Stateless {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let body = Bytes::from(body.to_string());
    let expected = if tool == "echo" { "hello" } else { "glovebox" };
    let mut latencies = Vec::new();
    while Instant::now() < end {
        let begun = Instant::now();
        let (_, reply) = connection
            .post(era, tool, session.as_deref(), body.clone())
            .await;
        assert!(reply.contains(expected), "{reply}");
        latencies.push(begun.elapsed());
    }
    if let Some(session) = session {
        connection.end(&session).await;
    }
    latencies
}

struct Connection {
    port: u16,
    sender: hyper::client::conn::http1::SendRequest<Full<Bytes>>,
}

impl Connection {
    async fn open(port: u16) -> Self {
        let stream = tokio::net::TcpStream::connect(("127.0.0.1", port))
            .await
            .unwrap();
        stream.set_nodelay(true).unwrap();
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .unwrap();
        tokio::spawn(connection);
        Self { port, sender }
    }

    async fn post(
        &mut self,
        era: Era,
        tool: &str,
        session: Option<&str>,
        body: Bytes,
    ) -> (Option<String>, String) {
        let mut request = http::Request::post("/mcp")
            .header("host", format!("127.0.0.1:{}", self.port))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        request = match era {
            Era::Stateless => request
                .header("mcp-protocol-version", "2026-07-28")
                .header("mcp-method", "tools/call")
                .header("mcp-name", tool),
            Era::Sessions => request.header("mcp-protocol-version", "2025-11-25"),
        };
        if let Some(session) = session {
            request = request.header("mcp-session-id", session);
        }
        self.send(request.body(Full::new(body)).unwrap()).await
    }

    async fn send(&mut self, request: http::Request<Full<Bytes>>) -> (Option<String>, String) {
        self.sender.ready().await.unwrap();
        let response = self.sender.send_request(request).await.unwrap();
        let session = response.headers().get("mcp-session-id");
        let session = session.map(|session| session.to_str().unwrap().to_owned());
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (session, String::from_utf8_lossy(&body).into_owned())
    }

    /// Starts a session. Returns `None` if the server has no sessions.
    async fn begin(&mut self) -> Option<String> {
        let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" },
        } });
        let (session, _) = self
            .post(Era::Sessions, "", None, initialize.to_string().into())
            .await;
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.post(
            Era::Sessions,
            "",
            session.as_deref(),
            initialized.to_string().into(),
        )
        .await;
        session
    }

    async fn end(&mut self, session: &str) {
        let request = http::Request::delete("/mcp")
            .header("host", format!("127.0.0.1:{}", self.port))
            .header("mcp-session-id", session)
            .body(Full::default())
            .unwrap();
        self.send(request).await;
    }
}
