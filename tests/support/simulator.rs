//! The simulator of the upstream in a process of its own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::ops::Deref;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::World;
use super::process::{GENEROUS, program};
use super::upstream::post;

/// A running `glovebox simulate`. It is killed when it is dropped.
pub struct Simulator {
    child: Child,
    pub url: String,
    _home: TempDir,
}

impl Simulator {
    /// Starts a simulator with a pace.
    pub fn start(pace: &str) -> Self {
        Self::with_args(&["--pace", pace])
    }

    /// Starts a simulator with arguments.
    pub fn with_args(args: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut child = program(home.path())
            .arg("simulate")
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut url)
            .unwrap();
        let url = url.trim().to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{url}");
        Self {
            child,
            url,
            _home: home,
        }
    }

    pub fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    /// Returns the records of all requests, oldest first.
    pub fn log(&self) -> Vec<Value> {
        let text = self.log_text();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
    }

    /// Returns the log as JSON.
    pub fn log_text(&self) -> String {
        let reply = self.send("GET /__sim/log HTTP/1.1\r\nhost: sim\r\nconnection: close\r\n\r\n");
        reply.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    /// Returns the record of a question.
    pub fn asked(&self, query: &str) -> Option<Value> {
        self.log()
            .into_iter()
            .find(|record| record["body"]["messages"][0]["content"] == query)
    }

    /// Waits for a request whose record matches and returns the record.
    pub fn wait_for(&self, matches: impl Fn(&Value) -> bool) -> Value {
        let found = |log: &[Value]| log.iter().find(|record| matches(record)).cloned();
        let log = self.wait_for_log("a matching request", |log| found(log).is_some());
        found(&log).unwrap()
    }

    /// Waits until the log matches and returns it. `what` describes it in the message of a failure.
    pub fn wait_for_log(&self, what: &str, matches: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let end = Instant::now() + GENEROUS;
        loop {
            let log = self.log();
            if matches(&log) {
                return log;
            }
            assert!(Instant::now() < end, "not seen: {what}; the log: {log:#?}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends a raw request and returns everything up to the end of the connection.
    pub fn send(&self, request: &str) -> String {
        String::from_utf8_lossy(&self.send_bytes(request)).into_owned()
    }

    /// As [`Simulator::send`], without decoding the reply.
    pub fn send_bytes(&self, request: &str) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(GENEROUS)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut reply = Vec::new();
        // A scenario can reset the connection. The bytes before the error are the reply.
        let _ = stream.read_to_end(&mut reply);
        reply
    }

    /// Posts a body with a key.
    pub fn post(&self, body: &str) -> String {
        self.send(&post(body, "x-subscription-token: k\r\n"))
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A [`Simulator`] with the former signatures of `start` and `wait_for`.
pub struct Simulated(Simulator);

impl Simulated {
    pub fn start(_: &World, args: &[&str]) -> Self {
        Self(Simulator::with_args(args))
    }

    pub fn wait_for(&self, what: &str, matches: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        self.0.wait_for_log(what, matches)
    }
}

impl Deref for Simulated {
    type Target = Simulator;

    fn deref(&self) -> &Simulator {
        &self.0
    }
}
