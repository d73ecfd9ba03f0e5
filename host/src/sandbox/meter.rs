//! How long an asynchronous call ran: the time in which it was polled, and none in which it waited.

use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::ticker::Ticker;

/// Counts the time that a call runs.
#[derive(Debug, Default)]
pub(super) struct Meter(Mutex<Spent>);

#[derive(Debug, Default)]
struct Spent {
    before: Duration,
    since: Option<Instant>,
}

impl Meter {
    /// The time that the call ran so far.
    pub(super) fn spent(&self) -> Duration {
        let spent = self.lock();
        spent.before + spent.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Runs a call from the start and counts the time in which it runs. The epoch moves only then.
    pub(super) async fn count<F: Future>(&self, ticker: &Ticker, call: F) -> F::Output {
        *self.lock() = Spent::default();
        let mut call = pin!(call);
        std::future::poll_fn(|context| {
            let _running = ticker.running();
            self.lock().since = Some(Instant::now());
            let polled = call.as_mut().poll(context);
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
