//! `glovebox run`: a WASI 0.2 command component in the sandbox.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Args;

use super::confirm::Confirm;
use super::console::RunConsole;
use super::jobs_setup;
use super::output;
use super::run_admission::RunAdmission;
use crate::exit::Exit;
use crate::jobs::clock::WallClock;
use crate::jobs::ledger::limiter::DEFAULT_RATE;
use crate::jobs::{ExternalCalls, Micros, Rate, Storage, StoreError};
use crate::settings::{COMMAND_PACE, Settings};
use crate::simulator::{self, Simulator};
use crate::upstream::{ApiKey, Origin};
use crate::wasi::{self, Console as _, GuestExit, MAX_TOTAL, RunLimits};

/// Run a WASI 0.2 command component in the sandbox
///
/// It has wasi:http to the configured origin alone, no files and no other network. The component finds GLOVEBOX_UPSTREAM and a placeholder for the key in its environment, and nothing else; the
/// host puts the key itself into the requests, so it never enters the sandbox.
#[derive(Args, Debug)]
pub struct Run {
    /// Let it make this many requests at most; each can cost
    #[arg(long, default_value_t = RunLimits::default().requests, value_name = "NUMBER")]
    max_requests: u32,
    /// End it after this many seconds, compiling and waiting included: 1 to 86400
    #[arg(
        long,
        default_value_t = RunLimits::default().total.as_secs(),
        value_name = "SECONDS",
        value_parser = clap::value_parser!(u64).range(1..=MAX_TOTAL.as_secs())
    )]
    max_seconds: u64,
    #[command(flatten)]
    confirm: Confirm,
    /// Run this component, built for wasm32-wasip2, with these arguments
    #[arg(
        trailing_var_arg = true,
        required = true,
        num_args = 1..,
        value_name = "COMPONENT [ARGUMENTS]"
    )]
    command: Vec<String>,
}

impl Run {
    /// Runs the command.
    ///
    /// # Errors
    /// When the simulator cannot be started.
    pub async fn run(self, settings: &Settings) -> anyhow::Result<Exit> {
        let mut command = self.command.into_iter();
        let Some(component) = command.next() else {
            return Ok(Exit::Usage);
        };
        let simulator = if settings.simulate.value {
            let pace = settings.pace.value.unwrap_or(COMMAND_PACE);
            Some(
                Simulator::start(simulator::Options {
                    pace,
                    ..Default::default()
                })
                .await?,
            )
        } else {
            None
        };
        let (origin, key) = match &simulator {
            Some(simulator) => (Origin::parse(&simulator.url())?, Ok(ApiKey::simulated())),
            None => (settings.upstream.value.clone(), settings.key()),
        };
        let calls = match external_calls(settings, simulator.is_some()) {
            Ok(calls) => calls,
            Err(error) => {
                tell(&error.to_string());
                return Ok(Exit::Failed);
            }
        };
        let console = Arc::new(RunConsole::of_process());
        let admission = Arc::new(RunAdmission {
            calls,
            unconfirmed_over: self.confirm.unconfirmed_over(settings),
            no_key: key.as_ref().err().cloned(),
            refused_for_key: AtomicBool::new(false),
        });
        let run = wasi::Run {
            sandbox: jobs_setup::sandbox(),
            component: component.into(),
            arguments: command.collect(),
            origin,
            // Without a key no request is admitted, so what stands in its place is never sent.
            key: Some(key.unwrap_or_else(|_| ApiKey::simulated())),
            proxy: settings.proxy.clone(),
            limits: RunLimits {
                requests: self.max_requests,
                total: Duration::from_secs(self.max_seconds),
                ..RunLimits::default()
            },
            admission: Arc::<RunAdmission>::clone(&admission),
            console: Arc::<RunConsole>::clone(&console),
        };
        let ended = tokio::select! {
            ended = wasi::run(run) => ended,
            interrupted = tokio::signal::ctrl_c() => {
                interrupted?;
                console.finish();
                console.report("interrupted: the component and its connections are gone; what it wrote before is kept");
                return Ok(Exit::Interrupted);
            }
        };
        console.finish();
        Ok(match ended {
            Ok(GuestExit::Success) => Exit::Done,
            Ok(GuestExit::Failure) if admission.is_refused_for_key() => Exit::Key,
            Ok(GuestExit::Failure) => Exit::Failed,
            Err(error) => {
                console.report(&error.to_string());
                Exit::Failed
            }
        })
    }
}

/// Opens where its requests are counted. Without a budget, a folder that cannot be used does not prevent the run: the requests
/// are then counted in this process alone.
fn external_calls(settings: &Settings, simulated: bool) -> Result<ExternalCalls, StoreError> {
    let budget = settings.budget_per_day.value;
    let budget = budget.map(|micros| Micros(i64::try_from(micros).unwrap_or(i64::MAX)));
    let rate = Rate {
        count: settings.requests_per_second.value,
        ..DEFAULT_RATE
    };
    let storage = match Storage::in_folder(&settings.state_dir.value, Arc::new(WallClock)) {
        Err(error) if budget.is_some() => return Err(error),
        Err(_) => Storage::in_memory(Arc::new(WallClock))?,
        Ok(storage) => storage,
    };
    Ok(ExternalCalls::new(storage, budget, rate, simulated))
}

fn tell(text: &str) {
    output::message(&format_args!("glovebox run: {text}"));
}
