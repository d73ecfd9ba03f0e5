//! Redaction: secrets become keyed placeholders before anything leaves.
//!
//! It works on the fields of an exchange, not on its serialised form, so no escaping hides a secret.

mod finds;
mod hosts;
pub(crate) mod keys;
mod placeholder;
mod places;
pub(crate) mod shapes;
mod spread;
mod text;

use serde::Serialize;

use crate::message::{body, head};
use crate::types::{Exchange, Message, Part, Span, Warning};

pub use finds::Carrier;
use finds::{Find, Finds};

/// What is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Nothing.
    Off,
    /// Secrets.
    Balanced,
    /// Secrets, host names, e-mail and IP addresses.
    Strict,
}

/// One replacement: what kind, and where; never the value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Replacement {
    /// The part that it is in.
    pub part: Part,
    /// The position of the WebSocket message, else 0.
    pub index: u32,
    /// The place in the part as it was, bodies decoded.
    pub place: Span,
    /// The place of the placeholder in the redacted part.
    pub shown: Span,
    /// What kind of value it is, as in the placeholder.
    pub kind: String,
    /// What carries it.
    pub carrier: Carrier,
    /// The name of the header, cookie, parameter or member; empty where there is none.
    pub name: String,
    /// The text that stands in its place.
    pub placeholder: String,
}

/// An exchange without its secrets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Redacted {
    /// The exchange; bodies are decoded, and text is UTF-8.
    pub exchange: Exchange,
    /// In order of part and place.
    pub replaced: Vec<Replacement>,
}

/// A text without its secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RedactedText {
    /// The text.
    pub text: String,
    /// In order of place; the part is `note`.
    pub replaced: Vec<Replacement>,
}

/// Replaces secrets under one mode and key.
pub struct Redactor {
    mode: Mode,
    key: Vec<u8>,
    call_key: Vec<u8>,
    words: Option<aho_corasick::AhoCorasick>,
}

/// Words of an operator that are replaced, and bytes of each at least.
const WORDS: usize = 1000;
const WORD: usize = 3;

/// One part while it is redacted.
struct Piece {
    part: Part,
    index: u32,
    bytes: Vec<u8>,
    finds: Vec<Find>,
    also: Vec<Vec<u8>>,
}

impl Redactor {
    /// Returns a redactor. `key` is the store's, `call_key` that of one call: values that an agent supplied get placeholders
    /// from it alone, so that a guess does not confirm a secret. `words` are replaced wherever they stand, in any case.
    #[must_use]
    pub fn new(mode: Mode, key: Vec<u8>, call_key: Vec<u8>, words: &[String]) -> Self {
        let words: Vec<&str> = words
            .iter()
            .map(|word| word.trim())
            .filter(|word| word.len() >= WORD)
            .take(WORDS)
            .collect();
        let words = (!words.is_empty())
            .then(|| {
                aho_corasick::AhoCorasick::builder()
                    .ascii_case_insensitive(true)
                    .match_kind(aho_corasick::MatchKind::LeftmostLongest)
                    .build(words)
                    .ok()
            })
            .flatten();
        Self {
            mode,
            key,
            call_key,
            words,
        }
    }

    /// Redacts an exchange.
    #[must_use]
    pub fn exchange(&self, exchange: &Exchange) -> Redacted {
        let request_head = head::request(&exchange.request.bytes);
        let mut warnings = exchange.warnings.clone();
        let request = split(&exchange.request, &request_head, &mut warnings);
        let response = exchange.response.as_ref().map(|message| {
            let head = head::response(&message.bytes);
            (split(message, &head, &mut warnings), head)
        });
        let mut pieces = Vec::new();
        let mut add = |part, index, bytes: Vec<u8>, scan: &dyn Fn(&mut Finds<'_>)| {
            pieces.push(self.piece(part, index, bytes, scan));
        };
        add(Part::Url, 0, exchange.url.clone().into_bytes(), &|finds| {
            places::url(finds, Span::new(0, finds.bytes.len()));
            finds.shapes(Carrier::Query);
        });
        add(Part::RequestHead, 0, request.0, &|finds| {
            places::head(finds, &request_head, true);
            finds.shapes(Carrier::Header);
        });
        let media = request_head.header("content-type").unwrap_or_default();
        add(Part::RequestBody, 0, request.1, &|finds| {
            places::body(finds, media)
        });
        let answered = response.is_some();
        if let Some(((bytes, content), head)) = response {
            add(Part::ResponseHead, 0, bytes, &|finds| {
                places::head(finds, &head, false);
                finds.shapes(Carrier::Header);
            });
            let media = head.header("content-type").unwrap_or_default();
            add(Part::ResponseBody, 0, content, &|finds| {
                places::body(finds, media)
            });
        }
        for (index, message) in (0..).zip(&exchange.web_socket) {
            add(
                Part::WebSocket,
                index,
                message.payload.clone(),
                &places::guess,
            );
        }
        // Fields that are no part by themselves: the note first.
        for (index, text) in (0..).zip(others(exchange, &warnings)) {
            add(Part::Note, index, text.into_bytes(), &places::guess);
        }
        let more = self.spread(&mut pieces);
        self.hide_hosts(exchange, &mut pieces);
        let mut redacted = exchange.clone();
        redacted.warnings = warnings;
        self.assemble(redacted, pieces, answered, more)
    }

