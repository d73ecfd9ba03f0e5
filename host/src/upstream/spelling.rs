//! The ways in which a character is written in JSON, in an address and in HTML, so that a key is found in what decodes
//! to it.

/// Repeated escaping, such as `\\u0042` or `%2542`, is followed this far; nobody escapes more often by accident.
const LAYERS: usize = 8;
/// The bytes that begin an escape.
pub(super) const BEGINNINGS: [u8; 3] = [b'\\', b'%', b'&'];
/// The longest spelling of one character: eight layers of `amp;` and a number.
pub(super) const LONGEST: usize = 1 + 4 * LAYERS + 2 + DIGITS + 1;
/// Digits of a number in HTML, leading zeros included.
const DIGITS: usize = 8;

/// What is found at a place in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// This, and how many bytes it takes.
    Here(u8, usize),
    /// The bytes end in the middle of what could be an escape.
    Cut,
    /// No escape, or one of a character that is not ASCII.
    Nothing,
}

/// Reads the escape that the bytes begin with.
pub(super) fn escape(bytes: &[u8]) -> Found {
    match bytes.first() {
        Some(b'\\') => in_json(bytes),
        Some(b'%') => in_address(bytes),
        Some(b'&') => in_html(bytes),
        _ => Found::Nothing,
    }
}

/// `\u0042`, `\x42` and `\/`, with any number of backslashes.
fn in_json(bytes: &[u8]) -> Found {
    let slashes = bytes.iter().take_while(|byte| **byte == b'\\').count();
    if slashes > LAYERS {
        return Found::Nothing;
    }
    match bytes.get(slashes) {
        None => Found::Cut,
        Some(b'u') => hexadecimal(bytes, slashes + 1, 4),
        Some(b'x') => hexadecimal(bytes, slashes + 1, 2),
        Some(letter @ (b'/' | b'"')) => Found::Here(*letter, slashes + 1),
        Some(_) => Found::Nothing,
    }
}

/// `%42` and `%2542`.
fn in_address(bytes: &[u8]) -> Found {
    let mut at = 1;
    for _ in 0..LAYERS {
        match bytes.get(at..at + 2) {
            Some(b"25") => at += 2,
            _ => break,
        }
    }
    hexadecimal(bytes, at, 2)
}

/// `&#66;`, `&#x42;` and `&amp;#66;`.
fn in_html(bytes: &[u8]) -> Found {
    let mut at = 1;
    for _ in 0..LAYERS {
        match begins(bytes.get(at..).unwrap_or_default(), b"amp;") {
            Begins::Wholly => at += 4,
            Begins::Partly => return Found::Cut,
            Begins::Not => break,
        }
    }
    match bytes.get(at) {
        None => return Found::Cut,
        Some(b'#') => at += 1,
        Some(_) => return Found::Nothing,
    }
    let radix = match bytes.get(at) {
        None => return Found::Cut,
        Some(b'x' | b'X') => {
            at += 1;
            16
        }
        Some(_) => 10,
    };
    let rest = bytes.get(at..).unwrap_or_default();
    let is_digit = |byte: &&u8| char::from(**byte).is_digit(radix);
    let digits = rest.iter().take_while(is_digit).count();
    match rest.get(digits) {
        None if digits <= DIGITS => Found::Cut,
        Some(b';') if (1..=DIGITS).contains(&digits) => {
            number(rest.get(..digits), radix, at + digits + 1)
        }
        _ => Found::Nothing,
    }
}

/// So many hexadecimal digits at a place.
fn hexadecimal(bytes: &[u8], at: usize, digits: usize) -> Found {
    let rest = bytes.get(at..).unwrap_or_default();
    let found = rest.get(..digits).unwrap_or(rest);
    if !found.iter().all(u8::is_ascii_hexdigit) {
        Found::Nothing
    } else if found.len() < digits {
        Found::Cut
    } else {
        number(Some(found), 16, at + digits)
    }
}

fn number(digits: Option<&[u8]>, radix: u32, length: usize) -> Found {
    let number = digits
        .and_then(|digits| std::str::from_utf8(digits).ok())
        .and_then(|digits| u32::from_str_radix(digits, radix).ok())
        .and_then(|number| u8::try_from(number).ok())
        .filter(u8::is_ascii);
    number.map_or(Found::Nothing, |byte| Found::Here(byte, length))
}

enum Begins {
    Wholly,
    Partly,
    Not,
}

fn begins(bytes: &[u8], word: &[u8]) -> Begins {
    if bytes.starts_with(word) {
        Begins::Wholly
    } else if word.starts_with(bytes) {
        Begins::Partly
    } else {
        Begins::Not
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_read_and_every_start_of_one_is_seen() {
        for spelling in [
            "\\u0042",
            "\\\\u0042",
            "\\x42",
            "%42",
            "%2542",
            "%252542",
            "&#66;",
            "&#066;",
            "&#x42;",
            "&#X0042;",
            "&amp;#66;",
            "&amp;amp;#x42;",
        ] {
            let bytes = spelling.as_bytes();
            assert_eq!(escape(bytes), Found::Here(b'B', bytes.len()), "{spelling}");
            let followed = format!("{spelling}SA");
            assert_eq!(escape(followed.as_bytes()), Found::Here(b'B', bytes.len()));
            for cut in 1..bytes.len() {
                let start = bytes.get(..cut).unwrap_or_default();
                assert_eq!(escape(start), Found::Cut, "{cut} of {spelling}");
            }
            assert!(bytes.len() <= LONGEST);
        }
        for other in ["\\n", "\\u00e9", "%zz", "%e9", "& ", "&#;", "&lt;", "B", ""] {
            assert_eq!(escape(other.as_bytes()), Found::Nothing, "{other}");
        }
    }
}
