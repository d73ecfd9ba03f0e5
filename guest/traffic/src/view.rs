//! An exchange as text or JSON under a budget.
//!
//! The response comes first. Bodies are windows with the offset of the next one; binary bodies are described, never shown. Values are
//! cut before they are encoded, so the result is always whole.

use serde::Serialize;

use crate::message::body::{self, BodyLimits, Decoded};
use crate::message::head::{self, Head};
use crate::types::{Exchange, Message, Provenance};

/// How an exchange is shown.
#[derive(Clone, Copy, Debug)]
pub struct ViewOptions {
    /// JSON; else text.
    pub json: bool,
    /// Bytes of the result at most; at least 512 are given.
    pub budget: u32,
    /// Whether the request is shown.
    pub request: bool,
    /// Whether the response is shown.
    pub response: bool,
    /// Whether bodies are shown.
    pub bodies: bool,
    /// The offset in the request body, in bytes of its decoded text.
    pub request_offset: u32,
    /// The offset in the response body, in bytes of its decoded text.
    pub response_offset: u32,
}

impl Default for ViewOptions {
    fn default() -> Self {
        Self {
            json: false,
            budget: 16 << 10,
            request: true,
            response: true,
            bodies: true,
            request_offset: 0,
            response_offset: 0,
        }
    }
}

/// A view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    /// The text or the JSON.
    pub text: String,
    /// Where the rest of the request body begins, where there is more.
    pub next_request_offset: Option<u32>,
    /// Where the rest of the response body begins, where there is more.
    pub next_response_offset: Option<u32>,
    /// Whether anything else was cut: header values or the URL.
    pub cut: bool,
}

/// Least budget: a start line, some headers and a note that there is more.
const LEAST: usize = 512;

/// Characters of a URL or a header value in a view.
const VALUE: usize = 1000;

/// Header lines of one message.
const HEADERS: usize = 100;

#[derive(Clone, Serialize)]
struct Line {
    name: String,
    value: String,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    size: usize,
    offset: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u32>,
    #[serde(skip_serializing_if = "str::is_empty")]
    media_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    binary: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    line: String,
    provenance: Provenance,
    headers: Vec<Line>,
    #[serde(skip_serializing_if = "is_zero")]
    headers_left_out: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Body>,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "str::is_empty")]
    time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "str::is_empty")]
    note: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<Part>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<Part>,
}

/// A message that is read once and shown with windows of different sizes.
struct Source {
    head: Head,
    decoded: Decoded,
    text: String,
    provenance: Provenance,
    offset: usize,
}

impl Source {
    fn new(message: &Message, request: bool, offset: u32) -> Self {
        let head = if request {
            head::request(&message.bytes)
        } else {
            head::response(&message.bytes)
        };
        let decoded = body::decode_with(message, &head, &BodyLimits::default());
        let text = if decoded.text {
            String::from_utf8_lossy(&decoded.bytes).into_owned()
        } else {
            String::new()
        };
        let mut offset = (offset as usize).min(text.len());
        while !text.is_char_boundary(offset) {
            offset += 1;
        }
        Self {
            head,
            decoded,
            text,
            provenance: message.provenance,
            offset,
        }
    }

    fn line(&self, request: bool) -> (String, bool) {
        let head = &self.head;
        let (line, cut) = short(if request { &head.target } else { &head.reason });
        let text = if request {
            format!(
                "{} {line} {}",
                visible(&head.method),
                visible(&head.version)
            )
        } else {
            let status = head.status.map_or("-".into(), |status| status.to_string());
            format!("{} {status} {line}", visible(&head.version))
        };
        (text.trim_end().to_owned(), cut)
    }

