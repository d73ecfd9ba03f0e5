//! A server as a client sees it: a process, lines in, lines out.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// No wait of a test should come near to this; it only keeps a broken one from hanging.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_glovebox");

/// A server process and the pipes to it.
pub struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    lines: Option<Receiver<String>>,
    errors: Receiver<String>,
    put_back: VecDeque<Value>,
    next: i64,
}

impl Server {
    /// A server with its state in the folder, in front of a simulator or with its own.
    pub fn start(state: &Path, upstream: Option<&Simulator>, flags: &[&str]) -> Self {
        let mut server = Self::unread(state, upstream, flags, &[]);
        server.read();
        server
    }

    /// A server whose output nobody reads yet.
    pub fn unread(
        state: &Path,
        upstream: Option<&Simulator>,
        flags: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let mut command = program(state);
        command
            .arg("stdio")
            .args(flags)
            .envs(variables.iter().copied());
        match upstream {
            Some(simulator) => command
                .env("GLOVEBOX_UPSTREAM", &simulator.url)
                .env("BRAVE_ANSWERS_KEY", "a-key-for-tests"),
            None => command.args(["--simulate", "--pace", "0"]),
        };
        Self::of(command)
    }

    /// A server in front of any upstream, with the key of the tests.
    pub fn against(state: &Path, url: &str, flags: &[&str]) -> Self {
        let mut command = program(state);
        command
            .arg("stdio")
            .args(flags)
            .env("GLOVEBOX_UPSTREAM", url)
            .env("BRAVE_ANSWERS_KEY", super::KEY);
        let mut server = Self::of(command);
        server.read();
        server
    }

    /// A server with these variables and no other setting.
    pub fn configured(state: &Path, variables: &[(&str, &str)]) -> Self {
        let mut command = program(state);
        command.arg("stdio").envs(variables.iter().copied());
        let mut server = Self::of(command);
        server.read();
        server
    }

    /// A server with an upstream and no key for it.
    pub fn keyless(state: &Path) -> Self {
        let mut command = program(state);
        command
            .arg("stdio")
            .env("GLOVEBOX_UPSTREAM", "http://127.0.0.1:9");
        let mut server = Self::of(command);
        server.read();
        server
    }

    /// A server that is what the command says.
    pub fn spawn(command: Command) -> Self {
        let mut server = Self::of(command);
        server.read();
        server
    }

    fn of(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let errors = lines(child.stderr.take().unwrap());
        Self {
            input: child.stdin.take(),
            output: child.stdout.take(),
            child,
            lines: None,
            errors,
            put_back: VecDeque::new(),
            next: 1000,
        }
    }

    /// Begins to read the output.
    pub fn read(&mut self) {
        self.lines = Some(lines(self.output.take().unwrap()));
    }

    /// The pipe to the server, for a test that writes by itself. Its end closes the input.
    pub fn take_input(&mut self) -> ChildStdin {
        self.input.take().unwrap()
    }

    /// The pipe from the server, for a test that reads by itself.
    pub fn take_output(&mut self) -> ChildStdout {
        self.output.take().unwrap()
    }

