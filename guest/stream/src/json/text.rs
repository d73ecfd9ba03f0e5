//! Finds the ends of JSON strings and unescapes them.

use memchr::{memchr, memchr2};
use std::borrow::Cow;

/// Returns the index of the quote that ends the string whose inside starts at `start`; `None` if it has no
/// end or an escape that JSON does not have.
pub fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        at = special(bytes, at)?;
        if bytes.get(at) == Some(&b'"') {
            return Some(at);
        }
        at = escape_end(bytes, at)?;
    }
}

/// Returns the index of the first quote or backslash from `at` on. Starting a vector search costs more than looking at one
/// byte, so a run of escapes is followed without one.
#[inline]
pub fn special(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' | b'\\' => Some(at),
        _ => memchr2(b'"', b'\\', bytes.get(at..)?).map(|found| at + found),
    }
}

/// Returns the index of the first backslash, or the length if there is none; like [`special`], fast for runs of escapes.
#[inline]
fn backslash(bytes: &[u8]) -> usize {
    match bytes.first() {
        Some(b'\\') => 0,
        _ => memchr(b'\\', bytes).unwrap_or(bytes.len()),
    }
}

/// Returns the index after the escape that starts at `at`.
pub fn escape_end(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at + 1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 2),
        b'u' => {
            let digits = bytes.get(at + 2..at + 6)?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(at + 6)
        }
        _ => None,
    }
}

/// Unescapes the inside of a string. An incomplete escape, as at the end of a cut stream, ends the text.
pub fn unescape(raw: &str) -> Cow<'_, str> {
    if memchr(b'\\', raw.as_bytes()).is_none() {
        return Cow::Borrowed(raw);
    }
    let mut text = String::with_capacity(raw.len());
    unescape_into(raw, &mut text);
    Cow::Owned(text)
}

/// Most bytes of unescaped text that are collected before they are passed on.
const PART_BYTES: usize = 64 << 10;

/// Unescapes like [`unescape`] and passes the text on in parts, so that a long text is not in memory twice. `buffer` holds
/// the parts.
pub fn unescape_in_parts(raw: &str, buffer: &mut String, mut part: impl FnMut(&str)) {
    let mut rest = raw;
    buffer.clear();
    while !rest.is_empty() {
        let found = backslash(rest.as_bytes());
        let (plain, escaped) = rest.split_at_checked(found).unwrap_or((rest, ""));
        if buffer.len() + plain.len() > PART_BYTES {
            part(buffer);
            buffer.clear();
        }
        if plain.len() > PART_BYTES {
            part(plain);
        } else {
            buffer.push_str(plain);
        }
        if escaped.is_empty() {
            break;
        }
        let Some((char, used)) = unescape_one(escaped.as_bytes()) else {
            break;
        };
        buffer.push(char);
        rest = escaped.get(used..).unwrap_or_default();
    }
    part(buffer);
}

/// Unescapes like [`unescape`] and appends the text.
fn unescape_into(raw: &str, text: &mut String) {
    let mut rest = raw;
    while !rest.is_empty() {
        let (plain, escaped) = rest
            .split_at_checked(backslash(rest.as_bytes()))
            .unwrap_or((rest, ""));
        text.push_str(plain);
        if escaped.is_empty() {
            return;
        }
        let Some((char, used)) = unescape_one(escaped.as_bytes()) else {
            return;
        };
        text.push(char);
        rest = escaped.get(used..).unwrap_or_default();
    }
}

/// Returns the character of the escape at the start of `bytes`, and the length of the escape.
fn unescape_one(bytes: &[u8]) -> Option<(char, usize)> {
    let char = match bytes.get(1)? {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode(bytes),
        &other => char::from(other),
    };
    Some((char, 2))
}

/// Reads `\uXXXX` or a pair of them. A surrogate without its other half is U+FFFD.
fn unicode(bytes: &[u8]) -> Option<(char, usize)> {
    let first = unit(bytes, 0)?;
    if let Some(char) = char::from_u32(first) {
        return Some((char, 6));
    }
    let second = unit(bytes, 6).filter(|unit| (0xDC00..0xE000).contains(unit));
    match second {
        Some(second) if first < 0xDC00 => {
            let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            Some((char::from_u32(code)?, 12))
        }
        _ => Some((char::REPLACEMENT_CHARACTER, 6)),
    }
}

/// Returns the value of `\uXXXX` at an offset.
fn unit(bytes: &[u8], at: usize) -> Option<u32> {
    let escape = bytes.get(at..at + 6)?;
    let digits = escape.strip_prefix(b"\\u")?;
    let mut unit = 0;
    for &digit in digits {
        unit = unit * 16 + char::from(digit).to_digit(16)?;
    }
    Some(unit)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read() {
        assert_eq!(unescape(r#"a\n\t\"\\\/\b\f\rz"#), "a\n\t\"\\/\u{8}\u{c}\rz");
        assert_eq!(unescape(r"\u00e9\ud83d\ude00"), "é😀");
        assert_eq!(unescape("plain"), "plain");
    }

    #[test]
    fn lone_surrogates_are_replaced() {
        assert_eq!(unescape(r"\ud83dx"), "\u{fffd}x");
        assert_eq!(unescape(r"\ude00\ud83d"), "\u{fffd}\u{fffd}");
        assert_eq!(unescape(r"\ud83d\u0041"), "\u{fffd}A");
        assert_eq!(unescape(r"\ud83d\ud83d\ude00"), "\u{fffd}😀");
    }

    #[test]
    fn a_cut_escape_ends_the_text() {
        assert_eq!(unescape(r"ab\"), "ab");
        assert_eq!(unescape(r"ab\u12"), "ab");
    }

    #[test]
    fn string_ends() {
        assert_eq!(string_end(br#"ab\"c" "#, 0), Some(5));
        assert_eq!(string_end(br#"ab\\" "#, 0), Some(4));
        assert_eq!(string_end(br"ab", 0), None);
        assert_eq!(string_end(br#"a\x""#, 0), None);
    }
}
