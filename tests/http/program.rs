//! `glovebox serve` as a process.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::{Ran, World, finish};

/// A running server.
pub struct Serve {
    child: Option<Child>,
    pub port: u16,
    pub pid: u32,
    /// The certificate of its own authority, in external mode.
    pub ca: Option<PathBuf>,
}

impl Serve {
    /// Starts one over the built-in simulator.
    pub fn start(world: &World, args: &[&str]) -> Self {
        let mut command = world.command(&["serve", "--json", "--simulate", "--pace", "0"]);
        command.args(args);
        if !args.contains(&"--listen") {
            command.args(["--listen", ":0"]);
        }
        Self::spawn(command)
    }

    /// Starts what the command says.
    pub fn spawn(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.as_mut().unwrap());
        out.read_line(&mut line).unwrap();
        let Ok(said) = serde_json::from_str::<Value>(&line) else {
            panic!("it did not start: {:?}", finish(child));
        };
        let address = said["address"].as_str().unwrap();
        let port = address.rsplit_once(':').unwrap().1.parse().unwrap();
        Self {
            pid: child.id(),
            ca: said["ca"].as_str().map(PathBuf::from),
            child: Some(child),
            port,
        }
    }

    /// The bearer token of a server with its state in this world.
    pub fn token(&self, world: &World) -> String {
        let path = world.path().join("state/glovebox/token");
        std::fs::read_to_string(path).unwrap().trim().to_owned()
    }

    /// Sends a signal.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .args([&format!("-{name}"), &self.pid.to_string()])
            .status();
        assert!(status.unwrap().success());
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Ran {
        finish(self.child.take().unwrap())
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
