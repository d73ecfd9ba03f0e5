//! The head of a message, read without ever failing: odd lines are kept and marked.

use serde::Serialize;

use crate::bytes::lossy;
use crate::limits;
use crate::types::{Span, Warning};

/// One header line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Header {
    /// The name, as written.
    pub name: String,
    /// The value without white space around it; what is no UTF-8 is replaced.
    pub value: String,
    /// The whole line with its line end.
    pub line: Span,
    /// The value in the message.
    pub place: Span,
    /// What is odd about the line: `folded`, `no-colon`, `space-before-colon`, `empty-name`, `bad-name`, `control-character`,
    /// `bare-cr`; empty where it is as it should be.
    pub odd: String,
}

/// The head of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Head {
    /// The method of a request, empty in a response.
    pub method: String,
    /// The target of a request, as written; empty in a response.
    pub target: String,
    /// The target in the message.
    pub target_place: Span,
    /// The version, as written; empty where there is none.
    pub version: String,
    /// The status of a response, where it is a number.
    pub status: Option<u16>,
    /// The reason of a response.
    pub reason: String,
    /// In order.
    pub headers: Vec<Header>,
    /// First line, header lines and the blank line.
    pub span: Span,
    /// What follows.
    pub body: Span,
    /// `crlf`, `lf` or `mixed`.
    pub line_ends: String,
    /// Whether the head ends with a blank line.
    pub complete: bool,
    /// What a strict parser says: empty where it accepts the head.
    pub strict: String,
    /// What was odd.
    pub warnings: Vec<Warning>,
}

impl Head {
    /// Returns the value of the first header of that name, in any case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case(name))
            .map(|header| header.value.as_str())
    }

    /// Returns the values of all headers of that name, in any case.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers
            .iter()
            .filter(move |header| header.name.eq_ignore_ascii_case(name))
            .map(|header| header.value.as_str())
    }
}

/// Reads the head of a request.
#[must_use]
pub fn request(message: &[u8]) -> Head {
    let mut head = read(message, true);
    head.strict = strict_request(Span::new(0, head.span.end as usize).of(message));
    head
}

/// Reads the head of a response.
#[must_use]
pub fn response(message: &[u8]) -> Head {
    let mut head = read(message, false);
    head.strict = strict_response(Span::new(0, head.span.end as usize).of(message));
    head
}

/// Returns the length of the head with its blank line, or `None` where there is no blank line.
#[must_use]
pub fn head_length(message: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let end = memchr::memchr(b'\n', message.get(at..)?)? + at;
        let line = message.get(at..end)?;
        // A blank first line is no end: some clients send one before a request.
        if at > 0 && (line.is_empty() || line == b"\r") {
            return Some(end + 1);
        }
        at = end + 1;
    }
}

struct Lines {
    crlf: bool,
    lf: bool,
}

fn read(message: &[u8], request: bool) -> Head {
    let window = message.get(..limits::HEAD).unwrap_or(message);
    let length = head_length(window);
    let end = length.unwrap_or(window.len());
    let mut head = Head {
        complete: length.is_some(),
        span: Span::new(0, end),
        body: Span::new(end, message.len()),
        ..Head::default()
    };
    if length.is_none() {
        head.warnings.push(Warning::new(
            "no-blank-line",
            "the head does not end with a blank line",
        ));
    }
    let mut kinds = Lines {
        crlf: false,
        lf: false,
    };
    let mut first = true;
    let mut at = 0;
    while at < end {
        let rest = window.get(at..end).unwrap_or_default();
        let next = memchr::memchr(b'\n', rest).map_or(end, |found| at + found + 1);
        let (text, crlf) = line(window.get(at..next).unwrap_or_default());
        if next > at + text {
            kinds.crlf |= crlf;
            kinds.lf |= !crlf;
        }
        if text == 0 {
            if !first {
                break;
            }
        } else if first {
            first = false;
            start_line(&mut head, window, at, at + text, request);
        } else if head.headers.len() < limits::HEADERS {
            let header = header_line(window, at, at + text, next);
            head.headers.push(header);
        } else {
            head.warnings.push(Warning::new(
                "too-many-headers",
                format!("only the first {} header lines are listed", limits::HEADERS),
            ));
            break;
        }
        at = next;
    }
    head.line_ends = match kinds {
        Lines {
            crlf: true,
            lf: true,
        } => "mixed",
        Lines { lf: true, .. } => "lf",
        Lines { .. } => "crlf",
    }
    .to_owned();
    head
}

/// The length of a line without its end, and whether the end is CRLF.
fn line(line: &[u8]) -> (usize, bool) {
    match line {
        [text @ .., b'\r', b'\n'] => (text.len(), true),
        [text @ .., b'\n'] => (text.len(), false),
        _ => (line.len(), false),
    }
}

