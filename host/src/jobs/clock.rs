//! The clock of the jobs. It is injected, so that tests of days, retention and the limiter need not wait.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, SecondsFormat, Utc};

/// Milliseconds since the Unix epoch in UTC. Negative before 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub i64);

/// One day in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

impl Millis {
    /// Converts a time of the system clock.
    #[must_use]
    pub fn of(time: SystemTime) -> Self {
        let ms = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self(match time.duration_since(UNIX_EPOCH) {
            Ok(since) => ms(since),
            Err(before) => -ms(before.duration()),
        })
    }

    /// Returns the UTC day, counted from the epoch.
    #[must_use]
    pub const fn day(self) -> i64 {
        self.0.div_euclid(DAY_MS)
    }

    /// Formats this time as RFC 3339 in UTC, with milliseconds.
    #[must_use]
    pub fn rfc3339(self) -> String {
        DateTime::<Utc>::from_timestamp_millis(self.0)
            .unwrap_or(DateTime::<Utc>::UNIX_EPOCH)
            .to_rfc3339_opts(SecondsFormat::Millis, true)
    }

    /// Returns this time plus `ms` milliseconds, saturating at the bounds.
    #[must_use]
    pub const fn plus(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }
}

/// Formats a day, counted from the epoch, as `YYYY-MM-DD`.
#[must_use]
pub fn day_name(day: i64) -> String {
    let at = Millis(day.saturating_mul(DAY_MS)).rfc3339();
    at.split('T').next().unwrap_or_default().to_owned()
}

/// A source of the current time.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Returns the current wall-clock time. Other processes compare it with theirs.
    fn now(&self) -> Millis;
}

/// The system clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Millis {
        now()
    }
}

/// Returns the current time of the system clock. It is negative if the clock is set to a time before 1970.
#[must_use]
pub fn now() -> Millis {
    Millis::of(SystemTime::now())
}

/// A clock for tests that changes only by [`SetClock::advance`].
#[derive(Debug)]
pub struct SetClock(AtomicI64);

impl SetClock {
    /// Creates a clock that returns `at`.
    #[must_use]
    pub const fn new(at: Millis) -> Self {
        Self(AtomicI64::new(at.0))
    }

    /// Advances the clock by `ms` milliseconds.
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
