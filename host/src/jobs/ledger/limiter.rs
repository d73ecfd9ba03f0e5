//! The rate limiter of requests. Its state is in the store, so it applies to all processes that share the store.

use std::sync::atomic::{AtomicU64, Ordering};
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

/// The waits of this process, over all limiters.
static WAITS: Waits = Waits {
    count: AtomicU64::new(0),
    millis: AtomicU64::new(0),
    refused: AtomicU64::new(0),
};

struct Waits {
    count: AtomicU64,
    millis: AtomicU64,
    refused: AtomicU64,
}

/// How often and how long calls of this process waited for the limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitCounts {
    /// Calls that had to wait.
    pub count: u64,
    /// The sum of their waits.
    pub total: Duration,
    /// Calls that were refused because their wait would have been longer than their deadline.
    pub refused: u64,
}

/// Returns how often and how long calls of this process have waited so far.
#[must_use]
pub fn waits() -> WaitCounts {
    WaitCounts {
        count: WAITS.count.load(Ordering::Relaxed),
        total: Duration::from_millis(WAITS.millis.load(Ordering::Relaxed)),
        refused: WAITS.refused.load(Ordering::Relaxed),
    }
}

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
                let wait = between(self.storage.clock.now(), at);
                if !wait.is_zero() {
                    let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                    WAITS.count.fetch_add(1, Ordering::Relaxed);
                    WAITS.millis.fetch_add(millis, Ordering::Relaxed);
                }
                tokio::time::sleep(wait).await;
                Ok(())
            }
            Slot::TooLate(at) => {
                let wait = between(now, at);
                WAITS.refused.fetch_add(1, Ordering::Relaxed);
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
