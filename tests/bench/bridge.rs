//! Calls over a bridge: what a stdio client waits longer than over HTTP itself, and the memory of the bridge, beside the
//! npm packages supergateway and mcp-remote.
//!
//! All are in front of the same server and are called in turn, in the same run: only the ratios mean something.
//! `tests/bench/peers/prepare` installs the others; those that are missing are left out.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    missing_docs
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const ROUNDS: usize = 20;
const CALLS: usize = 100;
const WARM_UP: usize = 50;

fn main() {
    let quick = std::env::args().any(|arg| arg == "--quick");
    let rounds = if quick { 1 } else { ROUNDS };
    let port = serve();
    let home = tempfile::tempdir().unwrap();
    let mut direct = Direct::open(port);
    let mut bridges = bridges(port, home.path());
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); bridges.len() + 1];
    for _ in 0..WARM_UP {
        direct.call();
        bridges.iter_mut().for_each(|bridge| {
            bridge.call();
        });
    }
    for _ in 0..rounds {
        for _ in 0..CALLS {
            times[0].push(timed(|| direct.call()));
        }
        for (bridge, times) in bridges.iter_mut().zip(&mut times[1..]) {
            for _ in 0..CALLS {
                times.push(timed(|| bridge.call()));
            }
        }
    }
    report(&mut times, &bridges);
}

fn timed(call: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    call();
    begun.elapsed()
}

fn report(times: &mut [Vec<Duration>], bridges: &[Bridge]) {
    times.iter_mut().for_each(|times| times.sort());
    let at = |times: &[Duration], part: f64| {
        let index = (times.len() as f64 * part) as usize;
        times[index.min(times.len() - 1)].as_secs_f64() * 1e6
    };
    let base = (at(&times[0], 0.5), at(&times[0], 0.99));
    println!(
        "over HTTP itself: median {:.0} µs, p99 {:.0} µs",
        base.0, base.1
    );
    let first = at(&times[1], 0.5) - base.0;
    for (bridge, times) in bridges.iter().zip(&times[1..]) {
        let (median, p99) = (at(times, 0.5) - base.0, at(times, 0.99) - base.1);
        println!(
            "{:<14} added median {median:>6.0} µs ({:>4.1}×), added p99 {p99:>6.0} µs, memory {:>6.1} MB, first answer after {:>5.0} ms",
            bridge.name,
            median / first,
            bridge.memory(),
            bridge.launch.as_secs_f64() * 1e3,
        );
    }
}

/// A server that answers at once, in a thread for each connection. Gives its port.
fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                stream.set_nodelay(true).unwrap();
                let mut stream = BufReader::new(stream);
                while let Some((method, body)) = read_request(&mut stream) {
                    if stream.get_mut().write_all(&answer(&method, &body)).is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

fn read_request(stream: &mut BufReader<TcpStream>) -> Option<(String, Value)> {
    let mut method = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if method.is_empty() {
            method = line.split(' ').next()?.to_owned();
        } else if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        } else if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((method, serde_json::from_slice(&body).unwrap_or_default()))
}

fn answer(method: &str, request: &Value) -> Vec<u8> {
    if method != "post" {
        return b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n".to_vec();
    }
    let Some(id) = request.get("id") else {
        return b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_vec();
    };
    let result = match request["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "peer", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [] }),
        _ => {
            json!({ "content": [{ "type": "text", "text": request["params"]["arguments"]["text"] }] })
        }
    };
    let body = json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: one\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    (head + &body).into_bytes()
}

/// A client that speaks HTTP itself.
struct Direct(BufReader<TcpStream>);

impl Direct {
    fn open(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(BufReader::new(stream))
    }

    fn call(&mut self) {
        let body = message(1);
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-session-id: one\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.0
            .get_mut()
            .write_all((head + &body).as_bytes())
            .unwrap();
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).unwrap();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
    }
}

fn message(id: u64) -> String {
    let arguments = json!({ "text": "x".repeat(200) });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "echo", "arguments": arguments } })
        .to_string()
}

/// A bridge as a process.
struct Bridge {
    name: &'static str,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
    /// From the start of the process to its answer to `initialize`.
    launch: Duration,
}

impl Drop for Bridge {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Bridge {
    fn start(name: &'static str, mut command: Command) -> Self {
        let begun = Instant::now();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut bridge = Self {
            name,
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            next: 1,
            launch: Duration::ZERO,
        };
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" },
        });
        let opening =
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        writeln!(bridge.input, "{opening}").unwrap();
        bridge.answer(0);
        bridge.launch = begun.elapsed();
        writeln!(
            bridge.input,
            r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#
        )
        .unwrap();
        bridge
    }

    fn call(&mut self) {
        self.next += 1;
        let line = message(self.next) + "\n";
        self.input.write_all(line.as_bytes()).unwrap();
        self.answer(self.next);
    }

    fn answer(&mut self, id: u64) {
        loop {
            let mut line = String::new();
            assert!(
                self.output.read_line(&mut line).unwrap() > 0,
                "{} ended",
                self.name
            );
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            if message["id"] == id {
                assert!(message.get("result").is_some(), "{}: {message}", self.name);
                return;
            }
        }
    }

    /// Resident memory in MB.
    fn memory(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() * 1024.0 / 1e6
    }
}

fn bridges(port: u16, home: &Path) -> Vec<Bridge> {
    let url = format!("http://127.0.0.1:{port}/mcp");
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/bench/peers/node_modules");
    let mut glovebox = Command::new(env!("CARGO_BIN_EXE_glovebox"));
    glovebox.args(["bridge", &url]);
    let mut bridges = vec![Bridge::start("glovebox", glovebox)];
    for (name, script, args) in [
        (
            "supergateway",
            "supergateway/dist/index.js",
            vec!["--streamableHttp", &url],
        ),
        (
            "mcp-remote",
            "mcp-remote/dist/proxy.js",
            vec![&url, "--transport", "http-only", "--allow-http"],
        ),
    ] {
        let script = modules.join(script);
        if !script.exists() {
            println!("{name} is not installed: tests/bench/peers/prepare does that");
            continue;
        }
        let mut command = Command::new("node");
        command.arg(script).args(args).env("HOME", home);
        bridges.push(Bridge::start(name, command));
    }
    bridges
}
