//! A limiter with a store in memory, for calls that are not jobs.

use std::sync::Arc;

use glovebox::jobs::clock::WallClock;
use glovebox::jobs::ledger::limiter::{DEFAULT_RATE, Limiter};
use glovebox::jobs::{JobId, Micros, NewJob, Rate, Storage};
use glovebox::upstream::{NoSlot, SendLimiter, SlotFuture};
use tokio::time::Instant;

/// A limiter that stores a job for each request.
#[derive(Debug)]
pub struct StoreLimiter {
    storage: Storage,
    limiter: Limiter,
}

impl StoreLimiter {
    /// Allows `count` requests in any window of `window_ms` milliseconds.
    pub fn new(count: u32, window_ms: i64) -> Self {
        let storage = Storage::in_memory(Arc::new(WallClock)).unwrap();
        Self {
            limiter: Limiter::new(storage.clone(), Rate { count, window_ms }),
            storage,
        }
    }

    /// Returns a limiter that no test reaches.
    pub fn open() -> Self {
        Self::new(1000, 1)
    }

    fn job(&self) -> JobId {
        let job = new_job();
        self.storage
            .rows
            .insert(&job, None, self.storage.clock.now())
            .unwrap();
        job.id
    }
}

impl Default for StoreLimiter {
    fn default() -> Self {
        Self::new(DEFAULT_RATE.count, DEFAULT_RATE.window_ms)
    }
}

impl SendLimiter for StoreLimiter {
    fn acquire(&self, deadline: Instant) -> SlotFuture<'_> {
        Box::pin(async move {
            let slot = self.limiter.wait(&self.job(), deadline).await;
            slot.map_err(|error| NoSlot(error.to_string()))
        })
    }
}

fn new_job() -> NewJob {
    NewJob {
        id: JobId::new(),
        tool: "test".to_owned(),
        mode: "answer".to_owned(),
        query: "q".to_owned(),
        fingerprint: "f".to_owned(),
        dedupe: false,
        listed: false,
        payload: "{}".to_owned(),
        capture: None,
        reserve: Micros(0),
        simulated: false,
        approval: None,
    }
}
