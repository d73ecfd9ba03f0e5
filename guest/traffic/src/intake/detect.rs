//! Names a file by its first bytes, also where it cannot be imported.

use serde::Serialize;

use super::Format;
use crate::bytes::find_from;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Burp's "Save items" XML.
    BurpXml,
    /// HAR.
    Har,
    /// Burp's export of scanner issues.
    BurpIssues,
    /// A Burp project file.
    BurpProject,
    /// An HTML page, such as a scanner's report.
    Html,
    /// Comma-separated values, such as Logger++ writes.
    Csv,
    /// JSON that is no HAR.
    Json,
    /// XML of another kind.
    Xml,
    /// gzip, zip, zlib or zstd: compressed.
    Compressed,
    /// A packet capture.
    Packets,
    /// A flow file of mitmproxy.
    MitmproxyFlows,
    /// Nothing.
    Empty,
    /// None of these.
    Unknown,
}

/// What a file is, and what to do with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Detection {
    /// What it is.
    pub kind: Kind,
    /// The format to read it as, where it can be imported.
    pub format: Option<Format>,
    /// One sentence: what it is and, where it cannot be imported, what to do.
    pub message: String,
}

/// Returns what the file that begins with `start` is. A few KiB suffice; more are not looked at.
#[must_use]
pub fn detect(start: &[u8]) -> Detection {
    let kind = kind(start.get(..64 << 10).unwrap_or(start));
    let (format, message) = match kind {
        Kind::BurpXml => (Some(Format::BurpXml), "Burp \"Save items\" XML"),
        Kind::Har => (Some(Format::Har), "HAR"),
        Kind::BurpIssues => (
            None,
            "this is Burp's export of scanner issues, which has no traffic list; select the items in the proxy history or site map and use \"Save items\"",
        ),
        Kind::BurpProject => (
            None,
            "this is a Burp project file, whose format is not public; open it in Burp, select the items and use \"Save items\"",
        ),
        Kind::Html => (
            None,
            "this is an HTML page, such as a report; export the traffic as HAR or with Burp's \"Save items\"",
        ),
        Kind::Csv => (
            None,
            "this is a table (CSV) without complete messages; export the traffic as HAR or with Burp's \"Save items\"",
        ),
        Kind::Json => (None, "this is JSON without the HAR member \"log\""),
        Kind::Xml => (None, "this is XML, but not Burp's \"Save items\" XML"),
        Kind::Compressed => (
            None,
            "this file is compressed; unpack it first (a .zhar file is HAR inside zlib)",
        ),
        Kind::Packets => (None, "this is a packet capture; convert it to HAR first"),
        Kind::MitmproxyFlows => (
            None,
            "this is a mitmproxy flow file; convert it: mitmdump -nr FILE --set hardump=out.har",
        ),
        Kind::Empty => (None, "the file is empty"),
        Kind::Unknown => (None, "this is neither HAR nor Burp's \"Save items\" XML"),
    };
    Detection {
        kind,
        format,
        message: message.to_owned(),
    }
}

fn kind(start: &[u8]) -> Kind {
    if start.is_empty() {
        return Kind::Empty;
    }
    if let Some(kind) = binary(start) {
        return kind;
    }
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let text = text.trim_ascii_start();
    match text.first() {
        None => Kind::Empty,
        Some(b'{' | b'[') => json(text),
        Some(b'<') => markup(text),
        Some(byte) if byte.is_ascii_digit() && tnetstring(text) => Kind::MitmproxyFlows,
        Some(_) if table(text) => Kind::Csv,
        Some(_) => Kind::Unknown,
    }
}

fn binary(start: &[u8]) -> Option<Kind> {
    const MAGICS: &[(&[u8], Kind)] = &[
        (b"\x1f\x8b", Kind::Compressed),
        (b"PK\x03\x04", Kind::Compressed),
        (b"\x78\x01", Kind::Compressed),
        (b"\x78\x9c", Kind::Compressed),
        (b"\x78\xda", Kind::Compressed),
        (b"\x28\xb5\x2f\xfd", Kind::Compressed),
        (b"\xd4\xc3\xb2\xa1", Kind::Packets),
        (b"\xa1\xb2\xc3\xd4", Kind::Packets),
        (b"\x0a\x0d\x0d\x0a", Kind::Packets),
    ];
    if let Some((_, kind)) = MAGICS.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Some(*kind);
    }
    // A project file is a binary file that names the program or its classes near the start; XML never begins with such bytes.
    let binary = start.iter().take(64).any(|&byte| byte == 0);
    let names = find_from(start, b"burp", 0).is_some() || find_from(start, b"Burp", 0).is_some();
    (binary && names).then_some(Kind::BurpProject)
}

fn json(text: &[u8]) -> Kind {
    let log = find_from(text, b"\"log\"", 0).is_some_and(|at| at < 4096);
    if text.starts_with(b"{") && log {
        Kind::Har
    } else {
        Kind::Json
    }
}

fn markup(text: &[u8]) -> Kind {
    let mut rest = text;
    loop {
        rest = rest.trim_ascii_start();
        let end: &[u8] = if rest.starts_with(b"<!--") {
            b"-->"
        } else if rest.starts_with(b"<?") {
            b"?>"
        } else if rest.starts_with(b"<!") {
            return doctype(rest);
        } else {
            return root(rest);
        };
        let Some(at) = find_from(rest, end, 0) else {
            return Kind::Xml;
        };
        rest = rest.get(at + end.len()..).unwrap_or_default();
    }
}

fn doctype(rest: &[u8]) -> Kind {
    let name = rest
        .get(b"<!DOCTYPE".len()..)
        .unwrap_or_default()
        .trim_ascii_start();
    named(name)
}

fn root(rest: &[u8]) -> Kind {
    named(rest.strip_prefix(b"<").unwrap_or(rest))
}

fn named(rest: &[u8]) -> Kind {
    let end = rest
        .iter()
        .position(|byte| !byte.is_ascii_alphanumeric())
        .unwrap_or(rest.len());
    let name = rest.get(..end).unwrap_or_default().to_ascii_lowercase();
    match name.as_slice() {
        b"items" | b"item" => Kind::BurpXml,
        b"issues" => Kind::BurpIssues,
        b"html" | b"head" | b"body" => Kind::Html,
        _ => Kind::Xml,
    }
}

fn tnetstring(text: &[u8]) -> bool {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits < 10 && text.get(digits) == Some(&b':')
}

fn table(text: &[u8]) -> bool {
    let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    line.len() < 4096 && line.iter().filter(|&&byte| byte == b',').count() >= 3
}