    /// Sends bytes as they are.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Value) {
        self.send_raw(format!("{message}\n").as_bytes());
    }

    /// Sends a request and gives its id.
    pub fn request(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a request and waits for its reply.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.reply(id)
    }

    /// Calls a tool and gives its result.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let reply = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        reply
            .get("result")
            .unwrap_or_else(|| panic!("{reply}"))
            .clone()
    }

    /// The next message.
    pub fn message(&mut self) -> Value {
        if let Some(message) = self.put_back.pop_front() {
            return message;
        }
        self.fresh(PATIENCE).expect("a message in time")
    }

    /// The next message that was not put back, if one comes in time. Every line must be a message.
    fn fresh(&mut self, within: Duration) -> Option<Value> {
        match self.lines.as_ref().unwrap().recv_timeout(within) {
            Ok(line) => {
                let message: Value = serde_json::from_str(&line)
                    .unwrap_or_else(|error| panic!("not JSON ({error}): {line}"));
                assert_eq!(message["jsonrpc"], "2.0", "{line}");
                Some(message)
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                let errors: Vec<String> = self.errors.try_iter().collect();
                panic!("the output ended; standard error: {errors:?}")
            }
        }
    }

    /// The reply to a request; other messages stay for later.
    pub fn reply(&mut self, id: i64) -> Value {
        self.wait_for(|message| message["id"] == id)
    }

    /// The first message that fits; others stay for later.
    pub fn wait_for(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(index) = self.put_back.iter().position(&fits) {
            return self.put_back.remove(index).unwrap();
        }
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let message = self.fresh(left).expect("the message in time");
            if fits(&message) {
                return message;
            }
            self.put_back.push_back(message);
        }
    }

    /// Opens a conversation in the older era.
    pub fn initialize(&mut self, version: &str) -> Value {
        self.initialize_as("test", version)
    }

    /// Opens a conversation in the older era as the client of that name.
    pub fn initialize_as(&mut self, name: &str, version: &str) -> Value {
        let reply = self.ask(
            "initialize",
            json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}),
        );
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        reply
    }

    /// All that was put back and all that comes before a fresh `ping` is answered: what the server had to say.
    pub fn settled(&mut self) -> Vec<Value> {
        let id = self.request("ping", json!({}));
        let pong = self.reply(id);
        assert!(pong.get("result").is_some(), "{pong}");
        self.put_back.drain(..).collect()
    }

    /// Closes the input.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// The lines that are left once the server ended.
    pub fn rest(&mut self) -> Vec<String> {
        self.lines.as_ref().unwrap().iter().collect()
    }

    /// What came on standard error, once the server ended.
    pub fn said(&self) -> String {
        self.errors.iter().collect::<Vec<_>>().join("\n")
    }

    /// Waits for the end and gives the exit status.
    pub fn wait(&mut self) -> Option<i32> {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            thread::sleep(Duration::from_millis(2));
        }
        panic!("the server does not end");
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes the input and waits for the end.
    pub fn leave(mut self) {
        self.close();
        assert_eq!(self.wait(), Some(0));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// The program, with nothing of this machine's settings.
pub fn program(state: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .env_clear()
        .env("HOME", state)
        // Compiled code is no state: the tests share it.
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("GLOVEBOX_STATE_DIR", state.join("state"));
    command
}

/// A simulator in a process of its own.
pub struct Simulator {
    child: Child,
    /// Its address.
    pub url: String,
}

impl Simulator {
    /// A simulator of that pace.
    pub fn start(pace: &str) -> Self {
        let home = std::env::temp_dir();
        let mut child = program(&home)
            .args(["simulate", "--pace", pace])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut url)
            .unwrap();
        Self {
            child,
            url: url.trim().to_owned(),
        }
    }

    /// What was asked of it.
    pub fn log(&self) -> Vec<Value> {
        let address = self.url.strip_prefix("http://").unwrap();
        let mut connection = TcpStream::connect(address).unwrap();
        let request =
            format!("GET /__sim/log HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        connection.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        connection.read_to_string(&mut reply).unwrap();
        let (_, body) = reply.split_once("\r\n\r\n").unwrap();
        let from = body.find('[').unwrap();
        let to = body.rfind(']').unwrap();
        serde_json::from_str(&body[from..=to]).unwrap()
    }

    /// Waits until a request fits, and gives it.
    pub fn wait_for(&self, fits: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(record) = self.log().into_iter().find(&fits) {
                return record;
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("no such request; there are {:?}", self.log());
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder for the state of one test.
pub fn state() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// The text of a tool's result.
pub fn text(result: &Value) -> &str {
    result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text in {result}"))
}

/// The `_meta` of a request of 2026-07-28.
pub fn modern(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    })
}
