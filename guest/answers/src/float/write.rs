//! A float as the shortest text that reads back as the same float, and of these the nearest to it.

use super::big::Big;
use alloc::{string::String, vec::Vec};
use core::cmp::Ordering;

/// Bits of a float's fraction.
const FRACTION: u32 = 52;

/// Where the point stands, in digits from the first, for a number to be written without an exponent.
const PLAIN: core::ops::RangeInclusive<i32> = -4..=17;

/// Appends a finite float as JSON has it, always with a point or an exponent.
pub(crate) fn write(value: f64, out: &mut String) {
    if value.is_sign_negative() {
        out.push('-');
    }
    if value == 0.0 {
        out.push_str("0.0");
        return;
    }
    let (digits, point) = shortest(value);
    let mut digits = digits
        .iter()
        .map(|&digit| char::from(b'0' + digit))
        .peekable();
    if PLAIN.contains(&point) {
        if point <= 0 {
            out.push_str("0.");
        }
        for _ in point..0 {
            out.push('0');
        }
        for _ in 0..point {
            out.push(digits.next().unwrap_or('0'));
        }
        if point > 0 {
            out.push('.');
        }
        if digits.peek().is_none() {
            out.push('0');
        }
        out.extend(digits);
        return;
    }
    out.extend(digits.next());
    if digits.peek().is_some() {
        out.push('.');
    }
    out.extend(digits);
    out.push('e');
    let exponent = point - 1;
    if exponent < 0 {
        out.push('-');
    }
    crate::text::push_number(exponent.unsigned_abs().into(), out);
}

/// The digits, and where the point stands: the value is 0.DIGITS times ten to that.
///
/// Steele and White's algorithm: the digits of `rest / one` are produced until what is left is within the
/// distance to the next float below or above.
fn shortest(value: f64) -> (Vec<u8>, i32) {
    let bits = value.to_bits() & (u64::MAX >> 1);
    let biased = (bits >> FRACTION) as i32;
    let fraction = bits & ((1 << FRACTION) - 1);
    let mantissa = if biased == 0 {
        fraction
    } else {
        fraction | 1 << FRACTION
    };
    let exponent = biased.max(1) - 1075;
    // At a power of two the next float below is only half as far away as the one above.
    let uneven = u32::from(fraction == 0 && biased > 1);
    let mut rest = Big::new(mantissa);
    let mut one = Big::new(1);
    let (mut below, mut above) = (Big::new(1), Big::new(1));
    rest.shift(1 + uneven);
    one.shift(1 + uneven);
    above.shift(uneven);
    if exponent > 0 {
        for big in [&mut rest, &mut below, &mut above] {
            big.shift(exponent.unsigned_abs());
        }
    } else {
        one.shift(exponent.unsigned_abs());
    }
    // An even mantissa is what a number exactly halfway is rounded to.
    let even = mantissa % 2 == 0;
    let reaches =
        |order: Ordering| order == Ordering::Greater || (even && order == Ordering::Equal);
    let mut point = 0;
    while reaches(rest.plus(&above).compare(&one)) {
        one.scale(1);
        point += 1;
    }
    let mut digits = Vec::new();
    loop {
        for big in [&mut rest, &mut below, &mut above] {
            big.scale(1);
        }
        let digit = rest.divide(&one);
        let low = reaches(below.compare(&rest));
        let high = reaches(rest.plus(&above).compare(&one));
        if digits.is_empty() && digit == 0 && !low && !high {
            point -= 1;
            continue;
        }
        if !low && !high {
            digits.push(digit);
            continue;
        }
        let up = high && (!low || rest.plus(&rest).compare(&one) != Ordering::Less);
        digits.push(digit + u8::from(up));
        return (digits, point);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(value: f64) {
        let mut text = String::new();
        write(value, &mut text);
        let back: f64 = text.parse().unwrap();
        assert_eq!(back.to_bits(), value.to_bits(), "{text}");
        assert_eq!(
            serde_json::from_str::<f64>(&text).unwrap().to_bits(),
            value.to_bits(),
            "{text}"
        );
        let digits = |text: &str| {
            let mantissa = text.split('e').next().unwrap().replace(['-', '.'], "");
            mantissa.trim_matches('0').to_owned()
        };
        assert_eq!(digits(&text), digits(&format!("{value:e}")), "{text}");
        assert!(text.contains(['.', 'e']));
    }

    #[test]
    fn forms() {
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-24.5, "-24.5"),
            (0.043125000000000004, "0.043125000000000004"),
            (0.00075, "0.00075"),
            (0.00001, "0.00001"),
            (1e-6, "1e-6"),
            (1.5e-7, "1.5e-7"),
            (1e16, "10000000000000000.0"),
            (1e17, "1e17"),
            (1.7976931348623157e308, "1.7976931348623157e308"),
            (5e-324, "5e-324"),
        ] {
            let mut out = String::new();
            write(value, &mut out);
            assert_eq!(out, text);
            check(value);
        }
    }

    #[test]
    fn powers_of_two_and_ten() {
        for exponent in -1074..1024 {
            check(2_f64.powi(exponent));
        }
        for exponent in -323..308 {
            check(format!("1e{exponent}").parse().unwrap());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_float(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            if value.is_finite() {
                check(value);
            }
        }

        #[test]
        fn any_amount(micros in 0_u32..100_000_000, noise in -3_i64..3) {
            let value = f64::from(micros) / 1e6;
            check(f64::from_bits(value.to_bits().wrapping_add_signed(noise)).abs());
        }
    }
}
