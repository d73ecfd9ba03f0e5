//! The rate limiter of requests. Its state is in the store, so it applies to all processes that share the store.

use std::time::Duration;

use tokio::time::Instant;

use crate::jobs::JobsError;
use crate::jobs::blocking::blocking;
use crate::jobs::clock::Millis;
use crate::jobs::model::JobId;
use crate::jobs::storage::Storage;
use crate::jobs::storage::error::StoreError;
use crate::jobs::storage::rows::{Marked, Rate, Slot};
use crate::upstream::REQUESTS;

/// Allows two requests per second, in any window. The additional 250 ms allow for different delays on the way: one
/// request may wait for a new connection and its handshake while the other uses an open one.
pub const DEFAULT_RATE: Rate = Rate {
    count: REQUESTS,
    window_ms: 1250,
};

/// The reason why a request may not be sent.
#[derive(Debug, thiserror::Error)]
pub enum LimiterError {
    /// The next slot is after the deadline. No slot was taken.
    #[error(
        "the next of the {} requests allowed in {} ms is free only in {} ms, after this call's deadline; nothing was sent. Try again when fewer calls are waiting",
        .rate.count, .rate.window_ms, .wait.as_millis()
    )]
    TooLate {
        /// The rate limit.
        rate: Rate,
        /// The time until the next slot.
        wait: Duration,
    },
    /// The store cannot be used.
    #[error("nothing was sent: {0}")]
    Store(StoreError),
    /// The job was cancelled.
    #[error("it was cancelled; nothing was sent")]
    Cancelled,
    /// The job has ended.
    #[error("the job has ended; nothing was sent")]
    Ended,
    /// This process is ending.
    #[error("the process is ending; nothing was sent")]
    Stopping,
}

/// Admits requests at a limited rate, in the order in which they ask.
#[derive(Clone, Debug)]
pub struct Limiter {
    storage: Storage,
    rate: Rate,
}

impl Limiter {
    /// Creates the limiter of a storage.
    #[must_use]
    pub const fn new(storage: Storage, rate: Rate) -> Self {
        Self { storage, rate }
    }

    /// Takes the next slot for a job and waits for it. No slot after the deadline is taken.
    ///
    /// # Errors
    /// If no slot is free before the deadline, or the store cannot be used.
    pub async fn wait(&self, id: &JobId, deadline: Instant) -> Result<(), LimiterError> {
        let (rows, id, rate) = (self.storage.rows.clone(), id.clone(), self.rate);
        let now = self.storage.clock.now();
        let left = deadline.saturating_duration_since(Instant::now());
        let latest = now.plus(i64::try_from(left.as_millis()).unwrap_or(i64::MAX));
        let slot = blocking(move || rows.slot(&id, rate, now, latest)).await;
        match slot.map_err(store_error)? {
            Slot::At(at) => {
                tokio::time::sleep(between(self.storage.clock.now(), at)).await;
                Ok(())
            }
            Slot::TooLate(at) => {
                let wait = between(now, at);
                Err(LimiterError::TooLate { rate, wait })
            }
        }
    }

    /// Marks the request of a job durably as sent, just before it is sent.
    ///
    /// # Errors
    /// If the job has ended or was cancelled, or the store cannot be used.
    pub async fn mark_sent(&self, id: &JobId) -> Result<(), LimiterError> {
        let (storage, id) = (self.storage.clone(), id.clone());
        let marked = blocking(move || storage.rows.mark_sent(&id, storage.clock.now())).await;
        match marked.map_err(store_error)? {
            Marked::Sent => Ok(()),
            Marked::Cancelled => Err(LimiterError::Cancelled),
            Marked::Ended => Err(LimiterError::Ended),
        }
    }
}

fn store_error(error: JobsError) -> LimiterError {
    match error {
        JobsError::Store(error) => LimiterError::Store(error),
        _ => LimiterError::Stopping,
    }
}

fn between(from: Millis, to: Millis) -> Duration {
    Duration::from_millis(u64::try_from(to.0 - from.0).unwrap_or(0))
}
