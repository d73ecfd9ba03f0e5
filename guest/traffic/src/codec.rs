//! Small conversions of text and bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::Digest as _;

use crate::bytes::base64_lenient;
use crate::message::body::BodyLimits;
use crate::message::coding_of;

/// Bytes that a conversion gives at most.
const OUT: usize = 16 << 20;

/// Returns the text with all but unreserved characters percent-encoded.
#[must_use]
pub fn url_encode(text: &str) -> String {
    const SET: &percent_encoding::AsciiSet = &percent_encoding::NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~');
    percent_encoding::utf8_percent_encode(text, SET).to_string()
}

/// Returns the text without percent-encoding; `+` is a space. Broken escapes stay; what is no UTF-8 is replaced.
#[must_use]
pub fn url_decode(text: &str) -> String {
    String::from_utf8_lossy(&crate::message::url::decode(text.as_bytes(), true)).into_owned()
}

/// Returns the bytes in base64 with padding.
#[must_use]
pub fn base64_encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Returns the bytes of base64 in either alphabet, with or without padding, white space ignored.
///
/// # Errors
/// One sentence, where it is no base64.
pub fn base64_decode(text: &str) -> Result<Vec<u8>, String> {
    let (bytes, clean) = base64_lenient(text.as_bytes(), OUT);
    if clean {
        Ok(bytes)
    } else {
        Err("the text is no base64".into())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the SHA-256 of bytes in lower-case hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&sha2::Sha256::digest(bytes))
}

/// Returns a hash in lower-case hexadecimal: MD5, SHA-1, SHA-224, SHA-256, SHA-384 or SHA-512, with or without the hyphen, in any case.
///
/// # Errors
/// One sentence that names the algorithms, where the name is none of them.
pub fn hash(bytes: &[u8], algorithm: &str) -> Result<String, String> {
    let name = algorithm
        .trim()
        .to_ascii_lowercase()
        .replace(['-', '_'], "");
    Ok(match name.as_str() {
        "md5" => hex(&md5::Md5::digest(bytes)),
        "sha1" => hex(&sha1::Sha1::digest(bytes)),
        "sha224" => hex(&sha2::Sha224::digest(bytes)),
        "sha256" => hex(&sha2::Sha256::digest(bytes)),
        "sha384" => hex(&sha2::Sha384::digest(bytes)),
        "sha512" => hex(&sha2::Sha512::digest(bytes)),
        _ => {
            return Err(format!(
                "the algorithm {algorithm:.40?} is not known; known are MD5, SHA-1, SHA-224, SHA-256, SHA-384 and SHA-512"
            ));
        }
    })
}

/// Decodes base64 and removes one coding: `gzip`, `deflate`, `br` or `brotli`, `zstd`, `identity` or `raw`.
///
/// # Errors
/// One sentence, where the text, the name or the data is wrong or too large.
pub fn decode_as(text: &str, encoding: &str) -> Result<Vec<u8>, String> {
    let bytes = base64_decode(text)?;
    let name = encoding.trim().to_ascii_lowercase();
    if matches!(name.as_str(), "identity" | "raw" | "") {
        return Ok(bytes);
    }
    let name = if name == "brotli" { "br" } else { &name };
    coding_of(name, &bytes, &BodyLimits::default())
}

/// Returns `length` characters of an alphabet, chosen by random bytes that the caller passes. Bytes that would favour some characters
/// are left out, so there must be more bytes than characters: twice as many and 64 suffice.
///
/// # Errors
/// One sentence, where the alphabet is empty or too large, or there are too few bytes.
pub fn random_string(length: u32, alphabet: &str, random: &[u8]) -> Result<String, String> {
    let characters: Vec<char> = alphabet.chars().collect();
    let count = characters.len();
    if count == 0 || count > 256 {
        return Err("the alphabet must have 1 to 256 characters".into());
    }
    let fair = 256 - 256 % count;
    let mut out = String::new();
    let mut left = length;
    for &byte in random {
        if left == 0 {
            break;
        }
        if usize::from(byte) < fair
            && let Some(character) = characters.get(usize::from(byte) % count)
        {
            out.push(*character);
            left -= 1;
        }
    }
    if left > 0 {
        return Err("there are too few random bytes for this length".into());
    }
    Ok(out)
}
