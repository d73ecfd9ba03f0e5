//! What every command that serves MCP needs: the tools' settings, the service, signals, and an orderly end.

use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tokio_util::sync::DropGuard;

use super::jobs_setup::{self, CommandJobs};
use super::server_kind::ServerKind;
use super::{operator, output, signals};
use crate::exit::Exit;
use crate::mcp::{Config, KeyState, LEAST_OUTPUT_BYTES, OUTPUT_BYTES, Service, Structured};
use crate::policy::audit::{Event, Kind};
use crate::settings::{PolicyFlags, PolicySettings, Settings};

/// What calls get that were cancelled because the clients left: time to drop the upstream and to settle.
const SETTLE: Duration = Duration::from_secs(1);

/// The same where a signal ends the process, which is to be at once.
const SETTLE_AT_SIGNAL: Duration = Duration::from_millis(300);

/// How long a person may take to approve a call where the server waits: many clients give up after 60 seconds.
const ASK_WITHIN: Duration = Duration::from_secs(45);

/// The flags of a command that serves MCP.
#[derive(Args, Clone, Debug)]
pub struct ServerArgs {
    /// Whether results carry structured content beside the text
    #[arg(long, value_enum, default_value_t = StructuredArg::Auto)]
    structured: StructuredArg,
    /// The most text of one result, in bytes; more is cut, and says so
    #[arg(long, value_name = "BYTES", default_value_t = OUTPUT_BYTES, value_parser = output_bytes)]
    max_output: usize,
    #[command(flatten)]
    policy: PolicyFlags,
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
            policy: PolicyFlags::default(),
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
    _jobs: CommandJobs,
    _reload: DropGuard,
}

impl Server {
    /// Sets up the service. What is wrong with the settings is the inner error, in words for a person.
    ///
    /// # Errors
    /// When the simulator is asked for and cannot listen.
    pub async fn start(
        args: &ServerArgs,
        settings: &Settings,
        kind: ServerKind,
    ) -> anyhow::Result<Result<Self, String>> {
        let policy = match settings.policy(&args.policy) {
            Ok(policy) => policy,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let control = match operator::control(settings, &policy, &kind) {
            Ok(control) => Arc::new(control),
            Err(problem) => return Ok(Err(problem)),
        };
        let jobs = jobs_setup::open(settings).await?;
        let config = config(args, settings, &policy, &jobs, &kind);
        let service = Service::new(jobs.jobs.clone(), Arc::clone(&control), config);
        control.record(Event::new(Kind::ServerStarted)).await;
        let reload = operator::reload(settings, &args.policy, &kind, control);
        Ok(Ok(Self {
            service,
            _jobs: jobs,
            _reload: reload,
        }))
    }

    /// Prints the advice on standard error.
    pub fn tell_advice(&self) {
        for advice in self.service.advice() {
            output::message(&format_args!("glovebox: advice: {}", advice.text));
        }
    }

    /// Records that the server stops.
    pub async fn stopped(&self) {
        if let Some(audit) = self.service.control().audit() {
            audit.flush_denials(true).await;
            audit.record(Event::new(Kind::ServerStopped)).await;
            if let Err(error) = audit.log().sync() {
                tracing::warn!(%error, "the audit log cannot be brought to the disk");
            }
        }
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
                self.stopped().await;
                Exit::Done
            }
            () = signals::terminated() => {
                self.service.jobs().stop();
                self.settle(SETTLE_AT_SIGNAL).await;
                self.stopped().await;
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

fn config(
    args: &ServerArgs,
    settings: &Settings,
    policy: &PolicySettings,
    jobs: &CommandJobs,
    kind: &ServerKind,
) -> Config {
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
        runs: kind.runs,
        answers: jobs_setup::answers_config(settings),
        address: kind.address.clone(),
        situation: operator::situation(settings, policy, kind),
        ask_within: ASK_WITHIN,
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
