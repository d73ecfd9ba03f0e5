//! Measures the time from the start of a server to its first answer, and its memory at rest.
//!
//! Run it with `cargo bench -p glovebox --bench launch`. The compile cache is filled first, as it is after the first
//! launch. `--version` of the same program is measured in the same run, as the cost of starting a process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs
)]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The number of launches. The median varies by a few percent on an idle machine.
const LAUNCHES: usize = 101;

/// The bar for the time until `initialize` is answered.
const LAUNCH_BAR: Duration = Duration::from_millis(10);

/// The bar for resident memory at rest, in kilobytes.
const MEMORY_BAR: u64 = 25 << 10;

const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"#,
    r#""clientInfo":{"name":"bench","version":"1"}}}"#,
    "\n"
);

const ANSWERS: &str = concat!(
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"answers","arguments":{"query":"q"}}}"#,
    "\n"
);

struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

fn program(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_glovebox"));
    command
        .env_clear()
        .env("HOME", home)
        .env("GLOVEBOX_STATE_DIR", home.join("state"))
        .env("BRAVE_ANSWERS_KEY", "a-key")
        .stdout(Stdio::piped());
    command
}

impl Server {
    fn start(home: &Path, flags: &[&str]) -> Self {
        let mut child = program(home)
            .args(flags)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            input,
            output,
        }
    }

    fn ask(&mut self, request: &str) -> String {
        self.input.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        self.output.read_line(&mut reply).unwrap();
        assert!(reply.contains("\"result\""), "{reply}");
        reply
    }

    fn end(self) {
        let Self {
            mut child, input, ..
        } = self;
        drop(input);
        assert!(child.wait().unwrap().success());
    }

    /// Returns the resident memory in kilobytes once it is stable.
    fn resident(&self) -> u64 {
        let status = format!("/proc/{}/status", self.child.id());
        let mut seen = (0, 0);
        while seen.1 < 5 {
            thread::sleep(Duration::from_millis(100));
            let text = std::fs::read_to_string(&status).unwrap();
            let line = text.lines().find(|line| line.starts_with("VmRSS")).unwrap();
            let now = line.split_whitespace().nth(1).unwrap().parse().unwrap();
            seen = if seen.0 == now {
                (now, seen.1 + 1)
            } else {
                (now, 0)
            };
        }
        seen.0
    }
}

fn median(mut once: impl FnMut() -> Duration) -> Duration {
    let mut times: Vec<Duration> = (0..LAUNCHES).map(|_| once()).collect();
    times.sort();
    *times.get(LAUNCHES / 2).unwrap()
}

fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}

fn main() {
    let home = tempfile::tempdir().unwrap();
    // The first answer needs the compiled component, so the cache is filled after it.
    let mut first = Server::start(home.path(), &["--simulate", "--pace", "0"]);
    first.ask(INITIALIZE);
    first.ask(ANSWERS);
    first.end();

    let floor = median(|| {
        let from = Instant::now();
        program(home.path()).arg("--version").output().unwrap();
        from.elapsed()
    });
    let launch = median(|| {
        let from = Instant::now();
        let mut server = Server::start(home.path(), &[]);
        server.ask(INITIALIZE);
        let took = from.elapsed();
        server.end();
        took
    });
    let ratio = launch.as_secs_f64() / floor.as_secs_f64();
    println!(
        "launch to answered initialize: {launch:.1?} (median of {LAUNCHES}; bar {LAUNCH_BAR:?} {}); --version: {floor:.1?}, ratio {ratio:.1}",
        verdict(launch < LAUNCH_BAR)
    );

    if cfg!(target_os = "linux") {
        let mut server = Server::start(home.path(), &[]);
        server.ask(INITIALIZE);
        let resident = server.resident();
        println!(
            "resident at rest: {:.1} MB (bar {} MB {})",
            resident as f64 / 1024.0,
            MEMORY_BAR >> 10,
            verdict(resident < MEMORY_BAR)
        );
        server.end();
    }
}
