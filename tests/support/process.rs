//! Starts the program in an environment of its own and waits for processes.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_glovebox");

/// The time limit of every wait. It only stops a test that hangs.
pub const GENEROUS: Duration = Duration::from_secs(60);

/// A key that looks like a key of the upstream and occurs nowhere else.
pub const KEY: &str = "BSAqtestkey0123456789zyxw";

/// A key that does not look like one.
pub const PLAIN_KEY: &str = "a-key-for-tests";

/// Returns a command that runs the program with `home` as the home folder and no other settings of this machine.
pub fn program(home: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    isolate(&mut command, home);
    command
}

/// Replaces the environment of a command by a home folder, the search path and the compile cache of the tests, and its
/// standard input by an empty one.
pub fn isolate<'a>(command: &'a mut Command, home: &Path) -> &'a mut Command {
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        // The tests share compiled components.
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::null())
}

/// The exit status and output of a process.
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

    /// Parses the standard output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }
}

/// Waits for a process to exit. Panics and kills the process after [`GENEROUS`].
pub fn finish(mut child: Child) -> Ran {
    let end = Instant::now() + GENEROUS;
    loop {
        if child.try_wait().unwrap().is_some() {
            return Ran::of(child.wait_with_output().unwrap());
        }
        if Instant::now() >= end {
            let _ = child.kill();
            panic!(
                "still running: {:?}",
                Ran::of(child.wait_with_output().unwrap())
            );
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal to a process, or to a process group by its negative id.
pub fn kill(pid: i32, signal: &str) {
    let _ = Command::new("kill")
        .args([&format!("-{signal}"), "--", &pid.to_string()])
        .stderr(Stdio::null())
        .status();
}

/// Runs a command in a new process group, so that the group can be killed.
pub fn own_group(command: &mut Command) -> &mut Command {
    command.process_group(0)
}

/// Parses the standard output of a process as JSON.
pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", words(output)))
}

/// Returns the exit status and both outputs of a process for an assertion message.
pub fn words(output: &Output) -> String {
    format!(
        "status {:?}\n{}\n{}",
        output.status.code(),
        String::from_utf8_lossy(&output.stdout),
        stderr(output)
    )
}

/// Returns the standard error of a process.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Polls until `look` returns a value. Use it for state that only the system knows, such as the running processes, and
/// for which there is no event to wait for.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    // A research with many queries takes longer than other waits.
    let end = Instant::now() + 2 * GENEROUS;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "never: {what}");
        std::thread::yield_now();
    }
}
