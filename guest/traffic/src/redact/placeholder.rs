//! Placeholders: `{{secret:KIND:HEX}}`, where HEX are 80 bits of an HMAC of the value.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// How a placeholder begins.
pub(crate) const OPEN: &[u8] = b"{{secret:";

/// What stands in place of `OPEN` where captured text has it, so that captured text never holds a placeholder.
pub(crate) const ESCAPED: &[u8] = b"{{captured-secret:";

/// Hexadecimal digits: 80 bits, so that two values of a store hardly ever meet.
const DIGITS: usize = 20;

/// Returns the placeholder of a value under a key.
pub(crate) fn of(key: &[u8], kind: &str, value: &[u8]) -> String {
    // HMAC takes keys of any length.
    let digest = Hmac::<Sha256>::new_from_slice(key).map(|mut mac| {
        mac.update(value);
        mac.finalize().into_bytes()
    });
    let mut hex = String::with_capacity(DIGITS);
    for byte in digest
        .iter()
        .flat_map(|bytes| bytes.iter())
        .take(DIGITS / 2)
    {
        hex.push_str(&format!("{byte:02x}"));
    }
    format!("{{{{secret:{kind}:{hex}}}}}")
}

/// Returns the length of the placeholder at the start of `text`, or `None` where there is none.
pub(crate) fn length(text: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(OPEN)?;
    let kind = rest
        .iter()
        .position(|byte| !(byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-'))?;
    let digits = rest.get(kind + 1..kind + 1 + DIGITS)?;
    let tail = rest.get(kind + 1 + DIGITS..)?;
    let fits = (1..=32).contains(&kind)
        && rest.get(kind) == Some(&b':')
        && digits
            .iter()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte))
        && tail.starts_with(b"}}");
    fits.then_some(OPEN.len() + kind + 1 + DIGITS + 2)
}
