//! The settings: flag, then environment, then `glovebox.toml`, then default; each value knows where it came from.
//!
//! Adding one: an entry in [`layers::NAMES`], a field in [`Flags`] where it has a flag, and a field in
//! [`Settings`] with its check.

mod check;
mod error;
mod flags;
mod keys;
mod layers;
mod policy;

use std::path::{Path, PathBuf};
use std::time::Duration;

use etcetera::BaseStrategy;
use secrecy::SecretString;

use crate::upstream::{ApiKey, KeyError, Origin, Proxy, REQUESTS, Timeouts, UpstreamConfig};

pub use check::{duration_text, parse_duration, parse_usd};
pub use error::SettingsError;
pub use flags::Flags;
pub use keys::{KeyReport, KeySources};
pub use layers::{Environment, NAMES, Origin as ValueOrigin, Setting};
pub use policy::{PolicyFlags, PolicySettings};

use layers::Layers;

/// The file in the config folder.
pub const CONFIG_FILE: &str = "glovebox.toml";
/// The folder's name below the system's config and state folders.
const APP: &str = "glovebox";
/// Results are kept for a day: the upstream's terms allow transient storage only.
const KEEP: Duration = Duration::from_secs(24 * 3600);
/// The simulator's pace where it runs for one command: a few seconds, with progress to be seen.
pub const COMMAND_PACE: f64 = 0.1;

/// All settings, checked.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where jobs, captures and the ledger live.
    pub state_dir: Setting<PathBuf>,
    /// Where calls go.
    pub upstream: Setting<Origin>,
    /// Another component instead of the embedded one.
    pub component: Setting<Option<PathBuf>>,
    /// How long results and captures are kept after the end of their job.
    pub keep: Setting<Duration>,
    /// Whether raw streams are captured.
    pub capture: Setting<bool>,
    /// The most that a UTC day may cost, in millionths of a US dollar.
    pub budget_per_day: Setting<Option<u64>>,
    /// The cost above which a person is asked before a call, in millionths of a US dollar.
    pub confirm_over: Setting<Option<u64>>,
    /// The longest that an answer may take.
    pub timeout_answer: Setting<Duration>,
    /// The longest that a research may take.
    pub timeout_research: Setting<Duration>,
    /// The longest silence of the upstream; where absent, by the kind of call.
    pub timeout_idle: Setting<Option<Duration>>,
    /// How many requests may leave in a second, over all processes of a user.
    pub requests_per_second: Setting<u32>,
    /// Whether the simulator takes the upstream's place.
    pub simulate: Setting<bool>,
    /// The simulator's pace: 1 as measured, 0 at once.
    pub pace: Setting<Option<f64>>,
    /// The config file, and whether it is there.
    pub config_file: (PathBuf, bool),
    /// What is odd and does no harm.
    pub advice: Vec<String>,
    /// The proxy that calls go through.
    pub proxy: Option<Proxy>,
    keys: KeySources,
    given: Vec<(&'static str, String)>,
    flags: Flags,
}

impl Settings {
    /// Reads all layers.
    ///
    /// # Errors
    /// The first value that is wrong.
    pub fn load(flags: &Flags) -> Result<Self, SettingsError> {
        Self::load_from(flags, &Environment::of_process())
    }

    /// Reads all layers from an environment that is given.
    ///
    /// # Errors
    /// The first value that is wrong.
    pub fn load_from(flags: &Flags, environment: &Environment) -> Result<Self, SettingsError> {
        environment.refuse_unreadable()?;
        let config_file = config_dir(environment)?.join(CONFIG_FILE);
        let layers = Layers::read(flags, environment, &config_file)?;
        let timeouts = Timeouts::default();
        let upstream = layers.required("upstream", default_origin, check::origin)?;
        let simulate = layers.required("simulate", || Ok(false), check::switch)?;
        let proxy = if simulate.value || upstream.value.is_loopback() {
            None
        } else {
            Proxy::read(|name| environment.get(name))
                .map_err(|error| SettingsError(error.to_string()))?
        };
        Ok(Self {
            proxy,
            state_dir: layers.required(
                "state_dir",
                || default_state_dir(environment),
                check::folder,
            )?,
            upstream,
            component: layers.optional("component", check::file)?,
            keep: layers.required("keep", || Ok(KEEP), check::keep)?,
            capture: layers.required("capture", || Ok(true), check::switch)?,
            budget_per_day: layers.optional("budget_usd_per_day", check::usd)?,
            confirm_over: layers.optional("confirm_over_usd", check::usd)?,
            timeout_answer: layers.required(
                "timeout_answer",
                || Ok(timeouts.answer),
                check::wait,
            )?,
            timeout_research: layers.required(
                "timeout_research",
                || Ok(timeouts.research),
                check::wait,
            )?,
            timeout_idle: layers.optional("timeout_idle", check::wait)?,
            requests_per_second: layers.required(
                "requests_per_second",
                || Ok(REQUESTS),
                check::requests,
            )?,
            simulate,
            pace: layers.optional("pace", check::pace)?,
            advice: layers.advice(environment),
            config_file: (config_file.clone(), config_file.is_file()),
            keys: KeySources::of(environment),
            given: layers.given()?,
            flags: flags.clone(),
        })
    }

    /// Reads the settings about tools, as they are now: the file may have changed.
    ///
    /// # Errors
    /// The first value that is wrong.
    pub fn policy(&self, flags: &PolicyFlags) -> Result<PolicySettings, SettingsError> {
        let environment = Environment::of_process();
        PolicySettings::load(&self.flags, flags, &environment, &self.config_file.0)
    }

