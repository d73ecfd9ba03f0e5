//! Time as the jobs see it: injected, so that days, retention and the limiter can be tested without waiting.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use chrono::{DateTime, SecondsFormat, Utc};

/// Milliseconds since the Unix epoch, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub i64);

/// One day in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

impl Millis {
    /// The UTC day, counted from the epoch.
    #[must_use]
    pub const fn day(self) -> i64 {
        self.0.div_euclid(DAY_MS)
    }

    /// This moment as RFC 3339 in UTC, to the millisecond.
    #[must_use]
    pub fn rfc3339(self) -> String {
        DateTime::<Utc>::from_timestamp_millis(self.0)
            .unwrap_or(DateTime::<Utc>::UNIX_EPOCH)
            .to_rfc3339_opts(SecondsFormat::Millis, true)
    }

    /// This moment moved by some milliseconds.
    #[must_use]
    pub const fn plus(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }
}

/// A day counted from the epoch, as `YYYY-MM-DD`.
#[must_use]
pub fn day_name(day: i64) -> String {
    let at = Millis(day.saturating_mul(DAY_MS)).rfc3339();
    at.split('T').next().unwrap_or_default().to_owned()
}

/// Where the time comes from.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Now, by the wall clock, since it is shared with other processes.
    fn now(&self) -> Millis;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Millis {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// A clock that stands still until it is moved; for tests.
#[derive(Debug)]
pub struct SetClock(AtomicI64);

impl SetClock {
    /// A clock that shows `at`.
    #[must_use]
    pub const fn new(at: Millis) -> Self {
        Self(AtomicI64::new(at.0))
    }

    /// Moves the clock by some milliseconds.
    pub fn advance(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Millis {
        Millis(self.0.load(Ordering::SeqCst))
    }
}
