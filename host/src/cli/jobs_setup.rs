//! Makes the job service of a command from the settings, with the simulator where that takes the upstream's place.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use etcetera::BaseStrategy as _;
use secrecy::ExposeSecret as _;

use crate::answers::{Answers, AnswersConfig};
use crate::jobs::clock::WallClock;
use crate::jobs::ledger::limiter::DEFAULT_RATE;
use crate::jobs::{
    Jobs, JobsConfig, LateEnvironment, MakeClient, Micros, Rate, Simulate, StateDir, Storage,
    WorkerCommand, WorkerLogs,
};
use crate::sandbox::Sandbox;
use crate::settings::{COMMAND_PACE, Settings};
use crate::simulator::{Options, Simulator};
use crate::upstream::{ApiKey, Client, Origin, UpstreamConfig};

/// Variables that a worker needs as they are: where things are, how to reach the network, what to log.
const PASSED: [&str; 20] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "TZ",
    "LANG",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "RUST_LOG",
    "RUST_BACKTRACE",
    "NO_COLOR",
];
/// Families of such variables: the settings, the key, the user's folders, the language.
const PASSED_FAMILIES: [&str; 4] = ["GLOVEBOX_", "BRAVE_", "XDG_", "LC_"];

/// The jobs of a command, and the simulator that they call.
#[derive(Debug)]
pub struct CommandJobs {
    /// The jobs.
    pub jobs: Jobs,
    /// What a detached worker is to simulate.
    pub simulate: Option<Simulate>,
    /// The simulator, where one runs for this command.
    _simulator: Option<Simulator>,
}

/// The jobs of a command that may call upstream.
///
/// # Errors
/// When the simulator cannot listen.
pub async fn open(settings: &Settings) -> anyhow::Result<CommandJobs> {
    if !settings.simulate.value {
        return Ok(CommandJobs {
            jobs: stored(settings),
            simulate: None,
            _simulator: None,
        });
    }
    let simulate = Simulate {
        scenario: None,
        pace: Some(settings.pace.value.unwrap_or(COMMAND_PACE)),
    };
    let simulator = start_simulator(&simulate).await?;
    let upstream = simulated_upstream(&simulator)?;
    let client: MakeClient = Box::new(move || Client::new(upstream.clone()));
    Ok(CommandJobs {
        jobs: with_client(settings, client),
        simulate: Some(simulate),
        _simulator: Some(simulator),
    })
}

/// The jobs of a command that calls the configured upstream, or only looks at what is stored.
#[must_use]
pub fn stored(settings: &Settings) -> Jobs {
    let settings_of_client = settings.clone();
    // The key is read when the first call is to be sent, not before.
    let client: MakeClient = Box::new(move || Client::new(settings_of_client.upstream_config()));
    with_client(settings, client)
}

/// Returns the sandbox of this process.
#[must_use]
pub fn sandbox() -> Sandbox {
    let cache = etcetera::choose_base_strategy()
        .ok()
        .map(|folders| folders.cache_dir().join("glovebox"));
    Sandbox::new(cache)
}

/// Returns the answers component that the settings name, with the default bounds.
#[must_use]
pub fn answers_config(settings: &Settings) -> AnswersConfig {
    AnswersConfig {
        component: settings.component.value.clone(),
        ..AnswersConfig::default()
    }
}

/// Starts to compile the answers component that the settings name.
#[must_use]
pub fn answers(settings: &Settings) -> Answers {
    Answers::start(&sandbox(), answers_config(settings))
}

/// Returns jobs with the client that `client` makes.
#[must_use]
pub fn with_client(settings: &Settings, client: MakeClient) -> Jobs {
    let budget = settings.budget_per_day.value;
    Jobs::new(JobsConfig {
        storage: Storage::opener(settings.state_dir.value.clone()),
        keep: settings.keep.value,
        budget: budget.map(|micros| Micros(i64::try_from(micros).unwrap_or(i64::MAX))),
        rate: Rate {
            count: settings.requests_per_second.value,
            ..DEFAULT_RATE
        },
        answers: answers(settings),
        client,
        clock: Arc::new(WallClock),
        worker: WorkerCommand {
            late_env: Some(piped_key(settings)),
            ..WorkerCommand::this_program(passed, set(settings), worker_logs(settings))
        },
    })
}

fn worker_logs(settings: &Settings) -> WorkerLogs {
    WorkerLogs::in_folder(StateDir::at(&settings.state_dir.value).worker_logs())
}

/// Starts the simulator that a call asks for.
///
/// # Errors
/// When there is no such scenario, or it cannot listen.
pub async fn start_simulator(simulate: &Simulate) -> anyhow::Result<Simulator> {
    let mut options = Options {
        pace: simulate.pace.unwrap_or(COMMAND_PACE),
        ..Options::default()
    };
    if let Some(scenario) = &simulate.scenario {
        options.scenario = scenario.parse().map_err(anyhow::Error::msg)?;
    }
    Ok(Simulator::start(options).await?)
}

/// How a simulator is reached.
///
/// # Errors
/// When its address is no origin.
pub fn simulated_upstream(simulator: &Simulator) -> anyhow::Result<UpstreamConfig> {
    Ok(UpstreamConfig {
        origin: Origin::parse(&simulator.url())?,
        key: Ok(ApiKey::simulated()),
        proxy: None,
    })
}

fn passed(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    PASSED.contains(&name.as_ref())
        || PASSED_FAMILIES
            .iter()
            .any(|family| name.starts_with(family))
}

/// A key that can be read only once, so that the worker cannot read it again.
fn piped_key(settings: &Settings) -> LateEnvironment {
    let settings = settings.clone();
    Arc::new(move || {
        let key = settings.piped_key().into_iter();
        key.map(|(name, key)| (name.into(), key.expose_secret().into()))
            .collect()
    })
}

/// What flags may have said, as variables.
fn set(settings: &Settings) -> Vec<(OsString, OsString)> {
    let set = settings.as_environment().into_iter();
    set.map(|(name, value)| (OsString::from(name), OsString::from(value)))
        .collect()
}
