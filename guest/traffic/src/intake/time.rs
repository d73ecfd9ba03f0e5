//! Times as files write them, to milliseconds since the Unix epoch.

/// Returns the time of an RFC 3339 text, with `Z` or an offset.
pub(super) fn rfc3339(text: &str) -> Option<i64> {
    let text = text.trim();
    let date = text.get(..10)?;
    let mut parts = date.split('-');
    let (year, month, day) = (
        number(parts.next()?)?,
        number(parts.next()?)?,
        number(parts.next()?)?,
    );
    if !matches!(text.get(10..11)?, "T" | "t" | " ") {
        return None;
    }
    let seconds = clock(text.get(11..19)?)?;
    let mut rest = text.get(19..)?;
    let mut millis = 0;
    if let Some(fraction) = rest.strip_prefix('.') {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        let mut scale = 100;
        for digit in fraction.get(..digits)?.bytes().take(3) {
            millis += i64::from(digit - b'0') * scale;
            scale /= 10;
        }
        rest = fraction.get(digits..)?;
    }
    let offset = offset(rest)?;
    Some((days(year, month, day)? * 86_400 + seconds - offset) * 1000 + millis)
}

/// Returns the time of a Java `Date.toString()`, such as `Thu Sep 10 13:28:43 UTC 2015`. Zone abbreviations are ambiguous
/// (`IST` is three zones), so only UTC, GMT and numeric offsets are taken.
pub(crate) fn java_date(text: &str) -> Option<i64> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let &[_, month, day, time, zone, year] = words.as_slice() else {
        return None;
    };
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let month = MONTHS.iter().position(|name| *name == month)? as i64 + 1;
    let offset = match zone {
        "UTC" | "GMT" | "Z" => 0,
        _ => offset(zone.strip_prefix("GMT").or(zone.strip_prefix("UTC"))?)?,
    };
    let seconds = clock(time)?;
    Some((days(number(year)?, month, number(day)?)? * 86_400 + seconds - offset) * 1000)
}

/// Returns the RFC 3339 text of a time, in UTC with milliseconds.
pub(super) fn to_rfc3339(millis: i64) -> String {
    let (days, rest) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
    let (year, month, day) = date(days);
    let (seconds, fraction) = (rest / 1000, rest % 1000);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{fraction:03}Z",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

fn number(text: &str) -> Option<i64> {
    (text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

fn clock(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let (hours, minutes, seconds) = (
        number(parts.next()?)?,
        number(parts.next()?)?,
        number(parts.next()?)?,
    );
    // 60 is a leap second.
    (hours < 24 && minutes < 60 && seconds <= 60 && parts.next().is_none())
        .then_some(hours * 3600 + minutes * 60 + seconds)
}

/// Seconds east of Greenwich of `Z`, `+02:00` or `+0200`.
fn offset(text: &str) -> Option<i64> {
    if text == "Z" || text == "z" {
        return Some(0);
    }
    let (sign, digits) = if let Some(digits) = text.strip_prefix('+') {
        (1, digits)
    } else {
        (-1, text.strip_prefix('-')?)
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some((hours, minutes)) => (number(hours)?, number(minutes)?),
        None => (number(digits.get(..2)?)?, number(digits.get(2..)?)?),
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// Days since 1970-01-01 in the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year + era * 400 + i64::from(month <= 2);
    (year, month, of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn the_shapes_of_the_writers_are_read() {
        assert_eq!(rfc3339("1970-01-01T00:00:01Z"), Some(1000));
        assert_eq!(
            rfc3339("2015-09-10T13:28:43.5-07:00"),
            Some(1_441_916_923_500)
        );
        assert_eq!(
            rfc3339("2024-02-29T00:00:00.123456+00:00"),
            Some(1_709_164_800_123)
        );
        assert_eq!(
            java_date("Thu Sep 10 13:28:43 UTC 2015"),
            Some(1_441_891_723_000)
        );
        assert_eq!(
            java_date("Thu Sep 10 13:28:43 GMT+02:00 2015"),
            Some(1_441_884_523_000)
        );
    }

    #[test]
    fn a_time_that_is_not_certain_is_none() {
        for text in [
            "",
            "Thu Sep 10 13:28:43 AEST 2015",
            "Thu Sep 10 25:28:43 UTC 2015",
        ] {
            assert_eq!(java_date(text), None, "{text}");
        }
        for text in [
            "",
            "2024-02-29",
            "2024-02-29T00:00:00",
            "2024-13-29T00:00:00Z",
            "é024-02-29T00:00:00Z",
        ] {
            assert_eq!(rfc3339(text), None, "{text}");
        }
    }

    #[test]
    fn a_time_written_is_read_again() {
        for millis in [0, -1, 1_709_164_800_123, 951_782_399_999, 4_102_444_800_000] {
            assert_eq!(rfc3339(&to_rfc3339(millis)), Some(millis));
        }
    }
}
