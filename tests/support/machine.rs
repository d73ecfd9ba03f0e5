//! A user's machine in small: a state folder, a simulator in a process of its own, and the program.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// No wait of a test should come near to this; it only keeps a broken one from hanging.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_glovebox");

/// A simulator process; it ends with this value.
pub struct Simulator {
    child: Child,
    pub url: String,
}

impl Simulator {
    pub fn start(pace: &str) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(["simulate", "--pace", pace])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut first)
            .unwrap();
        let url = first.trim().to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{url}");
        Self { child, url }
    }

    /// What was asked and what became of it.
    pub fn log(&self) -> Vec<Value> {
        let address = self.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "GET /__sim/log HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).unwrap();
        let reply = String::from_utf8(reply).unwrap();
        let body = reply.split_once("\r\n\r\n").unwrap().1;
        // The body may be chunked; JSON begins at the first bracket and ends at the last.
        let (from, to) = (body.find('[').unwrap(), body.rfind(']').unwrap());
        let joined = unchunked(&body[from..=to]);
        serde_json::from_str(&joined).unwrap()
    }

    /// The record of the question with this text.
    pub fn asked(&self, query: &str) -> Option<Value> {
        self.log()
            .into_iter()
            .find(|record| record["body"]["messages"][0]["content"] == query)
    }
}

/// Chunk sizes stand on lines of their own, and the JSON of the log is in one line.
fn unchunked(body: &str) -> String {
    body.split("\r\n")
        .filter(|line| line.len() > 8 || !line.chars().all(|c| c.is_ascii_hexdigit()))
        .collect()
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A user's state, and the upstream that their calls go to.
pub struct Machine {
    pub dir: TempDir,
    pub upstream: String,
    pub env: Vec<(String, String)>,
}

impl Machine {
    pub fn new(upstream: &str) -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            upstream: upstream.to_owned(),
            env: Vec::new(),
        }
    }

    pub fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    /// The program, with an environment of its own.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        self.surround(&mut command);
        command.args(args);
        command
    }

    /// Gives a command the environment of this machine.
    pub fn surround(&self, command: &mut Command) {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            // Shared by all tests, so that the component is compiled once.
            .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .env("GLOVEBOX_STATE_DIR", self.state())
            .env("GLOVEBOX_UPSTREAM", &self.upstream)
            .env("BRAVE_ANSWERS_KEY", "a-key-for-tests")
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs a command that must succeed and gives what it printed as JSON.
    pub fn json(&self, args: &[&str]) -> Value {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", words(&output));
        json(&output)
    }

    /// Hands a research to a worker and gives its id.
    pub fn detach(&self, query: &str) -> String {
        let job = self.json(&["research", "--detach", "--json", query]);
        job["research_id"].as_str().unwrap().to_owned()
    }

    /// A job, once it ended.
    pub fn ended(&self, id: &str) -> Value {
        let job = self.json(&["jobs", "status", id, "--wait", "100", "--json"]);
        assert!(is_end(&job), "{job:#}");
        job
    }

    /// The process ids of the workers of this machine's state folder, with their jobs' ids.
    pub fn workers(&self) -> Vec<(i32, String)> {
        workers_of(&self.state())
    }
}

impl Drop for Machine {
    /// Nothing that a test started outlives it.
    fn drop(&mut self) {
        for (pid, _) in self.workers() {
            kill(pid, "KILL");
        }
    }
}

pub fn is_end(job: &Value) -> bool {
    ["done", "failed", "cancelled", "interrupted"].contains(&job["state"].as_str().unwrap())
}

/// Workers, found by what they were started with.
fn workers_of(state: &Path) -> Vec<(i32, String)> {
    let wanted = format!("GLOVEBOX_STATE_DIR={}", state.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else {
            continue;
        };
        let read = |name: &str| {
            let bytes = std::fs::read(entry.path().join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let args = read("cmdline");
        let mut args = args.split('\0').skip(1);
        if args.next() == Some("worker")
            && let Some(id) = args.next()
            && read("environ").split('\0').any(|pair| pair == wanted)
        {
            found.push((pid, id.to_owned()));
        }
    }
    found
}

/// Sends a signal to one process, or to a group by its negative id.
pub fn kill(pid: i32, signal: &str) {
    let _ = Command::new("kill")
        .args([&format!("-{signal}"), "--", &pid.to_string()])
        .stderr(Stdio::null())
        .status();
}

/// Puts a command into a process group of its own, so that the group can be killed.
pub fn own_group(command: &mut Command) -> &mut Command {
    command.process_group(0)
}

pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", words(output)))
}

pub fn words(output: &Output) -> String {
    format!(
        "status {:?}\n{}\n{}",
        output.status.code(),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Looks until something is so. For what only the system knows, such as which processes there are: no event
/// can be waited for.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        std::thread::yield_now();
    }
}
