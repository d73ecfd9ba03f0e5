//! One limiter for all processes of a user: the store keeps the clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::jobs::clock::{Clock, Millis};
use crate::jobs::{JobId, JobStore, Rate, Slot, StoreError};

/// Two requests in a sliding second are allowed. The quarter of a second more covers that two requests do not
/// travel equally long: one may wait for a connection and its handshake, the other find one open.
pub const DEFAULT_RATE: Rate = Rate {
    count: 2,
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

/// Why there is no slot.
#[derive(Debug, thiserror::Error)]
pub enum SlotError {
    /// The next is after the deadline; none was taken.
    #[error(
        "the next of the {} requests allowed in {} ms is free only in {} ms, after this call's deadline; nothing was sent. Try again when fewer calls are waiting",
        .rate.count, .rate.window_ms, .wait.as_millis()
    )]
    TooLate {
        /// How often requests may be sent.
        rate: Rate,
        /// How long it would be.
        wait: Duration,
    },
    /// The store that keeps the clock cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// This process is ending.
    #[error("the process is ending; nothing was sent")]
    Ending,
}

/// Gives slots in the order of asking.
#[derive(Clone, Debug)]
pub struct SharedLimiter {
    store: Arc<dyn JobStore>,
    clock: Arc<dyn Clock>,
    rate: Rate,
}

impl SharedLimiter {
    /// A limiter on a store.
    #[must_use]
    pub fn new(store: Arc<dyn JobStore>, clock: Arc<dyn Clock>, rate: Rate) -> Self {
        Self { store, clock, rate }
    }

    /// Waits for the next slot for a job, unless it is after the deadline: then none is taken.
    ///
    /// # Errors
    /// When there is none in time, or the store cannot be used.
    pub async fn wait(&self, id: &JobId, deadline: Instant) -> Result<(), SlotError> {
        let (store, id, rate) = (Arc::clone(&self.store), id.clone(), self.rate);
        let now = self.clock.now();
        let left = deadline.saturating_duration_since(Instant::now());
        let latest = now.plus(i64::try_from(left.as_millis()).unwrap_or(i64::MAX));
        let slot = tokio::task::spawn_blocking(move || store.slot(&id, rate, now, latest))
            .await
            .map_err(|_| SlotError::Ending)??;
        match slot {
            Slot::At(at) => {
                let wait = between(self.clock.now(), at);
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
                Err(SlotError::TooLate { rate, wait })
            }
        }
    }
}

fn between(from: Millis, to: Millis) -> Duration {
    Duration::from_millis(u64::try_from(to.0 - from.0).unwrap_or(0))
}
