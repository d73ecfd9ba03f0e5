//! The body of a message without its codings.

use serde::Serialize;

use super::coding::{self, Bounds, Stop};
use super::head::{self, Head};
use super::{charset, media};
use crate::limits;
use crate::types::{Message, Warning};

/// A body without its codings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decoded {
    /// The bytes; for text in UTF-8, whatever its character set was.
    #[serde(with = "crate::bytes")]
    pub bytes: Vec<u8>,
    /// Whether it is text.
    pub text: bool,
    /// The character set that it had, where it is text.
    pub charset: String,
    /// The media type without parameters, in lower case.
    pub media_type: String,
    /// The codings that were removed, in order.
    pub removed: Vec<String>,
    /// Which limit ended it: `size`, `ratio`, `codings` or `window`; empty where none did.
    pub limit: String,
    /// Whether all of the body is there.
    pub complete: bool,
    /// What was odd.
    pub warnings: Vec<Warning>,
}

/// What a body may become.
#[derive(Clone, Copy, Debug)]
pub struct BodyLimits {
    /// Bytes after decoding.
    pub decoded: u32,
    /// Times the encoded size.
    pub ratio: u32,
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self {
            decoded: limits::DECODED,
            ratio: limits::RATIO,
        }
    }
}

/// Removes transfer and content codings from the body of a message, and turns text into UTF-8.
#[must_use]
pub fn decode(message: &Message, request: bool, limits: &BodyLimits) -> Decoded {
    let head = if request {
        head::request(&message.bytes)
    } else {
        head::response(&message.bytes)
    };
    decode_with(message, &head, limits)
}

/// The same with a head that was read already.
pub(crate) fn decode_with(message: &Message, head: &Head, limits: &BodyLimits) -> Decoded {
    let mut decoded = Decoded {
        complete: true,
        ..Decoded::default()
    };
    let media_type = head.header("content-type").unwrap_or_default();
    decoded.media_type = media::essence(media_type);
    let body = head.body.of(&message.bytes);
    let bytes = if message.decoded {
        body.to_vec()
    } else {
        remove(body, head, limits, &mut decoded)
    };
    match charset::to_utf8(&bytes, media_type) {
        Some((text, charset)) => {
            decoded.text = true;
            decoded.charset = charset.to_owned();
            decoded.bytes = text;
        }
        None => decoded.bytes = bytes,
    }
    decoded
}

/// Returns the bytes of the body without its codings, in its own character set.
pub(crate) fn decoded(message: &Message, head: &Head) -> Vec<u8> {
    let body = head.body.of(&message.bytes);
    if message.decoded {
        return body.to_vec();
    }
    remove(body, head, &BodyLimits::default(), &mut Decoded::default())
}

fn remove(body: &[u8], head: &Head, limits: &BodyLimits, decoded: &mut Decoded) -> Vec<u8> {
    let mut bytes = body.to_vec();
    let names = |header: &str| -> Vec<String> {
        head.all(header)
            .flat_map(|value| value.split(','))
            .map(|name| name.trim().to_ascii_lowercase())
            .filter(|name| !name.is_empty() && name != "identity")
            .collect()
    };
    let mut codings = names("content-encoding");
    for transfer in names("transfer-encoding").iter().rev() {
        if transfer != "chunked" {
            // `Transfer-Encoding: gzip, chunked`.
            codings.push(transfer.clone());
        } else if let Some((data, complete)) = coding::chunked(&bytes) {
            bytes = data;
            decoded.complete &= complete;
            decoded.removed.push("chunked".into());
            if !complete {
                warn(decoded, "chunked-cut", "the last chunk is missing");
            }
        } else if !bytes.is_empty() {
            warn(
                decoded,
                "not-chunked",
                "the head says chunked, but the body has no chunks; it was kept as it is",
            );
        }
    }
    if codings.len() > limits::CODINGS {
        decoded.limit = "codings".into();
        decoded.complete = false;
        warn(
            decoded,
            "codings-limit",
            format!(
                "the body has {} codings; at most {} are removed",
                codings.len(),
                limits::CODINGS
            ),
        );
        return bytes;
    }
    let bounds = Bounds {
        size: limits.decoded as usize,
        ratio: limits.ratio as usize,
        from: body.len(),
    };
    for name in codings.iter().rev() {
        if bytes.is_empty() {
            break;
        }
        match remove_one(name, &bytes, &bounds, decoded) {
            Some(unpacked) => bytes = unpacked,
            None => break,
        }
    }
    bytes
}

fn warn(decoded: &mut Decoded, code: &str, detail: impl Into<String>) {
    decoded.warnings.push(Warning::new(code, detail));
}

/// Removes one coding; `None` where the bytes stay as they are.
fn remove_one(name: &str, bytes: &[u8], bounds: &Bounds, decoded: &mut Decoded) -> Option<Vec<u8>> {
    let (unpacked, stop) = match name {
        "gzip" | "x-gzip" => coding::gzip(bytes, bounds),
        "deflate" => coding::deflate(bytes, bounds),
        "br" => coding::brotli(bytes, bounds),
        "zstd" => coding::zstd(bytes, bounds),
        _ => {
            decoded.complete = false;
            warn(
                decoded,
                "unknown-coding",
                format!("the content coding {name:.40?} is not known; the body was kept as it is"),
            );
            return None;
        }
    };
    let Some(stop) = stop else {
        decoded.removed.push(name.to_owned());
        return Some(unpacked);
    };
    decoded.complete = false;
    let (limit, detail) = match stop {
        Stop::Damaged if unpacked.is_empty() => {
            warn(
                decoded,
                "not-encoded",
                format!("the body is no {name}; it was kept as it is"),
            );
            return None;
        }
        Stop::Damaged => (
            "",
            format!("the {name} body is damaged or cut; what came before was kept"),
        ),
        Stop::Size => (
            "size",
            format!(
                "the {name} body unpacks to more than {} bytes; the rest was left out",
                bounds.size
            ),
        ),
        Stop::Ratio => (
            "ratio",
            format!(
                "the {name} body unpacks to more than {} times its size; the rest was left out",
                bounds.ratio
            ),
        ),
        Stop::Window => (
            "window",
            format!(
                "the {name} body needs a window larger than {} bytes; it was kept as it is",
                limits::ZSTD_WINDOW
            ),
        ),
    };
    decoded.limit = limit.to_owned();
    let code = if limit.is_empty() {
        "damaged-coding".to_owned()
    } else {
        format!("{limit}-limit")
    };
    warn(decoded, &code, detail);
    if stop == Stop::Window && unpacked.is_empty() {
        return None;
    }
    decoded.removed.push(name.to_owned());
    Some(unpacked)
}

/// Removes one coding from bytes, for tools that do so on request.
pub(crate) fn coding_of(name: &str, bytes: &[u8], limits: &BodyLimits) -> Result<Vec<u8>, String> {
    let bounds = Bounds {
        size: limits.decoded as usize,
        ratio: limits.ratio as usize,
        from: bytes.len(),
    };
    let mut decoded = Decoded {
        complete: true,
        ..Decoded::default()
    };
    let unpacked = remove_one(name, bytes, &bounds, &mut decoded);
    match (unpacked, decoded.warnings.pop()) {
        (Some(unpacked), None) => Ok(unpacked),
        (_, Some(warning)) => Err(warning.detail),
        (None, None) => Err(format!("the data is no {name}")),
    }
}
