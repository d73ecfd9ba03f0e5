//! `glovebox worker ID`: carries out one research that another process handed over, and `glovebox start-worker ID`,
//! which starts that and ends. Hidden: they are started by `research --detach` and by the MCP tools, not by people.

use std::process;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use clap::Args;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::exit_status::ExitStatus as _;
use super::{jobs_setup, output, signals};
use crate::exit::Exit;
use crate::jobs::{Jobs, start_apart};
use crate::settings::Settings;
use crate::upstream::Client;

/// Beyond the call's deadline: to wait for a slot, to settle the end. After it the process ends however it is.
const GRACE: Duration = Duration::from_secs(60);

/// Starts the worker of a job that was handed over, and ends.
#[derive(Args, Debug)]
pub struct StartWorker {
    /// The job's id
    id: String,
}

impl StartWorker {
    /// Runs the command.
    ///
    /// # Errors
    /// When the worker cannot be started.
    pub fn run(&self) -> anyhow::Result<Exit> {
        start_apart(&Jobs::parse_id(&self.id)?)?;
        Ok(Exit::Done)
    }
}

/// Carries out a job that was handed over.
#[derive(Args, Debug)]
pub struct Worker {
    /// The job's id
    id: String,
}

impl Worker {
    /// Runs the command.
    ///
    /// # Errors
    /// When the job is not this process's to run.
    pub async fn run(self, settings: &Settings) -> anyhow::Result<Exit> {
        let id = Jobs::parse_id(&self.id)?;
        show_name();
        // Where the call goes is known only once the job is taken over.
        let upstream = Arc::new(OnceLock::new());
        let jobs = {
            let (upstream, of_client) = (Arc::clone(&upstream), settings.clone());
            let make = move || {
                let config = upstream.get_or_init(|| of_client.upstream_config());
                Client::new(config.clone())
            };
            jobs_setup::with_client(settings, Box::new(make))
        };
        let adopted = jobs.adopt(&id).await?;
        watchdog(adopted.deadline.saturating_add(GRACE));
        let _simulator = match &adopted.simulate {
            Some(simulate) => {
                let simulator = jobs_setup::start_simulator(simulate).await?;
                let config = jobs_setup::simulated_upstream(&simulator)?;
                upstream.get_or_init(|| config);
                Some(simulator)
            }
            None => None,
        };
        stop_at_signal(jobs.clone());
        let (updates, _) = mpsc::unbounded_channel();
        let ended = jobs.run(&id, CancellationToken::new(), updates).await?;
        Ok(ended.job.exit())
    }
}

/// Shows the program's name in lists of processes that show no arguments; else it is that of the path it was started by.
fn show_name() {
    if cfg!(target_os = "linux")
        && let Err(error) = std::fs::write("/proc/self/comm", "glovebox")
    {
        tracing::debug!(%error, "the process keeps its name");
    }
}

/// Ends the process if nothing else does. The lease goes with it, and whoever reads the job next settles it.
fn watchdog(after: Duration) {
    let watching = thread::Builder::new().name("watchdog".to_owned());
    let started = watching.spawn(move || {
        thread::sleep(after);
        output::message(&format_args!(
            "glovebox worker: still here {after:?} after the start; ending"
        ));
        process::exit(Exit::Failed.code().into());
    });
    if let Err(error) = started {
        tracing::warn!(%error, "no watchdog");
    }
}

/// A signal to end settles the job with what had come.
fn stop_at_signal(jobs: Jobs) {
    signals::ignore_hangup();
    tokio::spawn(async move {
        signals::terminated().await;
        jobs.stop();
    });
}
