//! A user's home folder, for tests of the command line.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::process::{GENEROUS, KEY, Ran, program};
use super::simulator::Simulator;

/// A temporary home folder in which the program is run.
pub struct World {
    folder: tempfile::TempDir,
}

impl World {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Waits until the captures of `replies` replies contain at least `bytes` bytes each.
    pub fn wait_for_captures(&self, replies: usize, bytes: u64) {
        let captures = self.path().join("state/glovebox/captures");
        let kept = || {
            let files = std::fs::read_dir(&captures).into_iter().flatten().flatten();
            let sizes = files.filter_map(|file| Some(file.metadata().ok()?.len()));
            sizes.filter(|&size| size >= bytes).count()
        };
        let end = Instant::now() + GENEROUS;
        while kept() < replies {
            assert!(
                Instant::now() < end,
                "{} of {replies} captures are complete",
                kept()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns a command that runs the program with the folders of this world.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = program(self.path());
        command
            .args(args)
            .env("XDG_STATE_HOME", self.path().join("state"))
            .env("XDG_CONFIG_HOME", self.path().join("config"))
            .current_dir(self.path());
        command
    }

    /// Runs the program and waits for its exit.
    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    /// Runs the program with a simulator as the upstream and waits for its exit.
    pub fn call(&self, simulator: &Simulator, args: &[&str]) -> Ran {
        Ran::of(self.calling(simulator, args).output().unwrap())
    }

    /// Returns a command that runs the program with a simulator as the upstream.
    pub fn calling(&self, simulator: &Simulator, args: &[&str]) -> Command {
        let mut command = self.command(args);
        command
            .env("GLOVEBOX_UPSTREAM", &simulator.url)
            .env("BRAVE_ANSWERS_KEY", KEY);
        command
    }
}
