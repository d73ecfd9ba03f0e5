//! The float that is nearest to a number as JSON writes it.

use super::big::Big;
use alloc::vec::Vec;
use core::cmp::Ordering;

/// Digits that are looked at: two floats can have 767 in common with the number halfway between them.
/// Whether any digit after these is not 0 is all that can still matter.
const MAX_DIGITS: usize = 780;

/// Decimal exponents beyond these give infinity or 0, whatever the digits.
const EXPONENTS: core::ops::Range<i32> = -1200..400;

/// Digits of a whole number that a float surely holds.
const EXACT_DIGITS: usize = 15;

/// The highest power of ten that a float holds exactly.
const EXACT_POWER: u32 = 22;

/// Reads a JSON number; `None` where it is too large for a float.
pub(crate) fn read(text: &str) -> Option<f64> {
    let number = Decimal::read(text);
    let size = number.magnitude()?;
    Some(if number.negative { -size } else { size })
}

/// Digits, and the power of ten they are multiplied with.
#[derive(Default)]
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i32,
}

impl Decimal {
    fn read(text: &str) -> Self {
        let mut number = Self::default();
        let mut bytes = text.bytes();
        let mut fraction = false;
        let mut more = false;
        for byte in bytes.by_ref() {
            match byte {
                b'-' => number.negative = true,
                b'.' => fraction = true,
                b'0'..=b'9' => {
                    number.exponent -= i32::from(fraction);
                    if number.digits.len() == MAX_DIGITS {
                        number.exponent += 1;
                        more |= byte != b'0';
                    } else if byte != b'0' || !number.digits.is_empty() {
                        number.digits.push(byte - b'0');
                    }
                }
                _ => break,
            }
        }
        if more {
            number.digits.push(1);
            number.exponent -= 1;
        }
        number.exponent = number.exponent.saturating_add(exponent(bytes));
        number
    }

    /// The nearest float, without the sign.
    fn magnitude(&self) -> Option<f64> {
        let exponent = self.exponent.clamp(EXPONENTS.start, EXPONENTS.end);
        if self.digits.is_empty() {
            return Some(0.0);
        }
        if self.digits.len() <= EXACT_DIGITS && exponent.unsigned_abs() <= EXACT_POWER {
            let whole = self
                .digits
                .iter()
                .fold(0, |whole, &digit| whole * 10 + u64::from(digit));
            let power = (0..exponent.unsigned_abs()).fold(1.0, |power, _| power * 10.0);
            // Both are exact, so the one rounding is the right one.
            let whole = whole as f64;
            return Some(if exponent < 0 {
                whole / power
            } else {
                whole * power
            });
        }
        let mut above = Big::default();
        for &digit in &self.digits {
            above.multiply(10, digit.into());
        }
        let mut below = Big::new(1);
        if exponent < 0 {
            below.scale(exponent.unsigned_abs());
        } else {
            above.scale(exponent.unsigned_abs());
        }
        nearest(above, below)
    }
}

/// What follows the `e`.
fn exponent(bytes: impl Iterator<Item = u8>) -> i32 {
    let mut exponent = 0_i32;
    let mut negative = false;
    for byte in bytes {
        match byte {
            b'-' => negative = true,
            b'0'..=b'9' => {
                exponent = exponent
                    .saturating_mul(10)
                    .saturating_add((byte - b'0').into())
            }
            _ => {}
        }
    }
    if negative { -exponent } else { exponent }
}

/// Bits of the quotient: a float's 53, one to round by, and some to spare.
const QUOTIENT_BITS: i32 = 62;

/// The float nearest to a quotient.
fn nearest(mut above: Big, mut below: Big) -> Option<f64> {
    // Scaled by 2^shift, the quotient has 62 or 63 bits.
    let shift = QUOTIENT_BITS + below.bits() as i32 - above.bits() as i32;
    if shift > 0 {
        above.shift(shift.unsigned_abs());
    } else {
        below.shift(shift.unsigned_abs());
    }
    let mut quotient = 0_u64;
    below.shift(QUOTIENT_BITS.unsigned_abs() + 1);
    for _ in 0..=QUOTIENT_BITS + 1 {
        quotient <<= 1;
        if above.compare(&below) != Ordering::Less {
            above.subtract(&below);
            quotient |= 1;
        }
        above.shift(1);
    }
    let bits = 64 - quotient.leading_zeros() as i32;
    // The exponent of the highest bit, and the bits that a float has from there on.
    let exponent = bits - 1 - shift;
    let kept = (exponent + 1075).min(53);
    if kept < 0 {
        return Some(0.0);
    }
    if exponent > 1023 {
        return None;
    }
    // The rest of the division only says whether it is exactly half.
    let quotient = quotient | u64::from(!above.is_zero());
    let dropped = (bits - kept) as u32;
    let mut mantissa = quotient.checked_shr(dropped).unwrap_or(0);
    let rest = quotient - mantissa.checked_shl(dropped).unwrap_or(0);
    let half = 1_u64 << (dropped - 1);
    if rest > half || (rest == half && mantissa & 1 == 1) {
        mantissa += 1;
    }
    // A mantissa that was rounded up to one bit more carries into the exponent, as it should.
    let biased = if kept == 53 {
        (exponent + 1022) as u64
    } else {
        0
    };
    let value = f64::from_bits((biased << 52) + mantissa);
    value.is_finite().then_some(value)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str) {
        let expected: f64 = text.parse().unwrap();
        let expected = Some(expected).filter(|value| value.is_finite());
        assert_eq!(
            read(text).map(f64::to_bits),
            expected.map(f64::to_bits),
            "{text}"
        );
    }

    #[test]
    fn edges() {
        for text in [
            "0",
            "-0",
            "0.0",
            "1",
            "-1.5",
            "0.043125000000000004",
            "0.047875",
            "1e22",
            "1e23",
            "9007199254740993",
            "9007199254740992.5",
            "1.7976931348623157e308",
            "1.7976931348623159e308",
            "1e309",
            "4.9e-324",
            "2.4e-324",
            "2.5e-324",
            "2.2250738585072014e-308",
            "2.2250738585072011e-308",
            "1e-400",
            "1e99999999999",
            "1e-99999999999",
            "123456789012345678901234567890",
            "0.1e1",
            "100000000000000000000000e-20",
            "2.4703282292062327208e-324",
            "2.4703282292062328e-324",
        ] {
            check(text);
        }
        check(&format!("0.{}1", "0".repeat(400)));
        check(&format!("1{}", "0".repeat(308)));
        check(&format!("9007199254740992.5{}1", "0".repeat(2000)));
        check(&format!("9007199254740993.{}", "0".repeat(2000)));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_number(text in "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?") {
            check(&text);
        }

        /// Halfway between two floats, and a little to each side.
        #[test]
        fn halfway(bits in 0_u64..0x7FEF_FFFF_FFFF_FFFF) {
            let (low, high) = (f64::from_bits(bits), f64::from_bits(bits + 1));
            if high - low >= 4.0 && high < 1e300 {
                let middle = format!("{:.0}", low + (high - low) / 2.0);
                check(&middle);
                check(&format!("{middle}.0001"));
            }
            check(&format!("{low:e}"));
        }
    }
}
