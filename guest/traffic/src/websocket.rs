//! WebSocket frames of one direction of a connection, with permessage-deflate.

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush};
use serde::Serialize;

use crate::limits;
use crate::message::head;
use crate::types::Warning;

/// Frames of one message.
const FRAMES: u32 = 100_000;

/// What was agreed about compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Deflate {
    /// Whether each message of the client is compressed by itself.
    pub client_resets: bool,
    /// Whether each message of the server is compressed by itself.
    pub server_resets: bool,
}

/// Returns what a response with status 101 says about compression; `None` where there is none.
#[must_use]
pub fn deflate_of(response: &[u8]) -> Option<Deflate> {
    let head = head::response(response);
    let mut extensions = head
        .all("sec-websocket-extensions")
        .flat_map(|value| value.split(','));
    let chosen = extensions.find(|extension| {
        extension
            .split(';')
            .next()
            .is_some_and(|name| name.trim().eq_ignore_ascii_case("permessage-deflate"))
    })?;
    let has = |name: &str| {
        chosen
            .split(';')
            .any(|parameter| parameter.trim().eq_ignore_ascii_case(name))
    };
    Some(Deflate {
        client_resets: has("client_no_context_takeover"),
        server_resets: has("server_no_context_takeover"),
    })
}

/// One message, or one control frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Received {
    /// 1 text, 2 binary, 8 close, 9 ping, 10 pong; others are reserved.
    pub opcode: u8,
    /// Without masking and compression.
    #[serde(with = "crate::bytes")]
    pub payload: Vec<u8>,
    /// Bytes beyond the limit.
    pub dropped: u64,
    /// What is odd.
    pub warnings: Vec<Warning>,
}

/// What one push gave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Frames {
    /// In order.
    pub messages: Vec<Received>,
    /// Why the bytes are no frames; sticky.
    pub error: Option<String>,
}

struct Frame {
    fin: bool,
    compressed: bool,
    opcode: u8,
    mask: Option<[u8; 4]>,
    /// Bytes of the payload that are still to come.
    left: u64,
    /// Bytes of the payload that came.
    at: usize,
}

/// Reads the frames of one direction.
pub struct Decoder {
    buffer: Vec<u8>,
    frame: Option<Frame>,
    /// The message that is open, with its opcode and whether it is compressed.
    message: Option<(u8, bool, Received)>,
    frames: u32,
    control: Received,
    inflate: Option<Box<InflateState>>,
    deflate: bool,
    resets: bool,
    limit: usize,
    error: Option<String>,
}

fn blank(opcode: u8) -> Received {
    Received {
        opcode,
        payload: Vec::new(),
        dropped: 0,
        warnings: Vec::new(),
    }
}

impl Decoder {
    /// Returns a decoder. `deflate`: whether permessage-deflate was agreed; `resets`: whether each message of this direction is
    /// compressed by itself; `limit`: bytes of one message.
    #[must_use]
    pub fn new(deflate: bool, resets: bool, limit: u32) -> Self {
        Self {
            buffer: Vec::new(),
            frame: None,
            message: None,
            frames: 0,
            control: blank(0),
            inflate: deflate.then(|| InflateState::new_boxed(DataFormat::Raw)),
            deflate,
            resets,
            limit: limit as usize,
            error: None,
        }
    }

    /// Takes the next bytes and returns the messages that they complete.
    pub fn push(&mut self, chunk: &[u8]) -> Frames {
        let mut messages = Vec::new();
        if self.error.is_none() {
            self.buffer.extend_from_slice(chunk);
            while self.error.is_none() && self.step(&mut messages) {}
        }
        Frames {
            messages,
            error: self.error.clone(),
        }
    }

    fn step(&mut self, messages: &mut Vec<Received>) -> bool {
        let Some(frame) = &mut self.frame else {
            return self.header();
        };
        let length = usize::try_from(frame.left)
            .unwrap_or(usize::MAX)
            .min(self.buffer.len());
        if length == 0 && frame.left > 0 {
            return false;
        }
        let mut payload: Vec<u8> = self.buffer.drain(..length).collect();
        if let Some(mask) = frame.mask {
            for (byte, at) in payload.iter_mut().zip(frame.at % 4..) {
                *byte ^= mask.get(at % 4).copied().unwrap_or(0);
            }
        }
        frame.at = frame.at.wrapping_add(length);
        frame.left -= length as u64;
        let (ended, fin, control) = (frame.left == 0, frame.fin, frame.opcode >= 8);
        let limit = self.limit;
        let open = if control {
            Some(&mut self.control)
        } else {
            self.message.as_mut().map(|(_, _, received)| received)
        };
        if let Some(received) = open {
            let room = limit
                .saturating_sub(received.payload.len())
                .min(payload.len());
            received.dropped += (payload.len() - room) as u64;
            payload.truncate(room);
            received.payload.append(&mut payload);
        }
        if ended {
            self.frame = None;
            if control {
                messages.push(std::mem::replace(&mut self.control, blank(0)));
            } else if fin && let Some((_, compressed, received)) = self.message.take() {
                self.frames = 0;
                messages.push(self.unpack(received, compressed));
            }
        }
        true
    }