    /// The message with at most `window` bytes of its body and `most` header lines.
    fn part(
        &self,
        request: bool,
        bodies: bool,
        window: usize,
        most: usize,
    ) -> (Part, Option<u32>, bool) {
        let (line, mut cut) = self.line(request);
        let mut headers = Vec::new();
        for header in self.head.headers.iter().take(most) {
            let (value, short) = short(&header.value);
            cut |= short;
            headers.push(Line {
                name: visible(&header.name),
                value,
            });
        }
        let left_out = self.head.headers.len() - headers.len();
        cut |= left_out > 0;
        let (body, next) = if bodies {
            self.body(window)
        } else {
            (None, None)
        };
        let part = Part {
            line,
            provenance: self.provenance,
            headers,
            headers_left_out: left_out,
            body,
        };
        (part, next, cut)
    }

    fn body(&self, window: usize) -> (Option<Body>, Option<u32>) {
        if self.decoded.bytes.is_empty() {
            return (None, None);
        }
        let notes = self
            .decoded
            .warnings
            .iter()
            .map(|warning| visible(&warning.detail))
            .collect();
        let mut body = Body {
            size: self.decoded.bytes.len(),
            offset: 0,
            next_offset: None,
            media_type: short(&self.decoded.media_type).0,
            text: None,
            binary: None,
            notes,
        };
        if !self.decoded.text {
            body.binary = Some(format!(
                "{} bytes, SHA-256 {}",
                body.size,
                crate::codec::sha256(&self.decoded.bytes)
            ));
            return (Some(body), None);
        }
        let mut end = self.text.len().min(self.offset.saturating_add(window));
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let number = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        body.offset = number(self.offset);
        body.next_offset = (end < self.text.len()).then(|| number(end));
        body.text = Some(visible(self.text.get(self.offset..end).unwrap_or_default()));
        let next = body.next_offset;
        (Some(body), next)
    }
}

/// Returns an exchange as text or JSON.
#[must_use]
pub fn view(exchange: &Exchange, options: &ViewOptions) -> View {
    let budget = (options.budget as usize).max(LEAST);
    let request = options
        .request
        .then(|| Source::new(&exchange.request, true, options.request_offset));
    let response = exchange
        .response
        .as_ref()
        .filter(|_| options.response)
        .map(|message| Source::new(message, false, options.response_offset));
    // The response has three quarters of the room, and whatever the request does not need.
    let mut window = (budget * 3 / 4, budget / 4);
    let mut headers = HEADERS;
    let mut detail = true;
    loop {
        let (shown, next, cut) = show(
            exchange,
            options,
            (response.as_ref(), request.as_ref()),
            window,
            headers,
            detail,
        );
        let text = if options.json {
            serde_json::to_string(&shown).unwrap_or_default()
        } else {
            to_text(&shown)
        };
        let smallest = window == (0, 0) && headers == 0 && !detail;
        if text.len() <= budget || smallest {
            return View {
                text,
                next_request_offset: next.1,
                next_response_offset: next.0,
                cut,
            };
        }
        // What is over goes first from the request, then from the response, then from the headers.
        let over = text.len() - budget + 16;
        let shown_request = request
            .as_ref()
            .map_or(0, |source| source.text.len() - source.offset)
            .min(window.1);
        let shown_response = response
            .as_ref()
            .map_or(0, |source| source.text.len() - source.offset)
            .min(window.0);
        if shown_request > 0 {
            window.1 = shown_request
                .saturating_sub(over)
                .min(shown_request / 2 + shown_request / 4);
        } else if shown_response > 0 {
            window = (
                shown_response.saturating_sub(over.max(shown_response / 8)),
                0,
            );
        } else if headers > 0 {
            window = (0, 0);
            headers /= 2;
        } else {
            window = (0, 0);
            detail = false;
        }
    }
}

type Next = (Option<u32>, Option<u32>);

