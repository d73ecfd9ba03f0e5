//! At most so many requests a second.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until, timeout_at};

/// The upstream's limit for this API, in a second.
pub const REQUESTS: u32 = 2;
/// The upstream counts over a sliding second. The quarter more covers that two requests do not travel equally
/// long: one may wait for a connection and its handshake, the other find one open.
pub const WINDOW: Duration = Duration::from_millis(1250);

/// The deadline would pass before a slot is free.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoSlot(
    /// One sentence.
    pub String,
);

/// A wait for a slot.
pub type SlotFuture<'a> = Pin<Box<dyn Future<Output = Result<(), NoSlot>> + Send + 'a>>;

/// Gives leave to send one request. The request is written at once after `acquire` returned `Ok`, so an
/// implementation may also note there that the call was sent.
pub trait SendLimiter: Send + Sync {
    /// Waits for a slot, first come first served, no longer than to the deadline.
    fn acquire(&self, deadline: Instant) -> SlotFuture<'_>;
}

/// A limiter for one process: at most `requests` in any sliding `window`.
#[derive(Debug)]
pub struct SlidingWindow {
    requests: usize,
    window: Duration,
    /// When the last requests were sent. The lock is fair and is held while waiting: that is the queue.
    sent: Mutex<VecDeque<Instant>>,
}

impl Default for SlidingWindow {
    fn default() -> Self {
        Self::new(REQUESTS as usize, WINDOW)
    }
}

impl SlidingWindow {
    /// At most `requests` (at least one) in any `window`.
    #[must_use]
    pub fn new(requests: usize, window: Duration) -> Self {
        Self {
            requests: requests.max(1),
            window,
            sent: Mutex::new(VecDeque::new()),
        }
    }

    async fn wait(&self, deadline: Instant) -> Result<(), NoSlot> {
        let Ok(mut sent) = timeout_at(deadline, self.sent.lock()).await else {
            return Err(too_late());
        };
        while sent.len() >= self.requests {
            let Some(free) = sent.front().map(|first| *first + self.window) else {
                break;
            };
            if free > deadline {
                return Err(too_late());
            }
            sleep_until(free).await;
            sent.pop_front();
        }
        sent.push_back(Instant::now());
        Ok(())
    }
}

impl SendLimiter for SlidingWindow {
    fn acquire(&self, deadline: Instant) -> SlotFuture<'_> {
        Box::pin(self.wait(deadline))
    }
}

fn too_late() -> NoSlot {
    NoSlot(
        "too many calls are waiting for the limit of requests a second; nothing was sent, try again later".to_owned(),
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn fifty_waiters_in_order_and_never_more_than_two_a_window() {
        let window = Duration::from_millis(40);
        let limiter = Arc::new(SlidingWindow::new(2, window));
        let deadline = Instant::now() + Duration::from_secs(60);
        let log = Arc::new(std::sync::Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for number in 0..50 {
            let (limiter, log) = (limiter.clone(), log.clone());
            tasks.push(tokio::spawn(async move {
                limiter.acquire(deadline).await.unwrap();
                log.lock().unwrap().push((number, Instant::now()));
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        let log = std::mem::take(&mut *log.lock().unwrap());
        let order: Vec<i32> = log.iter().map(|entry| entry.0).collect();
        assert_eq!(order, (0..50).collect::<Vec<_>>());
        assert_eq!(limiter.sent.lock().await.len(), 2);
        // 25 pairs, a window between each and the next.
        assert!(log[49].1.duration_since(log[0].1) >= window * 24);
    }

    #[tokio::test]
    async fn a_deadline_ends_the_wait() {
        let limiter = SlidingWindow::new(1, Duration::from_secs(60));
        let deadline = Instant::now() + Duration::from_millis(20);
        limiter.acquire(deadline).await.unwrap();
        assert!(limiter.acquire(deadline).await.is_err());
    }
}
