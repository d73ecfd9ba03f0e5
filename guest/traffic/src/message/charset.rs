//! From bytes to text.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use super::media;
use crate::bytes::find_from;

/// Bytes at the start of a page in which it may name its character set.
const SNIFF: usize = 1024;

/// Returns the body as UTF-8 with the name of its character set, or `None` where it is no text.
/// UTF-8 is returned as it is, damaged sequences included, so that offsets stay those of the body.
pub(crate) fn to_utf8(body: &[u8], media_type: &str) -> Option<(Vec<u8>, &'static str)> {
    if media::is_binary(media_type) {
        return None;
    }
    let (encoding, bom) = encoding(body, media_type);
    // Text in a one-byte or UTF-8 encoding has no NUL bytes; a body with several is binary whatever its header says.
    let wide = encoding == encoding_rs::UTF_16LE || encoding == encoding_rs::UTF_16BE;
    if !wide && memchr::memchr_iter(0, body).nth(2).is_some() {
        return None;
    }
    let body = body.get(bom..).unwrap_or_default();
    if encoding == UTF_8 {
        return Some((body.to_vec(), encoding.name()));
    }
    let (text, _) = encoding.decode_without_bom_handling(body);
    Some((text.into_owned().into_bytes(), encoding.name()))
}

/// The encoding: a byte order mark, else the header, else what a page says, else UTF-8 where it fits.
fn encoding(body: &[u8], media_type: &str) -> (&'static Encoding, usize) {
    if let Some((encoding, length)) = Encoding::for_bom(body) {
        return (encoding, length);
    }
    let label = media::parameter(media_type, "charset").or_else(|| page_label(body, media_type));
    if let Some(encoding) = label.and_then(|label| Encoding::for_label(label.as_bytes())) {
        return (encoding, 0);
    }
    let html = media::is_html(media_type);
    if html && str::from_utf8(body).is_err() {
        // What browsers assume for pages that say nothing.
        return (WINDOWS_1252, 0);
    }
    (UTF_8, 0)
}

fn page_label(body: &[u8], media_type: &str) -> Option<String> {
    if !media::is_html(media_type) {
        return None;
    }
    let start = body.get(..SNIFF.min(body.len()))?.to_ascii_lowercase();
    let at = find_from(&start, b"charset=", 0)? + b"charset=".len();
    let rest = start.get(at..)?;
    let rest = rest
        .strip_prefix(b"\"")
        .or(rest.strip_prefix(b"'"))
        .unwrap_or(rest);
    let end = rest
        .iter()
        .position(|byte| !byte.is_ascii_alphanumeric() && !b"-_:".contains(byte))?;
    String::from_utf8(rest.get(..end)?.to_vec()).ok()
}
