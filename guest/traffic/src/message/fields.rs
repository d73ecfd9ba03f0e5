//! Named values inside of queries, forms, cookies, multipart bodies and XML, with their places.

use quick_xml::events::Event;

use crate::bytes::find_from;
use crate::types::Span;

/// A name and a value, as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) name: Span,
    pub(crate) value: Span,
}

/// The pairs of a query or a form. `base` is the offset of `text` in the whole; a piece without `=` is a name.
pub(crate) fn pairs(text: &[u8], base: usize, separator: &[u8]) -> Vec<Pair> {
    let mut found = Vec::new();
    let mut at = 0;
    while at <= text.len() {
        let rest = text.get(at..).unwrap_or_default();
        let end = rest
            .iter()
            .position(|byte| separator.contains(byte))
            .map_or(text.len(), |length| at + length);
        let piece = text.get(at..end).unwrap_or_default();
        if !piece.is_empty() {
            let equals = memchr::memchr(b'=', piece);
            let name = at + equals.unwrap_or(piece.len());
            let value = equals.map_or(end, |equals| at + equals + 1);
            found.push(Pair {
                name: Span::new(base + at, base + name),
                value: Span::new(base + value, base + end),
            });
        }
        at = end + 1;
    }
    found
}

/// The cookies of a `Cookie` header.
pub(crate) fn cookies(text: &[u8], base: usize) -> Vec<Pair> {
    pairs(text, base, b";")
        .into_iter()
        .map(|pair| Pair {
            name: trim(text, base, pair.name),
            value: trim(text, base, pair.value),
        })
        .filter(|pair| pair.name.start < pair.name.end)
        .collect()
}

/// The cookie of a `Set-Cookie` header: name, value, and the attributes after them.
pub(crate) fn set_cookie(text: &[u8], base: usize) -> Option<(Pair, Vec<Pair>)> {
    let mut all = cookies(text, base).into_iter();
    let first = all.next()?;
    Some((first, all.collect()))
}

/// The span without white space and without one pair of quotes.
fn trim(text: &[u8], base: usize, span: Span) -> Span {
    let inner = Span {
        start: span.start.saturating_sub(base as u32),
        end: span.end.saturating_sub(base as u32),
    };
    let raw = inner.of(text);
    let before = raw.len() - raw.trim_ascii_start().len();
    let mut start = inner.start as usize + before;
    let mut end = start + raw.trim_ascii().len();
    let kept = text.get(start..end).unwrap_or_default();
    if kept.len() >= 2 && kept.starts_with(b"\"") && kept.ends_with(b"\"") {
        start += 1;
        end -= 1;
    }
    Span::new(base + start, base + end)
}

/// One part of a multipart body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PartOf {
    /// The name of the field.
    pub(crate) name: Span,
    /// The file name, where there is one.
    pub(crate) file: Option<Span>,
    /// The content.
    pub(crate) value: Span,
}

/// Parts of a multipart body that are looked at.
const PARTS: usize = 10_000;

/// The parts of a multipart body. `base` is the offset of `body` in the whole.
pub(crate) fn multipart(body: &[u8], base: usize, boundary: &str) -> Vec<PartOf> {
    let delimiter = format!("--{boundary}");
    let delimiter = delimiter.as_bytes();
    let mut found = Vec::new();
    let Some(mut at) = find_from(body, delimiter, 0) else {
        return found;
    };
    while found.len() < PARTS {
        let start = at + delimiter.len();
        let rest = body.get(start..).unwrap_or_default();
        if rest.starts_with(b"--") || rest.is_empty() {
            break;
        }
        let next = find_from(body, delimiter, start);
        let end = next.unwrap_or(body.len());
        let line = memchr::memchr(b'\n', rest).map_or(rest.len(), |length| length + 1);
        found.push(part(body, base, start + line, end));
        match next {
            Some(next) => at = next,
            None => break,
        }
    }
    found
}

