//! Transfer and content codings, with limits against bodies that unpack to far more than they are.

use std::io::Read;

use brotli_decompressor::Decompressor;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};
use ruzstd::decoding::StreamingDecoder;

use crate::limits;

/// Bytes unpacked at a time, so that a limit is noticed soon.
const STEP: usize = 32 << 10;

/// Why unpacking stopped early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The bytes are damaged or cut.
    Damaged,
    /// There is more than may be unpacked.
    Size,
    /// It became too many times larger.
    Ratio,
    /// The zstd window is larger than HTTP allows.
    Window,
}

/// What may come out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Bytes at most.
    pub(crate) size: usize,
    /// Times the encoded size at most.
    pub(crate) ratio: usize,
    /// The encoded size.
    pub(crate) from: usize,
}

impl Bounds {
    fn check(&self, out: usize) -> Result<(), Stop> {
        if out > self.size {
            return Err(Stop::Size);
        }
        let most = self.ratio.saturating_mul(self.from);
        if out > limits::RATIO_FROM as usize && out > most {
            return Err(Stop::Ratio);
        }
        Ok(())
    }
}

/// What came out, and what ended it early.
pub(crate) type Unpacked = (Vec<u8>, Option<Stop>);

/// gzip: one member or several. What follows the last one is ignored, as browsers do.
pub(crate) fn gzip(input: &[u8], bounds: &Bounds) -> Unpacked {
    let mut out = Vec::new();
    let mut rest = input;
    let mut first = true;
    while let Some(start) = gzip_header(rest) {
        let packed = rest.get(start..).unwrap_or_default();
        let (used, stop) = deflate_into(packed, DataFormat::Raw, bounds, &mut out);
        if stop.is_some() {
            return (out, stop);
        }
        // The checksum and the length: 8 bytes. Cut ones lose nothing.
        rest = packed
            .get((used + 8).min(packed.len())..)
            .unwrap_or_default();
        first = false;
        if rest.is_empty() {
            break;
        }
    }
    let stop = first.then_some(Stop::Damaged);
    (out, stop)
}

/// The length of a gzip header.
fn gzip_header(input: &[u8]) -> Option<usize> {
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    const CHECKSUM: u8 = 2;
    if !input.starts_with(b"\x1f\x8b\x08") {
        return None;
    }
    let flags = *input.get(3)?;
    let mut at = 10;
    if flags & EXTRA != 0 {
        let low = usize::from(*input.get(at)?);
        let high = usize::from(*input.get(at + 1)?);
        at += 2 + (high << 8 | low);
    }
    for flag in [NAME, COMMENT] {
        if flags & flag != 0 {
            at += memchr::memchr(0, input.get(at..)?)? + 1;
        }
    }
    if flags & CHECKSUM != 0 {
        at += 2;
    }
    (at <= input.len()).then_some(at)
}

/// "deflate": zlib as the standard says, or raw as some servers send it.
pub(crate) fn deflate(input: &[u8], bounds: &Bounds) -> Unpacked {
    let mut out = Vec::new();
    let (_, stop) = deflate_into(input, DataFormat::Zlib, bounds, &mut out);
    if out.is_empty() && stop == Some(Stop::Damaged) {
        let (_, stop) = deflate_into(input, DataFormat::Raw, bounds, &mut out);
        return (out, stop);
    }
    (out, stop)
}

fn deflate_into(
    input: &[u8],
    format: DataFormat,
    bounds: &Bounds,
    out: &mut Vec<u8>,
) -> (usize, Option<Stop>) {
    let mut state = InflateState::new_boxed(format);
    let mut buffer = vec![0; STEP];
    let mut at = 0;
    loop {
        let rest = input.get(at..).unwrap_or_default();
        let result = inflate(&mut state, rest, &mut buffer, MZFlush::None);
        at += result.bytes_consumed;
        out.extend_from_slice(buffer.get(..result.bytes_written).unwrap_or_default());
        if let Err(stop) = bounds.check(out.len()) {
            out.truncate(bounds.size);
            return (at, Some(stop));
        }
        match result.status {
            Ok(MZStatus::StreamEnd) => return (at, None),
            Ok(_) if result.bytes_consumed > 0 || result.bytes_written > 0 => {}
            _ => return (at, Some(Stop::Damaged)),
        }
    }
}