fn show(
    exchange: &Exchange,
    options: &ViewOptions,
    sources: (Option<&Source>, Option<&Source>),
    window: (usize, usize),
    headers: usize,
    detail: bool,
) -> (Shown, Next, bool) {
    let most = if detail { VALUE } else { 64 };
    let (url, mut cut) = shorten(&exchange.url, most);
    let mut next = (None, None);
    let response = sources.0.map(|source| {
        let (part, offset, short) = source.part(false, options.bodies, window.0, headers);
        next.0 = offset;
        cut |= short;
        part
    });
    let request = sources.1.map(|source| {
        let (part, offset, short) = source.part(true, options.bodies, window.1, headers);
        next.1 = offset;
        cut |= short;
        part
    });
    let tiny = |part: Option<Part>| {
        part.map(|mut part| {
            if !detail {
                part.line = shorten(&part.line, 64).0;
            }
            part
        })
    };
    let shown = Shown {
        url,
        status: exchange.status,
        time: shorten(&exchange.time_text, 64).0,
        error: exchange
            .error
            .as_ref()
            .map(|error| shorten(error, most / 4).0),
        note: if detail {
            short(&exchange.note).0
        } else {
            String::new()
        },
        response: tiny(response),
        request: tiny(request),
    };
    (shown, next, cut)
}

fn to_text(shown: &Shown) -> String {
    let mut out = String::new();
    out.push_str(&format!("URL: {}\n", shown.url));
    for (name, value) in [("Time", &shown.time), ("Note", &shown.note)] {
        if !value.is_empty() {
            out.push_str(&format!("{name}: {value}\n"));
        }
    }
    if let Some(error) = &shown.error {
        out.push_str(&format!("Error: {error}\n"));
    }
    for (name, part) in [("Response", &shown.response), ("Request", &shown.request)] {
        let Some(part) = part else { continue };
        let provenance = match part.provenance {
            Provenance::Wire => "wire",
            Provenance::Rebuilt => "rebuilt",
            Provenance::Decoded => "decoded",
            Provenance::Agent => "agent",
        };
        out.push_str(&format!("\n{name} ({provenance}):\n{}\n", part.line));
        for header in &part.headers {
            out.push_str(&format!("{}: {}\n", header.name, header.value));
        }
        if part.headers_left_out > 0 {
            out.push_str(&format!(
                "[{} header lines left out]\n",
                part.headers_left_out
            ));
        }
        let Some(body) = &part.body else { continue };
        out.push('\n');
        if body.offset > 0 {
            out.push_str(&format!("[from offset {}]\n", body.offset));
        }
        if let Some(text) = &body.text {
            out.push_str(text);
            out.push('\n');
        }
        if let Some(binary) = &body.binary {
            out.push_str(&format!("[binary, {}: {binary}]\n", body.media_type));
        }
        if let Some(next) = body.next_offset {
            out.push_str(&format!(
                "[{} bytes in all; the next offset is {next}]\n",
                body.size
            ));
        }
        for note in &body.notes {
            out.push_str(&format!("[{note}]\n"));
        }
    }
    out
}

fn short(text: &str) -> (String, bool) {
    shorten(text, VALUE)
}

fn shorten(text: &str, most: usize) -> (String, bool) {
    match text.char_indices().nth(most) {
        Some((end, _)) => {
            let rest = text.len() - end;
            let kept = text.get(..end).unwrap_or_default();
            (format!("{}…[{rest} bytes more]", visible(kept)), true)
        }
        None => (visible(text), false),
    }
}

/// Returns the text with control characters and characters that change the direction of text in a form that can be seen. Line ends and
/// tabs stay; CRLF becomes LF.
#[must_use]
pub fn visible(text: &str) -> String {
    let odd = |character: char| {
        (character.is_control() && character != '\n' && character != '\t')
            || matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    if !text.chars().any(odd) {
        return text.to_owned();
    }
    let text = text.replace("\r\n", "\n");
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if odd(character) {
            out.push_str(&format!("\\u{{{:x}}}", u32::from(character)));
        } else {
            out.push(character);
        }
    }
    out
}
