//! A client of `glovebox stdio`: starts the server, sends and receives messages.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::process::{self, GENEROUS, KEY, PLAIN_KEY};

pub use super::process::PROGRAM;
pub use super::simulator::Simulator;

/// A server process and its pipes. The process is killed when it is dropped.
pub struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    lines: Option<Receiver<String>>,
    errors: Receiver<String>,
    kept: VecDeque<Value>,
    next: i64,
}

impl Server {
    /// Starts a server with its state in a folder, with `upstream` or with its built-in simulator.
    pub fn start(state: &Path, upstream: Option<&Simulator>, flags: &[&str]) -> Self {
        let mut server = Self::unread(state, upstream, flags, &[]);
        server.read();
        server
    }

    /// Starts a server without reading its output.
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
                .env("BRAVE_ANSWERS_KEY", PLAIN_KEY),
            None => command.args(["--simulate", "--pace", "0"]),
        };
        Self::of(command)
    }

    /// Starts a server with the URL of an upstream and [`KEY`].
    pub fn against(state: &Path, url: &str, flags: &[&str]) -> Self {
        let mut command = program(state);
        command
            .arg("stdio")
            .args(flags)
            .env("GLOVEBOX_UPSTREAM", url)
            .env("BRAVE_ANSWERS_KEY", KEY);
        let mut server = Self::of(command);
        server.read();
        server
    }

    /// Starts a server with environment variables as its only settings.
    pub fn configured(state: &Path, variables: &[(&str, &str)]) -> Self {
        let mut command = program(state);
        command.arg("stdio").envs(variables.iter().copied());
        let mut server = Self::of(command);
        server.read();
        server
    }

    /// Starts a server with an upstream and no key.
    pub fn keyless(state: &Path) -> Self {
        let mut command = program(state);
        command
            .arg("stdio")
            .env("GLOVEBOX_UPSTREAM", "http://127.0.0.1:9");
        let mut server = Self::of(command);
        server.read();
        server
    }

    /// A server that a command starts.
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
            kept: VecDeque::new(),
            next: 1000,
        }
    }

    /// Starts to read the output.
    pub fn read(&mut self) {
        self.lines = Some(lines(self.output.take().unwrap()));
    }

    /// Takes the pipe to the standard input of the server. Dropping it closes the input.
    pub fn take_input(&mut self) -> ChildStdin {
        self.input.take().unwrap()
    }

    /// Takes the pipe from the standard output of the server.
    pub fn take_output(&mut self) -> ChildStdout {
        self.output.take().unwrap()
    }

    /// Sends raw bytes.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Value) {
        self.send_raw(format!("{message}\n").as_bytes());
    }

    /// Sends a request and returns its id.
    pub fn request(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a request and returns its reply.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.reply(id)
    }

    /// Calls a tool and returns its result.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let reply = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        reply
            .get("result")
            .unwrap_or_else(|| panic!("{reply}"))
            .clone()
    }

    /// Returns the next message.
    pub fn message(&mut self) -> Value {
        if let Some(message) = self.kept.pop_front() {
            return message;
        }
        self.receive(GENEROUS).expect("no message in time")
    }

    /// Reads the next message, if one arrives in time. Panics if a line is not a message.
    fn receive(&mut self, within: Duration) -> Option<Value> {
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
                panic!("the server closed its output; standard error: {errors:?}")
            }
        }
    }

    /// Returns the reply to a request. Other messages are kept.
    pub fn reply(&mut self, id: i64) -> Value {
        self.wait_for(|message| message["id"] == id)
    }

    /// Returns the first message that matches. Other messages are kept.
    pub fn wait_for(&mut self, matches: impl Fn(&Value) -> bool) -> Value {
        if let Some(index) = self.kept.iter().position(&matches) {
            return self.kept.remove(index).unwrap();
        }
        let until = Instant::now() + GENEROUS;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let message = self.receive(left).expect("no matching message in time");
            if matches(&message) {
                return message;
            }
            self.kept.push_back(message);
        }
    }

    /// Initializes a session of a version before 2026-07-28.
    pub fn initialize(&mut self, version: &str) -> Value {
        self.initialize_as("test", version)
    }

    /// As [`Server::initialize`], with the name of the client.
    pub fn initialize_as(&mut self, name: &str, version: &str) -> Value {
        let reply = self.ask(
            "initialize",
            json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}),
        );
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        reply
    }

    /// Sends a `ping` and returns all other messages that were kept or arrive before its reply.
    pub fn settled(&mut self) -> Vec<Value> {
        let id = self.request("ping", json!({}));
        let pong = self.reply(id);
        assert!(pong.get("result").is_some(), "{pong}");
        self.kept.drain(..).collect()
    }

    /// Closes the input.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// Returns the remaining lines of output, after the server has exited.
    pub fn rest(&mut self) -> Vec<String> {
        self.lines.as_ref().unwrap().iter().collect()
    }

    /// Returns the standard error, after the server has exited.
    pub fn said(&self) -> String {
        self.errors.iter().collect::<Vec<_>>().join("\n")
    }

    /// Waits for the server to exit and returns its exit status.
    pub fn wait(&mut self) -> Option<i32> {
        let until = Instant::now() + GENEROUS;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            thread::sleep(Duration::from_millis(2));
        }
        panic!("the server did not exit");
    }

    /// Returns the id of the process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes the input and waits for a successful exit.
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

/// Returns a command that runs the program with its state in a folder.
pub fn program(state: &Path) -> Command {
    let mut command = process::program(state);
    command.env("GLOVEBOX_STATE_DIR", state.join("state"));
    command
}

/// Creates a folder for the state of one test.
pub fn state() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Returns the text of a tool result.
pub fn text(result: &Value) -> &str {
    result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text in {result}"))
}

/// Returns the `_meta` of a request of version 2026-07-28.
pub fn modern(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    })
}
