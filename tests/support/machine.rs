//! A user's machine with a state folder and an upstream, for tests of jobs and their workers.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::process::{PLAIN_KEY, isolate};

pub use super::process::{PROGRAM, json, kill, own_group, stderr, until, words};
pub use super::simulator::Simulator;

/// A state folder and an upstream. Workers are killed when it is dropped.
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

    /// Returns a command that runs the program on this machine.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        self.surround(&mut command);
        command.args(args);
        command
    }

    /// Sets the environment of a command to that of this machine, and pipes its output.
    pub fn surround(&self, command: &mut Command) {
        isolate(command, self.dir.path())
            .env("GLOVEBOX_STATE_DIR", self.state())
            .env("GLOVEBOX_UPSTREAM", &self.upstream)
            .env("BRAVE_ANSWERS_KEY", PLAIN_KEY)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs a command that must succeed and parses its output as JSON.
    pub fn json(&self, args: &[&str]) -> Value {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", words(&output));
        json(&output)
    }

    /// Starts a research in a worker and returns its id.
    pub fn detach(&self, query: &str) -> String {
        let job = self.json(&["research", "--detach", "--json", query]);
        job["research_id"].as_str().unwrap().to_owned()
    }

    /// Waits for the end of a job and returns the job.
    pub fn ended(&self, id: &str) -> Value {
        let job = self.json(&["jobs", "status", id, "--wait", "100", "--json"]);
        assert!(is_end(&job), "{job:#}");
        job
    }

    /// Returns the process ids and job ids of the running workers of this machine.
    pub fn workers(&self) -> Vec<(i32, String)> {
        workers_of(&self.state())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        for (pid, _) in self.workers() {
            kill(pid, "KILL");
        }
    }
}

/// Returns whether a job is in an end state.
pub fn is_end(job: &Value) -> bool {
    ["done", "failed", "cancelled", "interrupted"].contains(&job["state"].as_str().unwrap())
}

/// Finds workers by their arguments and environment.
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