    /// Redacts a text. `supplied`: the text came from an agent, so its placeholders stay and its values get placeholders from the
    /// call's key.
    #[must_use]
    pub fn text(&self, text: &str, supplied: bool) -> RedactedText {
        let mut pieces = vec![self.piece(Part::Note, 0, text.as_bytes().to_vec(), &places::guess)];
        self.spread(&mut pieces);
        self.hide(&mut pieces, &[]);
        let Some(mut piece) = pieces.pop() else {
            return RedactedText {
                text: String::new(),
                replaced: Vec::new(),
            };
        };
        if supplied {
            // What an agent passes on as a placeholder is one already.
            piece.finds.retain(|find| {
                let from = find.span.start as usize;
                placeholder::length(text.as_bytes().get(from..).unwrap_or_default()).is_none()
            });
        }
        let mut replaced = Vec::new();
        let key = if supplied { &self.call_key } else { &self.key };
        let bytes = self.write(&piece, key, !supplied, &mut replaced);
        RedactedText {
            text: String::from_utf8_lossy(&bytes).into_owned(),
            replaced,
        }
    }

    /// Replaces secrets of known shapes in text that is about to leave. Nothing of the kind should be left; what is, is returned.
    #[must_use]
    pub fn scrub(&self, text: &str) -> RedactedText {
        let mut finds = Finds::new(text.as_bytes());
        if self.mode != Mode::Off {
            finds.shapes(Carrier::Text);
        }
        finds.settle();
        let piece = Piece {
            part: Part::Note,
            index: 0,
            bytes: text.as_bytes().to_vec(),
            also: Vec::new(),
            finds: finds.all,
        };
        let mut replaced = Vec::new();
        let bytes = self.write(&piece, &self.key, false, &mut replaced);
        RedactedText {
            text: String::from_utf8_lossy(&bytes).into_owned(),
            replaced,
        }
    }

    /// Returns a keyed hash of a value: the hexadecimal digits of its placeholder.
    pub(crate) fn hash(&self, value: &[u8]) -> String {
        let placeholder = placeholder::of(&self.key, "value", value);
        placeholder
            .trim_end_matches('}')
            .rsplit(':')
            .next()
            .unwrap_or_default()
            .to_owned()
    }

