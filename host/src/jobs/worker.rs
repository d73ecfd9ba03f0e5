//! A worker: a process of its own in a session of its own, so that neither the death of its parent nor of the
//! terminal reaches it. It holds no pipe of its parent's: its input is the job's lease, its output goes to a
//! log in the state folder.
//!
//! It is started by a process that ends at once, so it is no descendant of the process that wanted it: some MCP clients
//! (opencode 1.18.33) end all descendants of their servers when they leave.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use process_wrap::std::{ChildWrapper, CommandWrap, ProcessSession};

use super::error::JobsError;
use super::model::JobId;
use super::storage::error::StoreError;
use super::storage::folder::state_dir::private_append;
use super::storage::leases::HeldLease;

/// The hidden command that starts a worker and ends.
const START: &str = "start-worker";

/// What a worker is called in a list of processes.
const PROGRAM: &str = "glovebox";
/// The hidden command that a worker runs.
const COMMAND: &str = "worker";

/// How a worker is started. What it needs to know, the key included, is in its environment; its arguments are
/// the command and the job's id, which everybody on the machine may read.
#[derive(Clone)]
pub struct WorkerCommand {
    /// The program.
    pub program: PathBuf,
    /// Its whole environment; nothing else is passed on.
    pub env: Vec<(OsString, OsString)>,
    /// What is added when a worker is started, because it costs something to find out.
    pub late_env: Option<LateEnvironment>,
    /// Where the logs of workers are.
    pub logs: WorkerLogs,
}

/// The logs of workers on this machine: a file per job.
#[derive(Clone, Debug)]
pub struct WorkerLogs {
    folder: PathBuf,
}

impl WorkerLogs {
    /// Returns the logs in a folder.
    #[must_use]
    pub const fn in_folder(folder: PathBuf) -> Self {
        Self { folder }
    }

    fn path(&self, id: &JobId) -> PathBuf {
        self.folder.join(format!("{id}.log"))
    }

    /// Removes the log of a job, if nothing is in it.
    pub(super) fn remove_if_empty(&self, id: &JobId) {
        let log = self.path(id);
        if fs::metadata(&log).is_ok_and(|metadata| metadata.len() == 0) {
            // Otherwise it stays until its job is removed.
            let _ = fs::remove_file(log);
        }
    }

    /// Removes the log of a job. One that is not there is no error.
    pub(super) fn remove(&self, id: &JobId) -> Result<(), StoreError> {
        let log = self.path(id);
        match fs::remove_file(&log) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::folder(&log, error))
            }
            _ => Ok(()),
        }
    }
}

/// Gives variables when they are needed.
pub type LateEnvironment = Arc<dyn Fn() -> Vec<(OsString, OsString)> + Send + Sync>;

/// Without the values: the key is among them.
impl fmt::Debug for WorkerCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("WorkerCommand")
            .field("program", &self.program)
            .field("env", &names)
            .finish()
    }
}

impl WorkerCommand {
    /// This program again, with those variables of this process that `passed` names, and `set` over them.
    #[must_use]
    pub fn this_program(
        passed: impl Fn(&OsStr) -> bool,
        set: Vec<(OsString, OsString)>,
        logs: WorkerLogs,
    ) -> Self {
        let mut env: Vec<_> = std::env::vars_os()
            // An empty variable counts as not set.
            .filter(|(name, value)| passed(name) && !value.is_empty())
            .filter(|(name, _)| !set.iter().any(|(other, _)| other == name))
            .collect();
        env.extend(set);
        Self {
            program: this_program(),
            env,
            late_env: None,
            logs,
        }
    }

    fn late_env(&self) -> Vec<(OsString, OsString)> {
        self.late_env.as_ref().map(|env| env()).unwrap_or_default()
    }
}

/// The file that this process runs, even if it was replaced or removed meanwhile.
fn this_program() -> PathBuf {
    let by_link = PathBuf::from("/proc/self/exe");
    if by_link.exists() {
        return by_link;
    }
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from(PROGRAM))
}

/// A worker that was started.
pub(super) struct Started {
    child: Option<Box<dyn ChildWrapper>>,
    id: JobId,
    log: PathBuf,
}

impl Started {
    /// Waits for the worker's end on a thread of its own, so that no zombie stays while this process lives.
    pub(super) fn reap(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        let waiting = thread::Builder::new().name("worker-reaper".to_owned());
        // Without a thread the zombie stays until this process ends; the worker is not affected.
        let _ = waiting.spawn(move || child.wait());
    }

    /// Ends the worker.
    pub(super) fn kill(&mut self) {
        if let Some(child) = &mut self.child
            && let Err(error) = child.start_kill()
        {
            tracing::warn!(%error, "a worker cannot be ended");
        }
    }

    pub(super) fn did_not_start(&self, reason: &str) -> JobsError {
        JobsError::Worker {
            id: self.id.clone(),
            reason: reason.to_owned(),
            log: self.log.clone(),
        }
    }
}

/// Starts the worker itself, which has this process's environment, input and output. This process should then end.
///
/// # Errors
/// When the system starts no process.
pub fn start_apart(id: &JobId) -> io::Result<()> {
    let mut wrapped = CommandWrap::with_new(this_program(), |process| {
        name(process).arg(COMMAND).arg(id.as_str());
    });
    wrapped.wrap(ProcessSession);
    wrapped.spawn()?;
    Ok(())
}

/// Gives the process the program's name, which the path that it is started by may not be.
#[cfg(unix)]
fn name(process: &mut Command) -> &mut Command {
    use std::os::unix::process::CommandExt;
    process.arg0(PROGRAM)
}

#[cfg(not(unix))]
fn name(process: &mut Command) -> &mut Command {
    process
}

/// Starts what starts the worker of a job, and shares the lease with it.
pub(super) fn start(
    command: &WorkerCommand,
    id: &JobId,
    lease: &dyn HeldLease,
) -> Result<Started, JobsError> {
    let log = command.logs.path(id);
    let failed = |error: io::Error| JobsError::Worker {
        id: id.clone(),
        reason: error.to_string(),
        log: log.clone(),
    };
    let output: File = private_append(&log).map_err(failed)?;
    let errors = output.try_clone().map_err(failed)?;
    let input = lease.share().map_err(failed)?;
    let input = input.ok_or_else(|| failed(io::ErrorKind::Unsupported.into()))?;
    let late_env = command.late_env();
    let mut wrapped = CommandWrap::with_new(&command.program, |process| {
        name(process)
            .arg(START)
            .arg(id.as_str())
            .env_clear()
            .envs(command.env.iter().map(|(name, value)| (name, value)))
            .envs(late_env)
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(output))
            .stderr(Stdio::from(errors));
    });
    wrapped.wrap(ProcessSession);
    let child = wrapped.spawn().map_err(failed)?;
    Ok(Started {
        child: Some(child),
        id: id.clone(),
        log: log.clone(),
    })
}