    /// The key, read now.
    ///
    /// # Errors
    /// Why there is none; an error only where a call is to be sent.
    pub fn key(&self) -> Result<ApiKey, KeyError> {
        self.keys.read().key
    }

    /// The key with its origin and what is odd about it, for reports.
    #[must_use]
    pub fn key_report(&self) -> KeyReport {
        self.keys.read()
    }

    /// The key as a variable for another process, where this one reads it from a pipe, which gives it only once.
    #[must_use]
    pub fn piped_key(&self) -> Option<(&'static str, SecretString)> {
        self.keys.piped()
    }

    /// What the upstream client is made from. With `--simulate`, the caller replaces it by the simulator's.
    #[must_use]
    pub fn upstream_config(&self) -> UpstreamConfig {
        UpstreamConfig {
            origin: self.upstream.value.clone(),
            key: self.key(),
            proxy: self.proxy.clone(),
        }
    }

    /// The time-outs of calls.
    #[must_use]
    pub fn timeouts(&self) -> Timeouts {
        Timeouts {
            answer: self.timeout_answer.value,
            research: self.timeout_research.value,
            idle: self.timeout_idle.value,
        }
    }

    /// What another process of this program must find in its environment to come to the same settings.
    #[must_use]
    pub fn as_environment(&self) -> Vec<(&'static str, String)> {
        let absolute = |variable: &str, text: &String| match (variable, &self.component.value) {
            ("GLOVEBOX_STATE_DIR", _) => self.state_dir.value.to_string_lossy().into_owned(),
            ("GLOVEBOX_COMPONENT", Some(path)) => path.to_string_lossy().into_owned(),
            _ => text.clone(),
        };
        let given = self.given.iter();
        given
            .map(|(variable, text)| (*variable, absolute(variable, text)))
            .collect()
    }

    /// Every setting for a person: name, value, origin.
    #[must_use]
    pub fn table(&self) -> Vec<(&'static str, String, String)> {
        let none = || "none".to_owned();
        vec![
            row("state_dir", &self.state_dir, |path| {
                path.display().to_string()
            }),
            row("upstream", &self.upstream, ToString::to_string),
            row("component", &self.component, |path| {
                path.as_ref().map_or_else(
                    || "the embedded one".to_owned(),
                    |path| path.display().to_string(),
                )
            }),
            row("keep", &self.keep, |keep| duration_text(*keep)),
            row("capture", &self.capture, ToString::to_string),
            row("budget_usd_per_day", &self.budget_per_day, |budget| {
                budget.map_or_else(none, check::usd_text)
            }),
            row("confirm_over_usd", &self.confirm_over, |limit| {
                limit.map_or_else(none, check::usd_text)
            }),
            row("timeout_answer", &self.timeout_answer, |wait| {
                duration_text(*wait)
            }),
            row("timeout_research", &self.timeout_research, |wait| {
                duration_text(*wait)
            }),
            row("timeout_idle", &self.timeout_idle, |wait| {
                wait.map_or_else(
                    || "30s for answers, 3m for research".to_owned(),
                    duration_text,
                )
            }),
            row(
                "requests_per_second",
                &self.requests_per_second,
                ToString::to_string,
            ),
            row("simulate", &self.simulate, ToString::to_string),
            row("pace", &self.pace, |pace| {
                pace.map_or_else(
                    || format!("1, and {COMMAND_PACE} with --simulate"),
                    |pace| pace.to_string(),
                )
            }),
        ]
    }
}

fn row<T>(
    name: &'static str,
    setting: &Setting<T>,
    text: impl Fn(&T) -> String,
) -> (&'static str, String, String) {
    (name, text(&setting.value), setting.origin.to_string())
}

fn default_origin() -> Result<Origin, SettingsError> {
    Origin::parse(crate::upstream::DEFAULT_ORIGIN).map_err(|error| SettingsError(error.to_string()))
}

fn config_dir(environment: &Environment) -> Result<PathBuf, SettingsError> {
    match environment.get("XDG_CONFIG_HOME") {
        Some(folder) if Path::new(folder).is_absolute() => Ok(Path::new(folder).join(APP)),
        _ => Ok(folders()?.config_dir().join(APP)),
    }
}

/// Returns the state folder where none is set. Jobs keep paths in it as text, so it has to be text.
fn default_state_dir(environment: &Environment) -> Result<PathBuf, SettingsError> {
    let folder = state_dir(environment)?;
    if folder.to_str().is_some() {
        return Ok(folder);
    }
    Err(SettingsError(format!(
        "the path of the state folder, {}, is not UTF-8 text; name another folder in GLOVEBOX_STATE_DIR",
        folder.display()
    )))
}

fn state_dir(environment: &Environment) -> Result<PathBuf, SettingsError> {
    match environment.get("XDG_STATE_HOME") {
        Some(folder) if Path::new(folder).is_absolute() => Ok(Path::new(folder).join(APP)),
        _ => {
            let folders = folders()?;
            Ok(folders
                .state_dir()
                .unwrap_or_else(|| folders.data_dir())
                .join(APP))
        }
    }
}

fn folders() -> Result<impl BaseStrategy, SettingsError> {
    etcetera::choose_base_strategy().map_err(|_| {
        SettingsError("there is no home folder to keep state in: set HOME, or GLOVEBOX_STATE_DIR and XDG_CONFIG_HOME".to_owned())
    })
}

#[cfg(test)]
mod tests;
