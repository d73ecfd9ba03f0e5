//! Records events from asynchronous code, and says what becomes of a call whose event cannot be written.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::coalesce::Coalesced;
use super::error::AuditError;
use super::event::{Event, Kind};
use super::log::AuditLog;
use crate::jobs::clock::Clock;

/// What becomes of a call whose event cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// It is denied: the operator asked for the log.
    Deny,
    /// It runs, and the failure is reported.
    Report,
}

/// Records events. A clone records to the same log.
#[derive(Clone, Debug)]
pub struct Recorder {
    log: Arc<AuditLog>,
    clock: Arc<dyn Clock>,
    on_failure: OnFailure,
    denials: Arc<Mutex<Coalesced>>,
    lost: Arc<AtomicU64>,
}

impl Recorder {
    /// Records to a log.
    #[must_use]
    pub fn new(log: AuditLog, clock: Arc<dyn Clock>, on_failure: OnFailure) -> Self {
        Self {
            log: Arc::new(log),
            clock,
            on_failure,
            denials: Arc::default(),
            lost: Arc::default(),
        }
    }

    /// Returns the log.
    #[must_use]
    pub fn log(&self) -> &AuditLog {
        &self.log
    }

    /// Returns how many events could not be written.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Records an event that a call depends on.
    ///
    /// # Errors
    /// Where it cannot be written and the call is to be denied for that.
    pub async fn require(&self, event: Event) -> Result<(), AuditError> {
        match self.append(event).await {
            Ok(()) => Ok(()),
            Err(error) => match self.on_failure {
                OnFailure::Deny => Err(error),
                OnFailure::Report => Ok(()),
            },
        }
    }

    /// Records an event. A failure is reported and counted.
    pub async fn record(&self, event: Event) {
        // It was reported where it happened.
        let _ = self.append(event).await;
    }

    async fn append(&self, event: Event) -> Result<(), AuditError> {
        // Almost always nobody else writes, and a thread for it would cost more than the line.
        let result = match self.log.try_append(&event) {
            Ok(Some(_)) => Ok(()),
            Ok(None) => {
                let log = Arc::clone(&self.log);
                let appended = tokio::task::spawn_blocking(move || log.append(&event)).await;
                match appended {
                    Ok(appended) => appended.map(drop),
                    Err(error) => Err(AuditError::Defect(error.to_string())),
                }
            }
            Err(error) => Err(error),
        };
        if let Err(error) = &result {
            self.failed(error);
        }
        result
    }

    /// Records an event from code that cannot wait, such as a destructor.
    pub fn record_later(&self, event: Event) {
        let this = self.clone();
        let append = move || {
            if let Err(error) = this.log.append(&event) {
                this.failed(&error);
            }
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(append)),
            Err(_) => append(),
        }
    }

    /// Records that a request was denied, as one event a minute for each reason.
    pub fn gate_denied(&self, transport: &'static str, reason: &'static str) {
        let count = {
            let mut denials = self.denials.lock().unwrap_or_else(PoisonError::into_inner);
            denials.take(reason, self.clock.now())
        };
        if let Some(count) = count {
            self.record_later(denied(Some(transport), reason, count));
        }
    }

    /// Records the denials that were counted for long enough; all that were counted where the server stops.
    pub async fn flush_denials(&self, all: bool) {
        let due = {
            let mut denials = self.denials.lock().unwrap_or_else(PoisonError::into_inner);
            denials.due(self.clock.now(), all)
        };
        for (reason, count) in due {
            self.record(denied(None, reason, count)).await;
        }
    }

    fn failed(&self, error: &AuditError) {
        // One message until it works again would need a state of its own; powers of two are few enough.
        let lost = self.lost.fetch_add(1, Ordering::Relaxed) + 1;
        if lost.is_power_of_two() {
            tracing::error!(%error, lost, "an audit event cannot be written");
        }
    }
}

fn denied(transport: Option<&'static str>, reason: &'static str, count: u64) -> Event {
    Event {
        transport,
        decision: Some("denied"),
        reason: Some(reason.to_owned()),
        count: Some(count),
        ..Event::new(Kind::GateDenied)
    }
}
