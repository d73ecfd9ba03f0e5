//! How long the guest itself ran: the time in which it was polled, and none in which it waited.

use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Counts the time a guest runs.
#[derive(Debug, Default)]
pub(super) struct Meter(Mutex<Spent>);

#[derive(Debug, Default)]
struct Spent {
    before: Duration,
    since: Option<Instant>,
}

impl Meter {
    /// The time run so far, that of now included.
    pub(super) fn spent(&self) -> Duration {
        let spent = self.lock();
        spent.before + spent.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Runs a future and counts the time in which it does.
    pub(super) async fn count<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        std::future::poll_fn(|context| {
            self.lock().since = Some(Instant::now());
            let polled = future.as_mut().poll(context);
            let mut spent = self.lock();
            if let Some(since) = spent.since.take() {
                spent.before += since.elapsed();
            }
            polled
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, Spent> {
        // Nothing panics while it is held; the figures would still be right.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
