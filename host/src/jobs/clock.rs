//! Time as the jobs see it: injected, so that days, retention and the limiter can be tested without waiting.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, SecondsFormat, Utc};

/// Milliseconds since the Unix epoch, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub i64);

/// One day in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

impl Millis {
    /// Returns a moment of the system's clock.
    #[must_use]
    pub fn of(time: SystemTime) -> Self {
        let ms = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self(match time.duration_since(UNIX_EPOCH) {
            Ok(since) => ms(since),
            Err(before) => -ms(before.duration()),
        })
    }

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
        now()
    }
}

/// Returns now, by the machine's clock. A clock that was never set may be before 1970; times are then negative.
#[must_use]
pub fn now() -> Millis {
    Millis::of(SystemTime::now())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_before_1970_is_negative() {
        let hour = Duration::from_secs(3600);
        assert_eq!(Millis::of(UNIX_EPOCH + hour), Millis(3_600_000));
        let before = Millis::of(UNIX_EPOCH - hour);
        assert_eq!(before, Millis(-3_600_000));
        assert_eq!(before.rfc3339(), "1969-12-31T23:00:00.000Z");
        assert_eq!(day_name(before.day()), "1969-12-31");
    }
}