    /// The header of a frame. Returns whether it was there.
    fn header(&mut self) -> bool {
        let bytes = &self.buffer;
        let (Some(&first), Some(&second)) = (bytes.first(), bytes.get(1)) else {
            return false;
        };
        let (extended, short) = match second & 0x7f {
            126 => (2, 0),
            127 => (8, 0),
            length => (0, u64::from(length)),
        };
        let masked = second & 0x80 != 0;
        let size = 2 + extended + if masked { 4 } else { 0 };
        let Some(header) = bytes.get(..size) else {
            return false;
        };
        let length = header
            .get(2..2 + extended)
            .unwrap_or_default()
            .iter()
            .fold(short, |length, &byte| length << 8 | u64::from(byte));
        let mask = masked
            .then(|| {
                header
                    .get(2 + extended..)
                    .and_then(|bytes| bytes.first_chunk().copied())
            })
            .flatten();
        let frame = Frame {
            fin: first & 0x80 != 0,
            compressed: first & 0x40 != 0,
            opcode: first & 0x0f,
            mask,
            left: length,
            at: 0,
        };
        self.buffer.drain(..size);
        if let Some(error) = self.fault(&frame, first) {
            self.error = Some(error.to_owned());
            return false;
        }
        self.open(&frame);
        self.frame = Some(frame);
        true
    }

    /// What makes the bytes no frames of this connection.
    fn fault(&self, frame: &Frame, first: u8) -> Option<&'static str> {
        let control = frame.opcode >= 8;
        if first & 0x30 != 0 {
            Some("a reserved bit is set that no known extension uses")
        } else if frame.compressed && (control || frame.opcode == 0 || !self.deflate) {
            Some("a frame is marked as compressed where none may be")
        } else if control && (!frame.fin || frame.left > 125) {
            Some("a control frame is cut up or too long")
        } else if frame.opcode == 0 && self.message.is_none() {
            Some("a frame continues a message that was not begun")
        } else if matches!(frame.opcode, 1..=7) && self.message.is_some() {
            Some("a message begins inside of another one")
        } else if self.frames >= FRAMES {
            Some("a message has more frames than a message may have")
        } else {
            None
        }
    }

    fn open(&mut self, frame: &Frame) {
        if frame.opcode >= 8 {
            self.control = blank(frame.opcode);
        } else if frame.opcode != 0 {
            self.message = Some((frame.opcode, frame.compressed, blank(frame.opcode)));
            self.frames = 1;
        } else {
            self.frames += 1;
        }
    }

    /// Removes the compression of a message.
    fn unpack(&mut self, mut received: Received, compressed: bool) -> Received {
        if !compressed {
            return received;
        }
        if received.dropped > 0 {
            // Without all of it, what comes later cannot be unpacked either.
            self.lose(
                &mut received,
                "the compressed message is larger than a message may be",
            );
            return received;
        }
        let mut packed = std::mem::take(&mut received.payload);
        packed.extend_from_slice(b"\x00\x00\xff\xff");
        let Some(state) = &mut self.inflate else {
            packed.truncate(packed.len() - 4);
            received.payload = packed;
            received.warnings.push(Warning::new(
                "still-compressed",
                "the message depends on one that could not be unpacked",
            ));
            return received;
        };
        let most = self.limit.min(
            (limits::RATIO as usize)
                .saturating_mul(packed.len())
                .max(limits::RATIO_FROM as usize),
        );
        let mut buffer = vec![0; 32 << 10];
        let mut at = 0;
        let fault = loop {
            let rest = packed.get(at..).unwrap_or_default();
            let result = inflate(state, rest, &mut buffer, MZFlush::Sync);
            at += result.bytes_consumed;
            received
                .payload
                .extend_from_slice(buffer.get(..result.bytes_written).unwrap_or_default());
            if received.payload.len() > most {
                received.payload.truncate(most);
                break Some("the message unpacks to more than a message may have");
            }
            let stuck = result.bytes_consumed == 0 && result.bytes_written == 0;
            let full = result.bytes_written == buffer.len();
            if at >= packed.len() && !full {
                break None;
            }
            if stuck || result.status.is_err() {
                break (at < packed.len()).then_some("the message is damaged");
            }
        };
        match fault {
            Some(fault) => self.lose(&mut received, fault),
            None if self.resets => self.inflate = Some(InflateState::new_boxed(DataFormat::Raw)),
            None => {}
        }
        received
    }

    fn lose(&mut self, received: &mut Received, fault: &str) {
        received
            .warnings
            .push(Warning::new("compression-lost", fault));
        self.inflate = self
            .resets
            .then(|| InflateState::new_boxed(DataFormat::Raw));
    }
}
