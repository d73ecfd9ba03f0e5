//! The limiter with many concurrent callers.

use std::sync::Arc;
use std::time::Duration;

use glovebox::upstream::SendLimiter as _;
use tokio::time::Instant;

use crate::support::limiter::StoreLimiter;

/// A short window, so that 25 windows take one second.
const WINDOW: Duration = Duration::from_millis(40);

#[tokio::test]
async fn fifty_callers_are_admitted_two_per_window() {
    let limiter = Arc::new(StoreLimiter::new(2, 40));
    let begun = Instant::now();
    let deadline = begun + Duration::from_secs(60);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let limiter = limiter.clone();
        tasks.spawn(async move { limiter.acquire(deadline).await.unwrap() });
    }
    tasks.join_all().await;
    // 25 pairs with a window between them. The store counts whole milliseconds, so the first slot may begin one before
    // the start.
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
