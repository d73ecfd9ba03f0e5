//! Burp's "Save items" XML as a stream of bytes.
//!
//! The format is often neither valid XML nor valid UTF-8: messages stand raw in CDATA, with NUL bytes and whatever line
//! ends the wire had. So nothing is decoded or folded here; the document type is skipped, not processed.

use super::{Bad, Limits};

/// Bytes of one tag. Attributes are a version, a date and an address.
const TAG: usize = 4096;

/// Bytes of white space between the end of a CDATA section and the tags that must follow it.
const SPACE: usize = 256;

/// Bytes of an entity reference such as `&#x10FFFF;`.
const ENTITY: usize = 12;

/// The elements of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Time,
    Url,
    Host,
    Port,
    Protocol,
    Method,
    Path,
    Request,
    Status,
    Mimetype,
    Response,
    Comment,
    Colour,
    Other,
}

const NAMES: &[(&[u8], Slot)] = &[
    (b"time", Slot::Time),
    (b"url", Slot::Url),
    (b"host", Slot::Host),
    (b"port", Slot::Port),
    (b"protocol", Slot::Protocol),
    (b"method", Slot::Method),
    (b"path", Slot::Path),
    (b"request", Slot::Request),
    (b"status", Slot::Status),
    (b"mimetype", Slot::Mimetype),
    (b"response", Slot::Response),
    (b"comment", Slot::Comment),
    (b"highlight", Slot::Colour),
    (b"color", Slot::Colour),
    (b"extension", Slot::Other),
    (b"responselength", Slot::Other),
];

const SLOTS: usize = Slot::Other as usize + 1;

/// The content of one element.
#[derive(Default)]
pub(super) struct Field {
    pub(super) bytes: Vec<u8>,
    /// Bytes beyond the limit.
    pub(super) dropped: u64,
    /// Whether the element occurred.
    pub(super) present: bool,
    /// The attribute `base64`, where it is there.
    pub(super) base64: Option<bool>,
    /// Whether it had a CDATA section.
    pub(super) cdata: bool,
    /// Whether something other than white space stood outside of CDATA.
    text: bool,
}

/// The elements of one item.
#[derive(Default)]
pub(super) struct Fields {
    slots: [Field; SLOTS],
    /// The attribute `ip` of `host`.
    pub(super) address: Vec<u8>,
    /// What is wrong with the item as a whole.
    pub(super) broken: Option<(&'static str, String)>,
}

impl Fields {
    pub(super) fn take(&mut self, slot: Slot) -> Field {
        self.slots
            .get_mut(slot as usize)
            .map(std::mem::take)
            .unwrap_or_default()
    }

    fn field(&mut self, slot: Slot) -> Option<&mut Field> {
        self.slots.get_mut(slot as usize)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before `<items>` or outside of `<item>`.
    Outside,
    /// In `<item>`, between elements.
    Item,
    /// In an element, outside of CDATA.
    Text(Slot),
    /// In an element's CDATA.
    Cdata(Slot),
    /// In a comment, a processing instruction or CDATA that belongs to no element.
    Skip { end: &'static [u8], item: bool },
    /// In the document type.
    Doctype { depth: u32, quote: u8 },
    /// After `</items>`.
    Done,
}

pub(super) struct Scanner {
    buffer: Vec<u8>,
    at: usize,
    consumed: u64,
    state: State,
    fields: Fields,
    /// The name of the element that is open, as written.
    element: Vec<u8>,
    /// The last two bytes of CDATA content, to recognise a split `]]>`.
    last: [u8; 2],
    started: bool,
    writer: String,
    limits: Limits,
}

enum Step {
    /// Something was consumed.
    On,
    /// More bytes are needed.
    Wait,
    /// An item ended.
    Item,
}

impl Scanner {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            buffer: Vec::new(),
            at: 0,
            consumed: 0,
            state: State::Outside,
            fields: Fields::default(),
            element: Vec::new(),
            last: [0; 2],
            started: false,
            writer: String::new(),
            limits,
        }
    }

    pub(super) fn feed(&mut self, chunk: &[u8]) {
        self.buffer.drain(..self.at.min(self.buffer.len()));
        self.at = 0;
        self.buffer.extend_from_slice(chunk);
    }

    pub(super) fn offset(&self) -> u64 {
        self.consumed
    }

    pub(super) fn writer(&self) -> String {
        self.writer.clone()
    }

