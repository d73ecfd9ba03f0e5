//! Bytes in JSON: text where they are UTF-8, else `base64:` and the encoded bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serializer;

const PREFIX: &str = "base64:";

/// Serialises bytes as text.
///
/// # Errors
/// Where the serializer fails.
pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&to_text(bytes))
}

/// Returns the text that stands for `bytes` in golden vectors.
#[must_use]
pub fn to_text(bytes: &[u8]) -> String {
    match str::from_utf8(bytes) {
        Ok(text) if !text.starts_with(PREFIX) => text.to_owned(),
        _ => format!("{PREFIX}{}", STANDARD.encode(bytes)),
    }
}

/// Returns up to `limit` bytes of `bytes` as text, what is no UTF-8 replaced.
pub(crate) fn lossy(bytes: &[u8], limit: usize) -> String {
    let cut = bytes.get(..limit.min(bytes.len())).unwrap_or(bytes);
    String::from_utf8_lossy(cut).into_owned()
}

/// Returns the offset of `needle` in `haystack` from `from` on.
pub(crate) fn find_from(haystack: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    let rest = haystack.get(from..)?;
    memchr::memmem::find(rest, needle).map(|at| from + at)
}

/// Decodes base64 as people write it: either alphabet, white space inside, padding or none.
/// Returns the bytes, and whether everything was part of the encoding.
pub(crate) fn base64_lenient(text: &[u8], limit: usize) -> (Vec<u8>, bool) {
    let mut out = Vec::with_capacity((text.len() / 4 * 3).min(limit));
    let (mut group, mut bits) = (0_u32, 0_u32);
    let mut clean = true;
    let mut ended = false;
    for &byte in text {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => {
                ended = true;
                continue;
            }
            b' ' | b'\t' | b'\r' | b'\n' => continue,
            _ => return (out, false),
        };
        if ended {
            clean = false;
            break;
        }
        group = group << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            if out.len() >= limit {
                return (out, clean);
            }
            out.push((group >> bits & 0xff) as u8);
            group &= (1 << bits) - 1;
        }
    }
    // A single leftover character carries too few bits for a byte.
    (out, clean && bits < 6)
}
