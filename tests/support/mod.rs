//! What the tests of the command line share: the real binary in a world of its own, and the simulator as a
//! process of its own.

pub mod any_guest;
pub mod command;
pub mod guest;
pub mod limiter;
pub mod machine;
pub mod server;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Long enough for a loaded machine; a test that waits so long has failed.
pub const GENEROUS: Duration = Duration::from_secs(60);
/// What the tests use as a key: a text that occurs nowhere else.
pub const KEY: &str = "BSAqtestkey0123456789zyxw";

/// Folders of its own, and nothing of this machine's environment.
pub struct World {
    folder: tempfile::TempDir,
}

impl World {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Waits until the program has kept so many bytes of so many replies.
    pub fn wait_for_captures(&self, replies: usize, bytes: u64) {
        let captures = self.path().join("state/glovebox/captures");
        let kept = || {
            let files = std::fs::read_dir(&captures).into_iter().flatten().flatten();
            let sizes = files.filter_map(|file| Some(file.metadata().ok()?.len()));
            sizes.filter(|&size| size >= bytes).count()
        };
        let until = Instant::now() + GENEROUS;
        while kept() < replies {
            assert!(Instant::now() < until, "{} of {replies} are kept", kept());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The binary, with a clean environment.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_glovebox"));
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path())
            .env("XDG_STATE_HOME", self.path().join("state"))
            .env("XDG_CONFIG_HOME", self.path().join("config"))
            // Compiled code is shared between the tests' processes: it is no state.
            .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs the binary to its end.
    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    /// Runs it against a simulator, with the key.
    pub fn call(&self, simulator: &Simulated, args: &[&str]) -> Ran {
        Ran::of(self.calling(simulator, args).output().unwrap())
    }

    pub fn calling(&self, simulator: &Simulated, args: &[&str]) -> Command {
        let mut command = self.command(args);
        command
            .env("GLOVEBOX_UPSTREAM", &simulator.url)
            .env("BRAVE_ANSWERS_KEY", KEY);
        command
    }
}

/// How a process ended, and what it said.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }
}

/// `glovebox simulate` as a process.
pub struct Simulated {
    child: Child,
    pub url: String,
}

impl Simulated {
    pub fn start(world: &World, args: &[&str]) -> Self {
        let mut all = vec!["simulate"];
        all.extend(args);
        let mut child = world
            .command(&all)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut url)
            .unwrap();
        Self {
            child,
            url: url.trim().to_owned(),
        }
    }

    pub fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    pub fn log(&self) -> Vec<Value> {
        let text = self.log_text();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
    }

    pub fn log_text(&self) -> String {
        let reply = self.send("GET /__sim/log HTTP/1.1\r\nhost: sim\r\nconnection: close\r\n\r\n");
        reply.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    /// One raw exchange, to the end of the connection.
    pub fn send(&self, request: &str) -> String {
        String::from_utf8_lossy(&self.send_bytes(request)).into_owned()
    }

    pub fn send_bytes(&self, request: &str) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(GENEROUS)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut reply = Vec::new();
        // A reply that the simulator breaks off ends with an error; what came counts.
        let _ = stream.read_to_end(&mut reply);
        reply
    }

    /// Posts a body with a key.
    pub fn post(&self, body: &str) -> String {
        self.send(&post(body, "x-subscription-token: k\r\n"))
    }

    /// Waits until the log shows what is wanted.
    pub fn wait_for(&self, what: &str, wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let until = Instant::now() + GENEROUS;
        loop {
            let log = self.log();
            if wanted(&log) {
                return log;
            }
            assert!(
                Instant::now() < until,
                "not seen: {what}; the log: {log:#?}"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Simulated {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A raw request.
pub fn post(body: &str, headers: &str) -> String {
    format!(
        "POST /res/v1/chat/completions HTTP/1.1\r\nhost: sim\r\nconnection: close\r\n{headers}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Waits for a process, no longer than is generous.
pub fn finish(mut child: Child) -> Ran {
    let until = Instant::now() + GENEROUS;
    loop {
        if child.try_wait().unwrap().is_some() {
            return Ran::of(child.wait_with_output().unwrap());
        }
        if Instant::now() >= until {
            let _ = child.kill();
            panic!(
                "still running: {:?}",
                Ran::of(child.wait_with_output().unwrap())
            );
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A reply of text deltas (the insides of JSON strings), as HTTP.
pub fn stream(deltas: &[&str]) -> Vec<u8> {
    let mut body = String::new();
    for delta in deltas {
        body.push_str(&format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{delta}\"}},\"finish_reason\":null}}],\"object\":\"chat.completion.chunk\"}}\n\n"
        ));
    }
    body.push_str("data: [DONE]\n\n");
    http(&body)
}

/// A body as a whole reply.
pub fn http(body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A server that gives everyone the same bytes and hangs up.
pub struct Served {
    pub url: String,
    pub port: u16,
    pub connections: Arc<AtomicUsize>,
}

impl Served {
    pub fn start(reply: Vec<u8>) -> Self {
        Self::with(move |mut stream| {
            read_request(&mut stream);
            let _ = stream.write_all(&reply);
        })
    }

    /// What is done with each connection. The thread ends with the process.
    pub fn with(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&connections);
        let serve = Arc::new(serve);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                seen.fetch_add(1, Ordering::SeqCst);
                let serve = Arc::clone(&serve);
                std::thread::spawn(move || serve(stream));
            }
        });
        Self {
            url: format!("http://127.0.0.1:{port}"),
            port,
            connections,
        }
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Reads a request with its body. Gives its head.
pub fn read_request(stream: &mut impl std::io::Read) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
        bytes.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let length = head
        .lines()
        .find_map(|line| {
            line.to_ascii_lowercase()
                .strip_prefix("content-length:")
                .map(|length| length.trim().parse().unwrap())
        })
        .unwrap_or(0);
    let mut body = vec![0; length];
    let _ = stream.read_exact(&mut body);
    head
}

/// Runs the cases on a few threads; a failure names its case.
pub fn each<T: Sync>(cases: &[T], check: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    check(case);
                }
            });
        }
    });
}
