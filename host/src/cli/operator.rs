//! The operator's control over a server, made from the settings and kept up to date while it runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::output;
use super::server_kind::ServerKind;
use crate::jobs::clock::{Clock, WallClock};
use crate::mcp::FAMILIES;
use crate::policy::audit::{AuditConfig, AuditDir, AuditLog, OnFailure, ROTATE_BYTES, Recorder};
use crate::policy::{Control, Policy, Situation};
use crate::settings::{PolicyFlags, PolicySettings, Settings};

/// How often the file of settings is looked at. A change has to reach the clients within 2 seconds.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Makes the control of a server.
///
/// # Errors
/// What is wrong with the settings or the audit log, in words for a person.
pub fn control(
    settings: &Settings,
    policy_settings: &PolicySettings,
    kind: &ServerKind,
) -> Result<Control, String> {
    let policy = policy(policy_settings, kind)?;
    let audit = audit(settings, policy_settings, kind)?;
    Ok(Control::new(policy, audit))
}

fn policy(settings: &PolicySettings, kind: &ServerKind) -> Result<Policy, String> {
    let rules = settings.rules(kind.places);
    Policy::new(&FAMILIES.facts(), &rules).map_err(|error| error.to_string())
}

/// Opens the audit log, where there is one.
fn audit(
    settings: &Settings,
    policy: &PolicySettings,
    kind: &ServerKind,
) -> Result<Option<Recorder>, String> {
    let on_failure = match policy.audit.value {
        Some(false) => return Ok(None),
        Some(true) => OnFailure::Deny,
        None if kind.is_audited => OnFailure::Report,
        None => return Ok(None),
    };
    let clock: Arc<dyn Clock> = Arc::new(WallClock);
    let log = AuditLog::open(AuditConfig {
        dir: AuditDir::of_state(&settings.state_dir.value),
        key_file: policy.audit_key_file.value.clone(),
        rotate_bytes: ROTATE_BYTES,
        clock: Arc::clone(&clock),
    });
    match log {
        Ok(log) => Ok(Some(Recorder::new(log, clock, on_failure))),
        Err(error) => Err(format!(
            "the audit log cannot be used: {error} (--no-audit runs without one)"
        )),
    }
}

/// Looks at the file of settings from time to time and puts in force what it says. A file that cannot be used changes
/// nothing, and that is said. Ends when the returned guard is dropped.
pub fn reload(
    settings: &Settings,
    flags: &PolicyFlags,
    kind: &ServerKind,
    control: Arc<Control>,
) -> DropGuard {
    let stop = CancellationToken::new();
    let reload = Reload {
        settings: settings.clone(),
        flags: flags.clone(),
        places: kind.places,
        control,
    };
    tokio::spawn(stop.clone().run_until_cancelled_owned(reload.run()));
    stop.drop_guard()
}

struct Reload {
    settings: Settings,
    flags: PolicyFlags,
    places: usize,
    control: Arc<Control>,
}

impl Reload {
    async fn run(self) {
        let file = self.settings.config_file.0.clone();
        // The settings were read a moment ago; a change since then is seen by the first look.
        let mut seen = None;
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            let now = Stamp::of(&file);
            if seen.as_ref() != Some(&now) {
                self.apply().await;
                seen = Some(now);
            }
            if let Some(audit) = self.control.audit() {
                audit.flush_denials(false).await;
            }
        }
    }

    async fn apply(&self) {
        let rules = self.settings.policy(&self.flags);
        let policy = rules
            .map_err(|error| error.to_string())
            .and_then(|settings| {
                let rules = settings.rules(self.places);
                Policy::new(&FAMILIES.facts(), &rules).map_err(|error| error.to_string())
            });
        let problem = policy.as_ref().err().cloned();
        if !self.control.apply(policy).await {
            return;
        }
        match problem {
            Some(problem) => output::message(&format_args!(
                "glovebox: {problem}; the settings about tools stay as they were"
            )),
            None => output::message(&format_args!(
                "glovebox: the settings about tools have changed; {} tools are listed",
                self.control.policy().listed().len()
            )),
        }
    }
}

/// What changes when a file does.
#[derive(Debug, PartialEq, Eq)]
struct Stamp(Option<(SystemTime, u64, u64)>);

impl Stamp {
    fn of(path: &Path) -> Self {
        let Ok(meta) = fs::metadata(path) else {
            return Self(None);
        };
        #[cfg(unix)]
        let file = std::os::unix::fs::MetadataExt::ino(&meta);
        #[cfg(not(unix))]
        let file = 0;
        let modified = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        Self(Some((modified, meta.len(), file)))
    }
}

/// Returns what the advice of a server depends on, as far as it does not change.
#[must_use]
pub fn situation(settings: &Settings, policy: &PolicySettings, kind: &ServerKind) -> Situation {
    let token = kind.token.as_ref();
    let mut readable = readable_by_others(policy.audit_key_file.value.as_ref());
    if let Some(token) = token.filter(|token| token.is_readable_by_others()) {
        readable.push(token.path().display().to_string());
    }
    Situation {
        reach: kind.reach,
        has_budget: settings.budget_per_day.value.is_some(),
        is_simulated: settings.simulate.value,
        token_length: token.and_then(|token| Some(token.read().ok()?.expose().len())),
        readable_keys: readable,
        environment: settings.advice.clone(),
        ..Situation::default()
    }
}

/// Returns what the advice of `glovebox doctor` depends on, which knows of no server.
#[must_use]
pub fn situation_of_doctor(settings: &Settings) -> Situation {
    let policy = settings.policy(&PolicyFlags::default()).ok();
    let key_file = policy.and_then(|policy| policy.audit_key_file.value);
    Situation {
        has_budget: settings.budget_per_day.value.is_some(),
        is_simulated: settings.simulate.value,
        readable_keys: readable_by_others(key_file.as_ref()),
        environment: settings.advice.clone(),
        ..Situation::default()
    }
}

fn readable_by_others(path: Option<&PathBuf>) -> Vec<String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let is_readable = |path: &&PathBuf| {
            fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0)
        };
        path.filter(is_readable)
            .map(|path| path.display().to_string())
            .into_iter()
            .collect()
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        Vec::new()
    }
}