/// Brotli.
pub(crate) fn brotli(input: &[u8], bounds: &Bounds) -> Unpacked {
    let mut out = Vec::new();
    let mut reader = Decompressor::new(input, STEP);
    let stop = drain(&mut reader, bounds, &mut out);
    (out, stop)
}

/// Zstandard: one frame or several, each with a window of at most 8 MiB.
pub(crate) fn zstd(input: &[u8], bounds: &Bounds) -> Unpacked {
    let mut out = Vec::new();
    let mut rest = input;
    while !rest.is_empty() {
        if let Some(length) = skippable(rest) {
            rest = rest.get(length..).unwrap_or_default();
            continue;
        }
        let decoder = StreamingDecoder::new_with_max_window_size(&mut rest, limits::ZSTD_WINDOW);
        let mut decoder = match decoder {
            Ok(decoder) => decoder,
            Err(ruzstd::decoding::errors::FrameDecoderError::WindowSizeTooBig { .. }) => {
                return (out, Some(Stop::Window));
            }
            Err(_) => return (out, Some(Stop::Damaged)),
        };
        if let Some(stop) = drain(&mut decoder, bounds, &mut out) {
            return (out, Some(stop));
        }
    }
    (out, None)
}

/// The length of a frame that holds no data.
fn skippable(input: &[u8]) -> Option<usize> {
    let magic = u32::from_le_bytes(*input.first_chunk()?);
    if magic & 0xffff_fff0 != 0x184d_2a50 {
        return None;
    }
    let size = u32::from_le_bytes(*input.get(4..)?.first_chunk()?);
    Some((size as usize).saturating_add(8))
}

fn drain(reader: &mut impl Read, bounds: &Bounds, out: &mut Vec<u8>) -> Option<Stop> {
    let mut buffer = vec![0; STEP];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return None,
            Ok(length) => out.extend_from_slice(buffer.get(..length).unwrap_or_default()),
            Err(_) => return Some(Stop::Damaged),
        }
        if let Err(stop) = bounds.check(out.len()) {
            out.truncate(bounds.size);
            return Some(stop);
        }
    }
}

/// Chunked transfer coding. Returns the bytes and whether the last chunk was there; `None` where it is not chunked at all,
/// which is how bodies look that were saved after the coding was removed.
pub(crate) fn chunked(input: &[u8]) -> Option<(Vec<u8>, bool)> {
    let mut out = Vec::new();
    let mut rest = input;
    let mut first = true;
    while let Some((size, length)) = chunk_size(rest) {
        first = false;
        rest = rest.get(length..).unwrap_or_default();
        if size == 0 {
            return Some((out, true));
        }
        let data = rest.get(..size.min(rest.len())).unwrap_or_default();
        out.extend_from_slice(data);
        if data.len() < size {
            return Some((out, false));
        }
        rest = rest.get(size..).unwrap_or_default();
        rest = rest
            .strip_prefix(b"\r\n")
            .or(rest.strip_prefix(b"\n"))
            .unwrap_or(rest);
    }
    (!first).then_some((out, false))
}

/// The size of the chunk at the start, and the length of its size line.
pub(crate) fn chunk_size(input: &[u8]) -> Option<(usize, usize)> {
    /// A size and its extensions.
    const LINE: usize = 4096;
    let window = input.get(..LINE.min(input.len()))?;
    let end = memchr::memchr(b'\n', window)?;
    let line = window.get(..end)?;
    let size = line.split(|&byte| byte == b';').next()?.trim_ascii();
    if size.is_empty() || size.len() > 8 {
        return None;
    }
    let size = usize::from_str_radix(str::from_utf8(size).ok()?, 16).ok()?;
    Some((size, end + 1))
}
