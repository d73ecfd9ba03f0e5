//! The worker process of a job. It runs in its own session, so it survives the end of its parent and of the terminal.
//! It shares no pipe with its parent: its standard input is the lease of the job, and its output goes to a log in the
//! state folder.
//!
//! An intermediate process starts the worker and exits at once, so the worker is not a descendant of the process that
//! requested it. Some MCP clients (opencode 1.18.33) kill all descendants of their servers when they exit.

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

/// The hidden command of the intermediate process, which starts a worker and exits.
const START: &str = "start-worker";

/// The name of a worker in process lists.
const PROGRAM: &str = "glovebox";
/// The hidden command that a worker runs.
const COMMAND: &str = "worker";

/// How a worker is started. Its configuration, including the key, is passed in the environment. All users of the
/// machine can read its arguments, so these are only the command and the id of the job.
#[derive(Clone)]
pub struct WorkerCommand {
    /// The program.
    pub program: PathBuf,
    /// The complete environment of the worker.
    pub env: Vec<(OsString, OsString)>,
    /// Variables that are added when a worker is started, because reading them is expensive.
    pub late_env: Option<LateEnvironment>,
    /// The logs of the workers.
    pub logs: WorkerLogs,
}

/// The logs of workers on this machine, one file per job.
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

    /// Removes the log of a job if it is empty.
    pub(super) fn remove_if_empty(&self, id: &JobId) {
        let log = self.path(id);
        if fs::metadata(&log).is_ok_and(|metadata| metadata.len() == 0) {
            // If this fails, the log is removed together with its job.
            let _ = fs::remove_file(log);
        }
    }

    /// Removes the log of a job. A missing log is not an error.
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

/// Returns environment variables when a worker is started.
pub type LateEnvironment = Arc<dyn Fn() -> Vec<(OsString, OsString)> + Send + Sync>;

/// Omits the values, because they include the key.
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
    /// Returns a command that runs this program with the variables of this process that `passed` selects, overridden by
    /// `set`.
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

/// Returns the path of the running executable. It works even if the file was replaced or removed.
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
    /// Waits for the worker on a thread, so that it does not remain as a zombie process.
    pub(super) fn reap(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        let waiting = thread::Builder::new().name("worker-reaper".to_owned());
        // Without the thread the zombie remains until this process ends. The worker is not affected.
        let _ = waiting.spawn(move || child.wait());
    }

    /// Kills the worker.
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

/// Starts the worker with the environment, input and output of this process. The caller should exit afterwards.
///
/// # Errors
/// If the process cannot be started.
pub fn start_apart(id: &JobId) -> io::Result<()> {
    let mut wrapped = CommandWrap::with_new(this_program(), |process| {
        name(process).arg(COMMAND).arg(id.as_str());
    });
    wrapped.wrap(ProcessSession);
    wrapped.spawn()?;
    Ok(())
}

/// Sets the name of the process, because the path of the executable may have another name.
#[cfg(unix)]
fn name(process: &mut Command) -> &mut Command {
    use std::os::unix::process::CommandExt;
    process.arg0(PROGRAM)
}

#[cfg(not(unix))]
fn name(process: &mut Command) -> &mut Command {
    process
}

/// Starts the intermediate process for the worker of a job and shares the lease with it.
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
