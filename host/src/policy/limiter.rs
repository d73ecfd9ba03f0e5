//! One limiter for all processes of a user: the store keeps the clock.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::jobs::clock::{Clock, Millis};
use crate::jobs::{JobStore, Rate, Slot};
use crate::upstream::NoSlot;

/// Two requests in a sliding second are allowed. The quarter of a second more covers that two requests do not
/// travel equally long: one may wait for a connection and its handshake, the other find one open.
pub const DEFAULT_RATE: Rate = Rate {
    count: 2,
    window_ms: 1250,
};

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

    /// Waits for the next slot, unless it is after the deadline: then none is taken.
    ///
    /// # Errors
    /// When there is none in time, or the store cannot be used.
    pub async fn wait(&self, deadline: Instant) -> Result<(), NoSlot> {
        let (store, rate) = (Arc::clone(&self.store), self.rate);
        let now = self.clock.now();
        let left = deadline.saturating_duration_since(Instant::now());
        let latest = now.plus(i64::try_from(left.as_millis()).unwrap_or(i64::MAX));
        let slot = tokio::task::spawn_blocking(move || store.slot(rate, now, latest))
            .await
            .map_err(|error| NoSlot(error.to_string()))?
            .map_err(|error| NoSlot(error.to_string()))?;
        match slot {
            Slot::At(at) => {
                tokio::time::sleep(between(self.clock.now(), at)).await;
                Ok(())
            }
            Slot::TooLate(at) => Err(self.too_late(now, at)),
        }
    }

    fn too_late(&self, now: Millis, at: Millis) -> NoSlot {
        let rate = self.rate;
        NoSlot(format!(
            "the next of the {} requests allowed in {} ms is free only in {} ms, after this call's deadline; nothing was sent. Try again when fewer calls are waiting",
            rate.count,
            rate.window_ms,
            between(now, at).as_millis()
        ))
    }
}

fn between(from: Millis, to: Millis) -> Duration {
    Duration::from_millis(u64::try_from(to.0 - from.0).unwrap_or(0))
}