    pub(super) fn complete(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Returns the next item, or `None` where more bytes are needed.
    pub(super) fn next(&mut self, ended: bool) -> Result<Option<Fields>, Bad> {
        loop {
            match self.step(ended) {
                Step::On => {}
                Step::Item => return Ok(Some(std::mem::take(&mut self.fields))),
                Step::Wait if ended => return self.end(),
                Step::Wait => return Ok(None),
            }
        }
    }

    /// The file is over: what is open is an item that was cut.
    fn end(&mut self) -> Result<Option<Fields>, Bad> {
        let open = !matches!(
            self.state,
            State::Outside | State::Done | State::Doctype { .. } | State::Skip { item: false, .. }
        );
        if open {
            self.state = State::Outside;
            let mut fields = std::mem::take(&mut self.fields);
            fields.broken = Some(("truncated", "the file ends inside this item".into()));
            self.at = self.buffer.len();
            return Ok(Some(fields));
        }
        if self.started {
            return Ok(None);
        }
        Err(Bad::new(
            "not-the-format",
            "the file is not Burp \"Save items\" XML: it has no <items>",
        ))
    }

    fn rest(&self) -> &[u8] {
        self.buffer.get(self.at..).unwrap_or_default()
    }

    fn consume(&mut self, bytes: usize) {
        self.at += bytes;
        self.consumed += bytes as u64;
    }

    fn step(&mut self, ended: bool) -> Step {
        if self.at >= self.buffer.len() {
            return Step::Wait;
        }
        match self.state {
            State::Outside => self.markup(false, ended),
            State::Item => self.markup(true, ended),
            State::Text(slot) => self.text(slot, ended),
            State::Cdata(slot) => self.cdata(slot, ended),
            State::Skip { end, item } => self.skip(end, item),
            State::Doctype { depth, quote } => self.doctype(depth, quote),
            State::Done => {
                self.consume(self.rest().len());
                Step::On
            }
        }
    }

    /// The next tag outside of elements.
    fn markup(&mut self, item: bool, ended: bool) -> Step {
        let Some(open) = memchr::memchr(b'<', self.rest()) else {
            self.consume(self.rest().len());
            return Step::On;
        };
        self.consume(open);
        let rest = self.rest();
        for (start, end) in [
            (&b"<!--"[..], &b"-->"[..]),
            (b"<![CDATA[", b"]]>"),
            (b"<?", b"?>"),
        ] {
            if rest.starts_with(start) {
                self.consume(start.len());
                self.state = State::Skip { end, item };
                return Step::On;
            }
        }
        if rest.starts_with(b"<!DOCTYPE") {
            self.consume(b"<!DOCTYPE".len());
            self.state = State::Doctype { depth: 0, quote: 0 };
            return Step::On;
        }
        let longer: [&[u8]; 4] = [b"<!--", b"<![CDATA[", b"<?", b"<!DOCTYPE"];
        if !ended && longer.iter().any(|start| start.starts_with(rest)) {
            return Step::Wait;
        }
        let end = tag_end(rest);
        if end.is_none() && rest.len() < TAG && !ended {
            return Step::Wait;
        }
        let Some(length) = end.filter(|&length| length > 0) else {
            // No tag: an unescaped character, or one that never ends.
            self.consume(1);
            return Step::On;
        };
        let tag = rest.get(..length).unwrap_or_default().to_vec();
        self.consume(length);
        self.tag(&tag, item)
    }

    fn tag(&mut self, tag: &[u8], item: bool) -> Step {
        let inner = tag.get(1..tag.len() - 1).unwrap_or_default();
        if let Some(name) = inner.strip_prefix(b"/") {
            return self.closing(name.trim_ascii(), item);
        }
        let empty = inner.ends_with(b"/");
        let inner = inner.strip_suffix(b"/").unwrap_or(inner);
        let length = inner
            .iter()
            .position(u8::is_ascii_whitespace)
            .unwrap_or(inner.len());
        let (name, attributes) = inner.split_at_checked(length).unwrap_or((inner, b""));
        match name {
            b"items" if !item => {
                self.started = true;
                if let Some(version) = attribute(attributes, b"burpVersion") {
                    self.writer = format!("Burp {}", crate::bytes::lossy(version, 64));
                }
            }
            b"item" => {
                self.started = true;
                if item {
                    // The item before was never closed.
                    self.fields.broken =
                        Some(("unclosed-item", "the next item begins inside of it".into()));
                    return Step::Item;
                }
                self.state = State::Item;
            }
            _ if item => self.element(name, attributes, empty),
            _ => {}
        }
        Step::On
    }

    fn closing(&mut self, name: &[u8], item: bool) -> Step {
        match name {
            b"item" if item => {
                self.state = State::Outside;
                return Step::Item;
            }
            b"items" => {
                let open = item;
                self.state = State::Done;
                if open {
                    self.fields.broken =
                        Some(("unclosed-item", "the list ends inside of it".into()));
                    return Step::Item;
                }
            }
            _ => {}
        }
        Step::On
    }

    fn element(&mut self, name: &[u8], attributes: &[u8], empty: bool) {
        let slot = slot(name);
        if slot == Slot::Host
            && let Some(address) = attribute(attributes, b"ip")
        {
            self.fields.address = address.to_vec();
        }
        if let Some(field) = self.fields.field(slot) {
            *field = Field {
                present: true,
                base64: attribute(attributes, b"base64")
                    .map(|value| value.eq_ignore_ascii_case(b"true")),
                ..Field::default()
            };
        }
        if !empty {
            self.element = name.to_vec();
            self.state = State::Text(slot);
        }
    }

    /// Content of an element outside of CDATA.
    fn text(&mut self, slot: Slot, ended: bool) -> Step {
        let rest = self.rest();
        let at = memchr::memchr2(b'<', b'&', rest).unwrap_or(rest.len());
        if at > 0 {
            let text = rest.get(..at).unwrap_or_default().to_vec();
            self.keep_text(slot, &text);
            self.consume(at);
            return Step::On;
        }
        if rest.first() == Some(&b'&') {
            return self.entity(slot, ended);
        }
        if rest.starts_with(b"<![CDATA[") {
            self.consume(9);
            self.begin_cdata(slot);
            return Step::On;
        }
        if rest.get(1).is_some_and(|next| !b"/!".contains(next)) {
            // An unescaped character, as in pages that were pasted in.
            self.keep_text(slot, b"<");
            self.consume(1);
            return Step::On;
        }
        let closer = [b"</", self.element.as_slice()].concat();
        match closes(rest, &closer) {
            Look::Yes(length) => {
                self.consume(length);
                self.state = State::Item;
                return Step::On;
            }
            Look::Unknown if !ended => return Step::Wait,
            _ => {}
        }
        match closes(rest, b"</item") {
            Look::Yes(_) => {
                // The element was never closed; the item's own end ends it.
                self.state = State::Item;
                return Step::On;
            }
            Look::Unknown if !ended => return Step::Wait,
            _ => {}
        }
        if !ended && b"<![CDATA[".starts_with(rest) {
            return Step::Wait;
        }
        self.keep_text(slot, b"<");
        self.consume(1);
        Step::On
    }

    fn entity(&mut self, slot: Slot, ended: bool) -> Step {
        let rest = self.rest();
        let window = rest.get(..ENTITY.min(rest.len())).unwrap_or_default();
        let Some(end) = memchr::memchr(b';', window) else {
            if window.len() < ENTITY && !ended {
                return Step::Wait;
            }
            self.keep_text(slot, b"&");
            self.consume(1);
            return Step::On;
        };
        let name = window.get(1..end).unwrap_or_default();
        match entity(name) {
            Some(decoded) => {
                // A written-out line end is content, unlike the indentation around CDATA.
                if let Some(field) = self.fields.field(slot) {
                    field.text = true;
                }
                self.keep(slot, &decoded);
                self.consume(end + 1);
            }
            None => {
                self.keep_text(slot, b"&");
                self.consume(1);
            }
        }
        Step::On
    }

    fn begin_cdata(&mut self, slot: Slot) {
        self.last = [0; 2];
        self.state = State::Cdata(slot);
        if let Some(field) = self.fields.field(slot) {
            // White space around a CDATA section is indentation.
            if !field.text && !field.cdata {
                field.bytes.clear();
            }
            field.cdata = true;
        }
    }

    fn cdata(&mut self, slot: Slot, ended: bool) -> Step {
        let rest = self.rest();
        let Some(at) = memchr::memmem::find(rest, b"]]>") else {
            // Two bytes may be the start of the end.
            let held = if ended { 0 } else { 2.min(rest.len()) };
            let length = rest.len() - held;
            if length == 0 {
                return Step::Wait;
            }
            self.keep_cdata(slot, length);
            return Step::On;
        };
        if at > 0 {
            self.keep_cdata(slot, at);
            return Step::On;
        }
        if rest.starts_with(b"]]><![CDATA[>") && self.last == *b"]]" {
            self.consume(12);
            self.keep_cdata(slot, 1);
            return Step::On;
        }
        if !ended && b"]]><![CDATA[>".starts_with(rest) {
            return Step::Wait;
        }
        match self.cdata_ends(slot) {
            Look::Yes(length) => {
                self.consume(length);
                self.state = State::Item;
                Step::On
            }
            Look::Unknown if !ended => Step::Wait,
            Look::Unknown => {
                // Cut right after the end of the section: what follows it is missing.
                self.consume(self.rest().len());
                Step::On
            }
            Look::No => {
                self.keep_cdata(slot, 3);
                Step::On
            }
        }
    }

    /// Whether `]]>` is the end of the element: its closing tag follows and, since a message may hold that too, after it
    /// another element of the item or the item's end.
    fn cdata_ends(&self, slot: Slot) -> Look {
        let rest = self.rest();
        let closer = [b"</", self.element.as_slice()].concat();
        let Look::Yes(mut at) = spaces(rest, 3) else {
            return spaces(rest, 3);
        };
        match closes(rest.get(at..).unwrap_or_default(), &closer) {
            Look::Yes(length) => at += length,
            other => return other,
        }
        let end = at;
        if !matches!(slot, Slot::Request | Slot::Response) {
            return Look::Yes(end);
        }
        match spaces(rest, at) {
            Look::Yes(next) => at = next,
            other => return other,
        }
        let next = rest.get(at..).unwrap_or_default();
        let mut unknown = false;
        for (name, _) in NAMES {
            match opens(next, name) {
                Look::Yes(_) => return Look::Yes(end),
                Look::Unknown => unknown = true,
                Look::No => {}
            }
        }
        match closes(next, b"</item") {
            Look::Yes(_) => Look::Yes(end),
            Look::No if !unknown => Look::No,
            _ => Look::Unknown,
        }
    }

    fn keep_cdata(&mut self, slot: Slot, length: usize) {
        let content = self
            .buffer
            .get(self.at..self.at + length)
            .unwrap_or_default();
        let mut last = self.last;
        for &byte in content.iter().rev().take(2).rev() {
            last = [last[1], byte];
        }
        self.last = last;
        let limit = room(slot, &self.limits);
        if let Some(field) = self.fields.field(slot) {
            append(field, content, limit);
        }
        self.consume(length);
    }

    fn keep_text(&mut self, slot: Slot, text: &[u8]) {
        let blank = text.iter().all(u8::is_ascii_whitespace);
        if let Some(field) = self.fields.field(slot) {
            if blank && field.cdata {
                return;
            }
            field.text |= !blank;
        }
        self.keep(slot, text);
    }

    fn keep(&mut self, slot: Slot, text: &[u8]) {
        let limit = room(slot, &self.limits);
        if let Some(field) = self.fields.field(slot) {
            append(field, text, limit);
        }
    }

    fn skip(&mut self, end: &'static [u8], item: bool) -> Step {
        let rest = self.rest();
        if let Some(at) = memchr::memmem::find(rest, end) {
            self.consume(at + end.len());
            self.state = if item { State::Item } else { State::Outside };
            return Step::On;
        }
        let held = (end.len() - 1).min(rest.len());
        let length = rest.len() - held;
        if length == 0 {
            return Step::Wait;
        }
        self.consume(length);
        Step::On
    }

    fn doctype(&mut self, mut depth: u32, mut quote: u8) -> Step {
        let mut taken = 0;
        for &byte in self.rest() {
            taken += 1;
            match byte {
                _ if quote != 0 && byte == quote => quote = 0,
                _ if quote != 0 => {}
                b'"' | b'\'' => quote = byte,
                b'[' | b'<' => depth = depth.saturating_add(1),
                b']' => depth = depth.saturating_sub(1),
                b'>' if depth == 0 => {
                    self.consume(taken);
                    self.state = State::Outside;
                    return Step::On;
                }
                b'>' => depth -= 1,
                _ => {}
            }
        }
        self.consume(taken);
        self.state = State::Doctype { depth, quote };
        Step::On
    }
}

/// Whether something is there, as far as the bytes tell.
enum Look {
    Yes(usize),
    No,
    Unknown,
}

/// The offset after white space from `at` on.
fn spaces(rest: &[u8], at: usize) -> Look {
    let tail = rest.get(at..).unwrap_or_default();
    match tail.iter().position(|byte| !byte.is_ascii_whitespace()) {
        Some(length) if length <= SPACE => Look::Yes(at + length),
        None if tail.len() <= SPACE => Look::Unknown,
        _ => Look::No,
    }
}

/// The length of the closing tag at the start of `rest`; `closer` is `</name`.
fn closes(rest: &[u8], closer: &[u8]) -> Look {
    if closer.starts_with(rest) {
        return Look::Unknown;
    }
    if !rest.starts_with(closer) {
        return Look::No;
    }
    match spaces(rest, closer.len()) {
        Look::Yes(at) if rest.get(at) == Some(&b'>') => Look::Yes(at + 1),
        Look::Yes(_) => Look::No,
        other => other,
    }
}

/// Whether `<name` begins `rest` and the name ends there.
fn opens(rest: &[u8], name: &[u8]) -> Look {
    if rest.is_empty() {
        return Look::Unknown;
    }
    let Some(tail) = rest.strip_prefix(b"<") else {
        return Look::No;
    };
    if name.starts_with(tail) {
        return Look::Unknown;
    }
    match tail.strip_prefix(name).map(<[u8]>::first) {
        Some(Some(b'>' | b'/' | b' ' | b'\t' | b'\r' | b'\n')) => Look::Yes(0),
        Some(None) => Look::Unknown,
        _ => Look::No,
    }
}

fn slot(name: &[u8]) -> Slot {
    NAMES
        .iter()
        .find(|(known, _)| *known == name)
        .map_or(Slot::Other, |(_, slot)| *slot)
}

/// Bytes that a field may hold.
fn room(slot: Slot, limits: &Limits) -> usize {
    match slot {
        // As base64 and with its line ends, a third longer than the message; the message's own limit is applied later.
        Slot::Request | Slot::Response => {
            (limits.body as usize).saturating_add(limits.item as usize) / 3 * 4
                + limits.item as usize / 8
        }
        Slot::Other => 0,
        _ => limits.item as usize,
    }
}

fn append(field: &mut Field, bytes: &[u8], limit: usize) {
    let room = limit.saturating_sub(field.bytes.len()).min(bytes.len());
    field
        .bytes
        .extend_from_slice(bytes.get(..room).unwrap_or_default());
    field.dropped += (bytes.len() - room) as u64;
}

/// The length of the tag at the start of `rest`, with quotes respected; 0 where it is none, `None` where it does not end.
fn tag_end(rest: &[u8]) -> Option<usize> {
    let mut quote = 0;
    for (at, &byte) in rest.iter().take(TAG).enumerate() {
        match byte {
            _ if quote != 0 && byte == quote => quote = 0,
            _ if quote != 0 => {}
            b'"' | b'\'' => quote = byte,
            b'>' => return Some(at + 1),
            // No tag holds one: what began before was none.
            b'<' if at > 0 => return Some(0),
            _ => {}
        }
    }
    None
}

fn attribute<'a>(attributes: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut rest = attributes.trim_ascii_start();
    while !rest.is_empty() {
        let equals = memchr::memchr(b'=', rest)?;
        let (key, value) = rest.split_at_checked(equals)?;
        let value = value.get(1..)?.trim_ascii_start();
        let quote = *value.first()?;
        if quote != b'"' && quote != b'\'' {
            return None;
        }
        let end = memchr::memchr(quote, value.get(1..)?)? + 1;
        if key.trim_ascii() == name {
            return value.get(1..end);
        }
        rest = value.get(end + 1..)?.trim_ascii_start();
    }
    None
}

/// What an entity reference stands for: the five names and numbers. Others are left as written.
fn entity(name: &[u8]) -> Option<Vec<u8>> {
    let character = match name {
        b"amp" => '&',
        b"lt" => '<',
        b"gt" => '>',
        b"quot" => '"',
        b"apos" => '\'',
        _ => {
            let digits = str::from_utf8(name.strip_prefix(b"#")?).ok()?;
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
                None => digits.parse().ok()?,
            };
            char::from_u32(code)?
        }
    };
    Some(character.to_string().into_bytes())
}