fn part(body: &[u8], base: usize, start: usize, end: usize) -> PartOf {
    let mut part = PartOf::default();
    let mut at = start.min(end);
    while at < end {
        let rest = body.get(at..end).unwrap_or_default();
        let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |found| found + 1);
        let line = rest.get(..length).unwrap_or_default();
        let text = line.trim_ascii_end();
        if text.is_empty() {
            at += length;
            break;
        }
        if text
            .to_ascii_lowercase()
            .starts_with(b"content-disposition:")
        {
            if let Some(span) = quoted(line, b"name=", base + at) {
                part.name = span;
            }
            part.file = quoted(line, b"filename=", base + at);
        }
        at += length;
    }
    let mut last = end;
    for tail in [b'\n', b'\r'] {
        if last > at && body.get(last - 1) == Some(&tail) {
            last -= 1;
        }
    }
    part.value = Span::new(base + at, base + last.max(at));
    part
}

/// The value of a parameter of a header line; the name must begin a word.
fn quoted(line: &[u8], name: &[u8], base: usize) -> Option<Span> {
    let mut from = 0;
    loop {
        let at = find_from(line, name, from)?;
        from = at + name.len();
        let before = at.checked_sub(1).and_then(|before| line.get(before));
        if !matches!(before, Some(b' ' | b';' | b'\t')) {
            continue;
        }
        let rest = line.get(from..)?;
        return Some(match rest.strip_prefix(b"\"") {
            Some(inside) => {
                let length = memchr::memchr(b'"', inside).unwrap_or(inside.trim_ascii_end().len());
                Span::new(base + from + 1, base + from + 1 + length)
            }
            None => {
                let end = rest
                    .iter()
                    .position(|byte| matches!(byte, b';' | b'\r' | b'\n'))
                    .unwrap_or(rest.len());
                Span::new(base + from, base + from + end)
            }
        });
    }
}

/// One text or attribute of an XML body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct XmlValue {
    /// The local name of the element.
    pub(crate) element: String,
    /// The local name of the attribute; empty for the text of the element.
    pub(crate) attribute: String,
    /// The place of the value.
    pub(crate) value: Span,
}

/// Values of an XML body that are looked at.
const XML_VALUES: usize = 100_000;

