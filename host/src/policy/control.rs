//! What the calls of a process share: the policy in force, the places for foreground calls and the audit log.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::audit::{Event, Kind, Recorder};
use super::denial::Denial;
use super::places::{Place, Places};
use super::snapshot::Policy;

/// The operator's control over the calls of a process.
#[derive(Debug)]
pub struct Control {
    policy: watch::Sender<Arc<Policy>>,
    /// Why the settings that are there now are not in force.
    problem: Mutex<Option<String>>,
    places: Places,
    audit: Option<Recorder>,
    calls: AtomicU64,
}

impl Control {
    /// Begins with a policy. Without a recorder nothing is recorded.
    #[must_use]
    pub fn new(policy: Policy, audit: Option<Recorder>) -> Self {
        Self {
            policy: watch::Sender::new(Arc::new(policy)),
            problem: Mutex::default(),
            places: Places::default(),
            audit,
            calls: AtomicU64::new(0),
        }
    }

    /// Returns the policy in force.
    #[must_use]
    pub fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.borrow())
    }

    /// Returns what tells of every change of the policy.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<Arc<Policy>> {
        self.policy.subscribe()
    }

    /// Puts a policy in force, or notes why the settings that are there cannot be. Returns whether that is news.
    pub async fn apply(&self, policy: Result<Policy, String>) -> bool {
        let mut event = Event::new(Kind::PolicyChanged);
        match policy {
            Ok(policy) => {
                let was_broken = self.problem().take().is_some();
                let changed = self.policy.send_if_modified(|current| {
                    let changed = **current != policy;
                    if changed {
                        *current = Arc::new(policy);
                    }
                    changed
                });
                if !changed && !was_broken {
                    return false;
                }
                event.decision = Some("allowed");
            }
            Err(problem) => {
                {
                    let mut known = self.problem();
                    if known.as_ref() == Some(&problem) {
                        return false;
                    }
                    *known = Some(problem.clone());
                }
                event.decision = Some("denied");
                event.reason = Some("settings".to_owned());
            }
        }
        self.record(event).await;
        true
    }

    /// Returns why the settings that are there now are not in force, if so.
    #[must_use]
    pub fn settings_problem(&self) -> Option<String> {
        self.problem().clone()
    }

    /// Takes a place for a foreground call.
    ///
    /// # Errors
    /// Where none becomes free in a moment.
    pub async fn take_place(&self, limit: usize) -> Result<Place, Denial> {
        self.places.take(limit).await.ok_or(Denial::Busy { limit })
    }

    /// Returns the recorder, where there is an audit log.
    #[must_use]
    pub const fn audit(&self) -> Option<&Recorder> {
        self.audit.as_ref()
    }

    /// Records an event, where there is an audit log.
    pub async fn record(&self, event: Event) {
        if let Some(audit) = &self.audit {
            audit.record(event).await;
        }
    }

    /// Returns a number for a call of this process.
    #[must_use]
    pub fn number_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn problem(&self) -> MutexGuard<'_, Option<String>> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
