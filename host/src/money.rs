//! Amounts of money.

use std::fmt;

use serde::Serialize;

/// An amount in micro-dollars. Sums of integers are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Micros(pub i64);

/// Micro-dollars per dollar.
const MICROS_PER_USD: f64 = 1_000_000.0;
/// The most that one call can cost, in US dollars. The largest research, with 50 queries, costs about $4. A larger
/// amount is a fault or an attack on the budget.
const MAX_CALL_USD: f64 = 1_000.0;

impl Micros {
    /// Converts US dollars, rounded up to the next micro-dollar, so that costs are never underestimated.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn from_usd(usd: f64) -> Self {
        // A cost such as 0.043125000000000004 has rounding noise far below a micro-dollar.
        const NOISE: f64 = 1e-6;
        Self((usd * MICROS_PER_USD - NOISE).ceil().max(0.0) as i64)
    }

    /// Converts the cost that a reply states, in US dollars. Returns `None` for an unknown cost: not a number,
    /// infinite, negative, or more than $1,000. All amounts from the upstream are converted here.
    #[must_use]
    pub fn from_reply(usd: f64) -> Option<Self> {
        (0.0..=MAX_CALL_USD)
            .contains(&usd)
            .then(|| Self::from_usd(usd))
    }

    /// Returns the amount in US dollars.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn usd(self) -> f64 {
        self.0 as f64 / MICROS_PER_USD
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

    /// Returns the sum, saturating at the bounds.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the difference, at least zero.
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