    fn piece(
        &self,
        part: Part,
        index: u32,
        bytes: Vec<u8>,
        scan: &dyn Fn(&mut Finds<'_>),
    ) -> Piece {
        let mut finds = Finds::new(&bytes);
        if self.mode != Mode::Off {
            scan(&mut finds);
        }
        if let Some(words) = &self.words {
            for found in words.find_iter(finds.bytes) {
                let span = Span::new(found.start(), found.end());
                let value = span.of(finds.bytes).to_ascii_lowercase();
                finds.kind("word", span, value);
            }
        }
        let (finds, also) = (finds.all, finds.also);
        Piece {
            part,
            index,
            bytes,
            finds,
            also,
        }
    }

    /// Values that are secrets in one piece are secrets in all. Returns whether there were more than are looked for.
    fn spread(&self, pieces: &mut [Piece]) -> bool {
        if self.mode == Mode::Off {
            return false;
        }
        let values = spread::Values::new(pieces.iter().flat_map(|piece| {
            let own = piece
                .finds
                .iter()
                .filter(|find| find.spreads)
                .map(|find| find.value.as_slice());
            own.chain(piece.also.iter().map(Vec::as_slice))
        }));
        for piece in pieces {
            let mut finds = Finds::new(&piece.bytes);
            values.find(&mut finds);
            piece.finds.append(&mut finds.all);
        }
        values.more
    }

    fn hide_hosts(&self, exchange: &Exchange, pieces: &mut [Piece]) {
        let known: Vec<String> = exchange
            .origin
            .iter()
            .map(|origin| origin.host.clone())
            .filter(|host| host != "localhost" && host.parse::<std::net::IpAddr>().is_err())
            .collect();
        self.hide(pieces, &known);
    }

    fn hide(&self, pieces: &mut [Piece], known: &[String]) {
        for piece in pieces {
            let mut finds = Finds::new(&piece.bytes);
            if self.mode == Mode::Strict {
                hosts::scan(&mut finds, known);
            }
            finds.all.append(&mut piece.finds);
            finds.settle();
            piece.finds = finds.all;
        }
    }

    /// Writes a piece with its placeholders.
    fn write(
        &self,
        piece: &Piece,
        key: &[u8],
        escape: bool,
        replaced: &mut Vec<Replacement>,
    ) -> Vec<u8> {
        let mut out = Vec::with_capacity(piece.bytes.len());
        let mut at = 0;
        let gap = |out: &mut Vec<u8>, from: u32, to: u32| {
            let text = Span {
                start: from,
                end: to,
            }
            .of(&piece.bytes);
            if !escape {
                out.extend_from_slice(text);
                return;
            }
            let mut last = 0;
            for found in memchr::memmem::find_iter(text, placeholder::OPEN) {
                out.extend_from_slice(text.get(last..found).unwrap_or_default());
                out.extend_from_slice(placeholder::ESCAPED);
                last = found + placeholder::OPEN.len();
            }
            out.extend_from_slice(text.get(last..).unwrap_or_default());
        };
        for find in &piece.finds {
            gap(&mut out, at, find.span.start);
            let kind = find
                .kind
                .or_else(|| shapes::kind_of(&find.value))
                .unwrap_or("value");
            let placeholder = placeholder::of(key, kind, &find.value);
            let quote: &[u8] = if find.quote { b"\"" } else { b"" };
            out.extend_from_slice(quote);
            let start = out.len();
            out.extend_from_slice(placeholder.as_bytes());
            replaced.push(Replacement {
                part: piece.part,
                index: piece.index,
                place: find.span,
                shown: Span::new(start, out.len()),
                kind: kind.to_owned(),
                carrier: find.carrier,
                name: find.name.clone(),
                placeholder,
            });
            out.extend_from_slice(quote);
            at = find.span.end;
        }
        gap(&mut out, at, Span::new(0, piece.bytes.len()).end);
        out
    }

    fn assemble(
        &self,
        mut redacted: Exchange,
        pieces: Vec<Piece>,
        answered: bool,
        more: bool,
    ) -> Redacted {
        let mut replaced = Vec::new();
        let mut texts = Vec::new();
        redacted.request.bytes.clear();
        redacted.request.decoded = true;
        if let Some(response) = &mut redacted.response
            && answered
        {
            response.bytes.clear();
            response.decoded = true;
        }
        for piece in pieces {
            let note = piece.part == Part::Note && piece.index > 0;
            let mut own = Vec::new();
            let bytes = self.write(&piece, &self.key, true, &mut own);
            if !note {
                replaced.append(&mut own);
            }
            match piece.part {
                Part::Url => redacted.url = into_text(bytes),
                Part::RequestHead | Part::RequestBody => redacted.request.bytes.extend(bytes),
                Part::ResponseHead | Part::ResponseBody => {
                    if let Some(response) = &mut redacted.response {
                        response.bytes.extend(bytes);
                    }
                }
                Part::WebSocket => {
                    if let Some(message) = redacted.web_socket.get_mut(piece.index as usize) {
                        message.payload = bytes;
                    }
                }
                Part::Note => texts.push(into_text(bytes)),
            }
        }
        set_others(&mut redacted, texts);
        if more {
            redacted.warnings.push(Warning::new(
                "many-secrets",
                "the exchange has more secrets than are looked for in its other places",
            ));
        }
        Redacted {
            exchange: redacted,
            replaced,
        }
    }
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Returns the head as it is, and the body decoded. What was odd or lost in decoding is added to the warnings.
fn split(message: &Message, head: &head::Head, warnings: &mut Vec<Warning>) -> (Vec<u8>, Vec<u8>) {
    let decoded = body::decode_with(message, head, &body::BodyLimits::default());
    warnings.extend(decoded.warnings);
    (head.span.of(&message.bytes).to_vec(), decoded.bytes)
}

/// The texts of an exchange that are no part: note, error, extra, addresses, host, warnings.
fn others(exchange: &Exchange, warnings: &[Warning]) -> Vec<String> {
    let mut texts = vec![
        exchange.note.clone(),
        exchange.error.clone().unwrap_or_default(),
        exchange.extra.clone(),
        exchange.server_address.clone(),
        exchange
            .origin
            .as_ref()
            .map_or(String::new(), |origin| origin.host.clone()),
    ];
    texts.extend(warnings.iter().map(|warning| warning.detail.clone()));
    texts
}

fn set_others(exchange: &mut Exchange, texts: Vec<String>) {
    let mut texts = texts.into_iter();
    let mut next = || texts.next().unwrap_or_default();
    exchange.note = next();
    let error = next();
    if exchange.error.is_some() {
        exchange.error = Some(error);
    }
    exchange.extra = next();
    exchange.server_address = next();
    let host = next();
    if let Some(origin) = &mut exchange.origin {
        origin.host = host;
    }
    for warning in &mut exchange.warnings {
        warning.detail = next();
    }
}