/// The texts and attributes of an XML body, up to the first thing that is no XML. The document type is not processed.
pub(crate) fn xml(body: &[u8], base: usize) -> Vec<XmlValue> {
    let mut found = Vec::new();
    let Ok(text) = str::from_utf8(body) else {
        return found;
    };
    let mut reader = quick_xml::Reader::from_str(text);
    reader.config_mut().check_end_names = false;
    let mut names: Vec<String> = Vec::new();
    while found.len() < XML_VALUES {
        let before = reader.buffer_position() as usize;
        let Ok(event) = reader.read_event() else {
            break;
        };
        let after = reader.buffer_position() as usize;
        match event {
            Event::Start(start) => {
                let name = local(start.name().into_inner());
                attributes(body, base, before, after, &name, &mut found);
                if names.len() < 1024 {
                    names.push(name);
                }
            }
            Event::Empty(start) => {
                let name = local(start.name().into_inner());
                attributes(body, base, before, after, &name, &mut found);
            }
            Event::End(_) => {
                names.pop();
            }
            Event::Text(_) | Event::CData(_) => {
                let raw = body.get(before..after).unwrap_or_default();
                let inner = raw
                    .strip_prefix(b"<![CDATA[")
                    .and_then(|inner| inner.strip_suffix(b"]]>"));
                let (start, content) = inner.map_or((before, raw), |inner| (before + 9, inner));
                let lead = content.len() - content.trim_ascii_start().len();
                let content = content.trim_ascii();
                if !content.is_empty() {
                    found.push(XmlValue {
                        element: names.last().cloned().unwrap_or_default(),
                        attribute: String::new(),
                        value: Span::new(base + start + lead, base + start + lead + content.len()),
                    });
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
    found
}

fn local(name: impl AsRef<[u8]>) -> String {
    let name = name.as_ref();
    let local = name.rsplit(|&byte| byte == b':').next().unwrap_or(name);
    crate::bytes::lossy(local, 128)
}

fn attributes(
    body: &[u8],
    base: usize,
    start: usize,
    end: usize,
    element: &str,
    found: &mut Vec<XmlValue>,
) {
    let tag = body.get(start..end).unwrap_or_default();
    for (name, value) in tag_attributes(tag) {
        if found.len() >= XML_VALUES {
            return;
        }
        found.push(XmlValue {
            element: element.to_owned(),
            attribute: local(name.of(tag)),
            value: Span::new(
                base + start + value.start as usize,
                base + start + value.end as usize,
            ),
        });
    }
}

/// The attributes of a tag of XML or HTML, with values that are quoted or not.
pub(crate) fn tag_attributes(tag: &[u8]) -> Vec<(Span, Span)> {
    let mut found = Vec::new();
    let mut at = tag
        .iter()
        .position(u8::is_ascii_whitespace)
        .unwrap_or(tag.len());
    loop {
        while tag
            .get(at)
            .is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b'/')
        {
            at += 1;
        }
        let start = at;
        while tag
            .get(at)
            .is_some_and(|byte| !byte.is_ascii_whitespace() && !b"=>/".contains(byte))
        {
            at += 1;
        }
        if at == start {
            // Nothing that could be a name: the end, or something to step over.
            match tag.get(at) {
                None | Some(b'>') => return found,
                Some(_) => {
                    at += 1;
                    continue;
                }
            }
        }
        let name = Span::new(start, at);
        let mut after = at;
        while tag.get(after).is_some_and(u8::is_ascii_whitespace) {
            after += 1;
        }
        if tag.get(after) != Some(&b'=') {
            found.push((name, Span::new(at, at)));
            continue;
        }
        at = after + 1;
        while tag.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        let (from, to, next) = match tag.get(at) {
            Some(&quote @ (b'"' | b'\'')) => {
                let rest = tag.get(at + 1..).unwrap_or_default();
                let length = memchr::memchr(quote, rest).unwrap_or(rest.len());
                (at + 1, at + 1 + length, at + 2 + length)
            }
            _ => {
                let rest = tag.get(at..).unwrap_or_default();
                let length = rest
                    .iter()
                    .position(|byte| byte.is_ascii_whitespace() || *byte == b'>')
                    .unwrap_or(rest.len());
                (at, at + length, at + length)
            }
        };
        found.push((name, Span::new(from, to)));
        at = next;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn text(whole: &[u8], span: Span) -> String {
        String::from_utf8_lossy(span.of(whole)).into_owned()
    }

    #[test]
    fn pairs_have_their_places() {
        let whole = b"xx?a=1&b&c=&=d&&e=f=g";
        let found: Vec<(String, String)> = pairs(&whole[3..], 3, b"&")
            .into_iter()
            .map(|pair| (text(whole, pair.name), text(whole, pair.value)))
            .collect();
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        assert_eq!(
            found,
            [("a", "1"), ("b", ""), ("c", ""), ("", "d"), ("e", "f=g")]
        );
    }

    #[test]
    fn parts_of_multipart_are_found_whatever_their_line_ends() {
        for end in ["\r\n", "\n"] {
            let body = "--B\r\nContent-Disposition: form-data; name=\"a\"; filename=\"x.txt\"\r\n\r\none\r\n--B\r\ncontent-disposition: form-data; name=b\r\n\r\ntwo\nlines\r\n--B--\r\n".replace("\r\n", end);
            let body = body.as_bytes();
            let found = multipart(body, 0, "B");
            assert_eq!(found.len(), 2, "{end:?}");
            assert_eq!(
                (text(body, found[0].name), text(body, found[0].value)),
                ("a".into(), "one".into())
            );
            assert_eq!(text(body, found[0].file.unwrap()), "x.txt");
            assert_eq!(
                (text(body, found[1].name), text(body, found[1].value)),
                ("b".into(), "two\nlines".into())
            );
        }
    }

    #[test]
    fn xml_values_have_their_places() {
        let body = br#"<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x "y">]><s:Envelope xmlns:s="u"><Password Type='t'> p&amp;w </Password><t><![CDATA[<x>]]></t><e a="1"/></s:Envelope>"#;
        let found: Vec<(String, String, String)> = xml(body, 0)
            .into_iter()
            .map(|value| (value.element, value.attribute, text(body, value.value)))
            .collect();
        for wanted in [
            ("Password", "", "p"),
            ("Password", "Type", "t"),
            ("t", "", "<x>"),
            ("e", "a", "1"),
        ] {
            assert!(
                found
                    .iter()
                    .any(|(e, a, v)| e == wanted.0 && a == wanted.1 && v.starts_with(wanted.2)),
                "{wanted:?} in {found:?}"
            );
        }
    }
}
