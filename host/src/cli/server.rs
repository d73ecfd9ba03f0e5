//! What every command that serves MCP needs: the tools' settings, the service, signals, and an orderly end.

use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::jobs_setup::{self, CommandJobs};
use super::signals;
use crate::exit::Exit;
use crate::mcp::{Config, KeyState, LEAST_OUTPUT_BYTES, OUTPUT_BYTES, Runs, Service, Structured};
use crate::settings::Settings;

/// What calls get that were cancelled because the clients left: time to drop the upstream and to settle.
const SETTLE: Duration = Duration::from_secs(1);

/// The same where a signal ends the process, which is to be at once.
const SETTLE_AT_SIGNAL: Duration = Duration::from_millis(300);

/// The flags of a command that serves MCP.
#[derive(Args, Clone, Debug)]
pub struct ServerArgs {
    /// Whether results carry structured content beside the text
    #[arg(long, value_enum, default_value_t = StructuredArg::Auto)]
    structured: StructuredArg,
    /// The most text of one result, in bytes; more is cut, and says so
    #[arg(long, value_name = "BYTES", default_value_t = OUTPUT_BYTES, value_parser = output_bytes)]
    max_output: usize,
}

/// Whether results carry structured content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StructuredArg {
    /// Unless the client is known to show it to the model instead of the text or in addition to it.
    Auto,
    /// Wherever the protocol version has it.
    On,
    /// Never.
    Off,
}

impl From<StructuredArg> for Structured {
    fn from(argument: StructuredArg) -> Self {
        match argument {
            StructuredArg::Auto => Self::Auto,
            StructuredArg::On => Self::On,
            StructuredArg::Off => Self::Off,
        }
    }
}

impl Default for ServerArgs {
    fn default() -> Self {
        Self {
            structured: StructuredArg::Auto,
            max_output: OUTPUT_BYTES,
        }
    }
}

/// Reads the value of `--max-output`.
///
/// # Errors
/// What is wrong with it.
pub fn output_bytes(text: &str) -> Result<usize, String> {
    let bytes = text.parse::<usize>().map_err(|error| error.to_string())?;
    if bytes < LEAST_OUTPUT_BYTES {
        return Err(format!("at least {LEAST_OUTPUT_BYTES}"));
    }
    Ok(bytes)
}

/// The service behind the transports of one process, and what must live as long as it is used.
#[derive(Debug)]
pub struct Server {
    service: Service,
    _desk: CommandJobs,
}

impl Server {
    /// Sets up the service. `runs` says where researches run, `reached` how clients reach it.
    ///
    /// # Errors
    /// When the simulator is asked for and cannot listen.
    pub async fn start(
        args: &ServerArgs,
        settings: &Settings,
        runs: Runs,
        reached: String,
    ) -> anyhow::Result<Self> {
        let jobs = jobs_setup::open(settings).await?;
        let mut config = config(args, settings, &jobs, runs);
        config.reached = reached;
        Ok(Self {
            service: Service::new(jobs.jobs.clone(), config),
            _desk: jobs,
        })
    }

    /// Returns the service, which all connections share.
    #[must_use]
    pub const fn service(&self) -> &Service {
        &self.service
    }

    /// Serves until `serving` ends, because its clients left, or a signal comes; then gives what still runs a
    /// moment to settle.
    pub async fn run(self, serving: impl Future<Output = ()>) -> Exit {
        tokio::select! {
            () = serving => {
                self.settle(SETTLE).await;
                Exit::Done
            }
            () = signals::terminated() => {
                self.service.jobs().stop();
                self.settle(SETTLE_AT_SIGNAL).await;
                Exit::Interrupted
            }
        }
    }

    async fn settle(&self, within: Duration) {
        let work = self.service.work();
        work.close();
        if tokio::time::timeout(within, work.wait()).await.is_err() {
            tracing::debug!("calls were still running at the end");
        }
    }
}

fn config(args: &ServerArgs, settings: &Settings, jobs: &CommandJobs, runs: Runs) -> Config {
    let timeouts = settings.timeouts();
    let (keys, simulated) = (settings.clone(), settings.simulate.value);
    Config {
        structured: args.structured.into(),
        output_bytes: args.max_output,
        answer_deadline: timeouts.answer,
        research_deadline: timeouts.research,
        idle: timeouts.idle,
        keep: settings.keep.value,
        capture: settings.capture.value,
        simulate: jobs.simulate.clone(),
        runs,
        answers: jobs_setup::answers_config(settings),
        reached: String::new(),
        advice: settings.advice.clone(),
        key: Arc::new(move || key_check(&keys, simulated)),
    }
}

fn key_check(settings: &Settings, simulated: bool) -> KeyState {
    if simulated {
        return KeyState {
            key: Ok("not needed, the simulator answers".to_owned()),
            advice: None,
        };
    }
    let report = settings.key_report();
    let origin = report.origin.unwrap_or("an unnamed place");
    let key = match report.key {
        Ok(_) => Ok(format!("present, from {origin}")),
        Err(error) => Err(error.to_string()),
    };
    KeyState {
        key,
        advice: report.warning,
    }
}
