//! The limiter over many callers at once.

use std::sync::Arc;
use std::time::Duration;

use glovebox::upstream::SendLimiter as _;
use tokio::time::Instant;

use crate::support::limiter::StoreLimiter;

/// Short, so that 25 windows take a second.
const WINDOW: Duration = Duration::from_millis(40);

#[tokio::test]
async fn fifty_callers_take_a_window_for_each_pair() {
    let limiter = Arc::new(StoreLimiter::new(2, 40));
    let begun = Instant::now();
    let deadline = begun + Duration::from_secs(60);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let limiter = limiter.clone();
        tasks.spawn(async move { limiter.acquire(deadline).await.unwrap() });
    }
    tasks.join_all().await;
    // 25 pairs, a window between each and the next. The store's clock counts whole milliseconds, so the first slot may be
    // one before the start.
    assert!(begun.elapsed() >= WINDOW * 24 - Duration::from_millis(1));
}

#[tokio::test]
async fn a_deadline_ends_the_wait() {
    let limiter = StoreLimiter::new(1, 60_000);
    let deadline = Instant::now() + Duration::from_millis(20);
    limiter.acquire(deadline).await.unwrap();
    let refused = limiter.acquire(deadline).await.unwrap_err();
    assert!(refused.0.contains("nothing was sent"), "{refused}");
}
