//! Amounts of money.

use std::fmt;

use serde::Serialize;

/// Money in whole micro-dollars, so that sums are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Micros(pub i64);

/// Micro-dollars in a dollar.
const MICROS_A_DOLLAR: f64 = 1_000_000.0;
/// The most that one call can cost, in US dollars. A research of 50 queries, the largest there is, costs about $4; a
/// figure above this is a fault or an attack on the budget.
const MOST_A_CALL: f64 = 1_000.0;

impl Micros {
    /// Dollars, rounded up to the next micro-dollar: money is never counted short.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn from_usd(usd: f64) -> Self {
        // A cost such as 0.043125000000000004 carries binary noise far below a micro-dollar.
        const NOISE: f64 = 1e-6;
        Self((usd * MICROS_A_DOLLAR - NOISE).ceil().max(0.0) as i64)
    }

    /// Returns the cost of a call as its reply states it, in US dollars. None, which means unknown, where that is no
    /// amount that a call can cost: not a number, infinite, negative, or above $1,000. Every amount from upstream comes in
    /// here.
    #[must_use]
    pub fn from_reply(usd: f64) -> Option<Self> {
        (0.0..=MOST_A_CALL)
            .contains(&usd)
            .then(|| Self::from_usd(usd))
    }

    /// As dollars.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn usd(self) -> f64 {
        self.0 as f64 / MICROS_A_DOLLAR
    }

    /// Returns the amount in dollars and cents, for totals. What is under a cent is shown as it is.
    #[must_use]
    pub fn to_cents(self) -> String {
        /// A cent.
        const CENT: i64 = 10_000;
        if self.0 > 0 && self.0 < CENT {
            self.to_string()
        } else {
            format!("${:.2}", self.usd())
        }
    }

    /// The sum; saturates.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, never below zero.
    #[must_use]
    pub fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0).max(0))
    }
}

impl fmt::Display for Micros {
    /// Dollars with what is significant: cents from a dollar on, below that up to four decimals and at least two, as in
    /// `$1.60`, `$0.0479` and `$0.06`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// A dollar.
        const DOLLAR: i64 = 1_000_000;
        if self.0 >= DOLLAR {
            return write!(f, "${:.2}", self.usd());
        }
        let text = format!("{:.4}", self.usd());
        let text = text.strip_suffix('0').unwrap_or(&text);
        write!(f, "${}", text.strip_suffix('0').unwrap_or(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_exact_and_never_short() {
        assert_eq!(Micros::from_usd(0.047_875), Micros(47_875));
        assert_eq!(Micros::from_usd(0.043_125_000_000_000_004), Micros(43_125));
        assert_eq!(Micros::from_usd(0.000_000_4), Micros(1));
        assert_eq!(Micros::from_usd(-1.0), Micros(0));
        assert_eq!(Micros(47_875).to_string(), "$0.0479");
        assert_eq!(Micros(60_000).to_string(), "$0.06");
        assert_eq!(Micros(1_600_000).to_string(), "$1.60");
        assert_eq!(Micros(0).to_string(), "$0.00");
        assert_eq!(Micros(1_234_567_890).to_string(), "$1234.57");
    }

    #[test]
    fn a_cost_that_no_call_can_have_is_unknown() {
        for usd in [
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            1e300,
            -1e300,
            -1e-9,
            1_000.000_001,
            f64::MAX,
        ] {
            assert_eq!(Micros::from_reply(usd), None, "{usd}");
        }
        for (usd, micros) in [
            (0.0, 0),
            (-0.0, 0),
            (1e-9, 1),
            (0.05, 50_000),
            (1_000.0, 1_000_000_000),
        ] {
            assert_eq!(Micros::from_reply(usd), Some(Micros(micros)), "{usd}");
        }
    }
}