fn start_line(head: &mut Head, message: &[u8], start: usize, end: usize, request: bool) {
    let line = message.get(start..end).unwrap_or_default();
    if line.iter().any(|&byte| byte == 0 || byte == b'\r') {
        head.warnings.push(Warning::new(
            "control-character",
            "the first line holds a control character",
        ));
    }
    if request {
        request_line(head, line, start);
    } else {
        status_line(head, line);
    }
}

fn request_line(head: &mut Head, line: &[u8], start: usize) {
    let Some(space) = memchr::memchr2(b' ', b'\t', line) else {
        head.method = lossy(line, line.len());
        head.warnings.push(Warning::new(
            "bad-request-line",
            "the request line has no target",
        ));
        return;
    };
    head.method = lossy(line, space);
    let mut target = Span::new(space + 1, line.len());
    if let Some(last) = memchr::memrchr2(b' ', b'\t', line)
        && last > space
        && line
            .get(last + 1..)
            .is_some_and(|tail| tail.starts_with(b"HTTP/"))
    {
        head.version = lossy(line.get(last + 1..).unwrap_or_default(), 64);
        target = Span::new(space + 1, last);
    } else {
        head.warnings.push(Warning::new(
            "no-version",
            "the request line names no version",
        ));
    }
    let written = target.of(line);
    head.target = lossy(written, written.len());
    head.target_place = Span::new(start + target.start as usize, start + target.end as usize);
    if written.contains(&b' ') {
        head.warnings
            .push(Warning::new("space-in-target", "the target holds a space"));
    }
}

fn status_line(head: &mut Head, line: &[u8]) {
    let mut words = line.splitn(3, |&byte| byte == b' ');
    let version = words.next().unwrap_or_default();
    if !version.starts_with(b"HTTP/") {
        head.warnings.push(Warning::new(
            "bad-status-line",
            "the status line does not begin with a version",
        ));
    }
    head.version = lossy(version, 64);
    let status = words.next().unwrap_or_default();
    head.status = str::from_utf8(status)
        .ok()
        .filter(|digits| digits.len() == 3)
        .and_then(|digits| digits.parse().ok());
    if head.status.is_none() {
        head.warnings.push(Warning::new(
            "bad-status",
            "the status is not a number of three digits",
        ));
    }
    let reason = words.next().unwrap_or_default();
    head.reason = lossy(reason, reason.len());
}

fn header_line(message: &[u8], start: usize, end: usize, next: usize) -> Header {
    let line = message.get(start..end).unwrap_or_default();
    let folded = line
        .first()
        .is_some_and(|&byte| byte == b' ' || byte == b'\t');
    let colon = memchr::memchr(b':', line);
    let (name, from) = match colon {
        Some(colon) if !folded => (line.get(..colon).unwrap_or_default(), colon + 1),
        _ => (&b""[..], 0),
    };
    let value = line.get(from..).unwrap_or_default();
    let before = value.len() - value.trim_ascii_start().len();
    let value = value.trim_ascii();
    let place = start + from + before;
    let odd = if folded {
        "folded"
    } else if colon.is_none() {
        "no-colon"
    } else if name.is_empty() {
        "empty-name"
    } else if name
        .last()
        .is_some_and(|&byte| byte == b' ' || byte == b'\t')
    {
        "space-before-colon"
    } else if !name.iter().all(|&byte| is_token(byte)) {
        "bad-name"
    } else if line.contains(&b'\r') {
        "bare-cr"
    } else if line
        .iter()
        .any(|&byte| (byte < b' ' && byte != b'\t') || byte == 0x7f)
    {
        "control-character"
    } else {
        ""
    };
    Header {
        name: lossy(name.trim_ascii(), name.len()),
        value: lossy(value, value.len()),
        line: Span::new(start, next),
        place: Span::new(place, place + value.len()),
        odd: odd.to_owned(),
    }
}

/// Whether a byte may be part of a name in the sense of RFC 9110.
pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Header lines that the strict parser is given room for.
const STRICT: usize = 256;

fn strict_request(head: &[u8]) -> String {
    let mut headers = [httparse::EMPTY_HEADER; STRICT];
    let mut request = httparse::Request::new(&mut headers);
    verdict(request.parse(head))
}

fn strict_response(head: &[u8]) -> String {
    let mut headers = [httparse::EMPTY_HEADER; STRICT];
    let mut response = httparse::Response::new(&mut headers);
    verdict(response.parse(head))
}

fn verdict(result: httparse::Result<usize>) -> String {
    match result {
        Ok(httparse::Status::Complete(_)) => String::new(),
        Ok(httparse::Status::Partial) => "incomplete".into(),
        Err(error) => error.to_string(),
    }
}
