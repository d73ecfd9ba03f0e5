//! Parameters of a request, insertion points, and where values come back in a response.

use serde::Serialize;

use super::{body, fields, head, json, media, url};
use crate::limits;
use crate::types::{Message, Span};

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ParameterKind {
    /// A segment of the path. Only insertion points have these.
    Path,
    /// In the query.
    Query,
    /// A cookie.
    Cookie,
    /// A field of a form.
    Form,
    /// A part of a multipart body.
    Multipart,
    /// The file name of a part.
    FileName,
    /// A JSON scalar; the name is its JSON pointer.
    Json,
    /// The text of an XML element.
    Xml,
    /// An attribute of an XML element; the name is `element@attribute`.
    XmlAttribute,
}

/// One parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// Where it stands.
    pub kind: ParameterKind,
    /// The name, decoded.
    pub name: String,
    /// The value, decoded; what is no UTF-8 is replaced.
    pub value: String,
    /// The value in the message, as written. Where the body has a content coding, in the message with the decoded body.
    pub place: Span,
}

/// How often a value of a request comes back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reflection {
    /// The parameter.
    pub name: String,
    /// Where it stands.
    pub kind: ParameterKind,
    /// How often the value is in the response: as it is, percent-encoded or with HTML entities.
    pub count: u32,
    /// Whether it also comes back with its special characters as they were.
    pub raw: bool,
    /// The first place in the response, bodies decoded.
    pub place: Span,
}

/// Head and decoded body, as parameters count their places.
fn whole(message: &Message, request: bool) -> (Vec<u8>, head::Head) {
    let mut head = if request {
        head::request(&message.bytes)
    } else {
        head::response(&message.bytes)
    };
    let mut bytes = head.span.of(&message.bytes).to_vec();
    bytes.extend(body::decoded(message, &head));
    head.body = Span::new(head.span.end as usize, bytes.len());
    (bytes, head)
}

/// Returns the parameters of a request, at most 10,000, in the order of their places.
#[must_use]
pub fn parameters(request: &Message) -> Vec<Parameter> {
    let (bytes, head) = whole(request, true);
    let mut found = Vec::new();
    let target = head.target_place;
    let written = head.target.as_str();
    if let Some(query) = url::split(written).query
        && let Some(at) = written.find('?')
    {
        // Offsets count bytes of the message: the target is that text only where it is UTF-8.
        if written.len() == (target.end - target.start) as usize {
            pairs(
                &bytes,
                query.as_bytes(),
                target.start as usize + at + 1,
                ParameterKind::Query,
                &mut found,
            );
        }
    }
    for header in &head.headers {
        if header.name.eq_ignore_ascii_case("cookie") {
            for pair in fields::cookies(header.place.of(&bytes), header.place.start as usize) {
                push(
                    &bytes,
                    ParameterKind::Cookie,
                    pair.name.of(&bytes),
                    pair.value,
                    false,
                    &mut found,
                );
            }
        }
    }
    let media_type = head.header("content-type").unwrap_or_default();
    in_body(&bytes, head.body, media_type, &mut found);
    found.truncate(limits::PARAMETERS);
    found
}

fn in_body(bytes: &[u8], place: Span, media_type: &str, found: &mut Vec<Parameter>) {
    let content = place.of(bytes);
    let base = place.start as usize;
    let start = content.trim_ascii_start().first().copied().unwrap_or(0);
    if media::essence(media_type).starts_with("multipart/") {
        let boundary = media::parameter(media_type, "boundary").unwrap_or_default();
        if boundary.is_empty() {
            return;
        }
        for part in fields::multipart(content, base, &boundary) {
            let name = part.name.of(bytes);
            push(
                bytes,
                ParameterKind::Multipart,
                name,
                part.value,
                false,
                found,
            );
            if let Some(file) = part.file {
                push(bytes, ParameterKind::FileName, name, file, false, found);
            }
        }
    } else if media::is_json(media_type) || start == b'{' || start == b'[' {
        json::walk(content, &mut |frames, leaf| {
            if found.len() < limits::PARAMETERS {
                let value = json::unescape(leaf.span.of(content));
                found.push(Parameter {
                    kind: ParameterKind::Json,
                    name: json::pointer(content, frames),
                    value: String::from_utf8_lossy(&value).into_owned(),
                    place: Span::new(
                        base + leaf.span.start as usize,
                        base + leaf.span.end as usize,
                    ),
                });
            }
        });
    } else if media::is_xml(media_type) {
        for value in fields::xml(content, base)
            .into_iter()
            .take(limits::PARAMETERS)
        {
            let (kind, name) = if value.attribute.is_empty() {
                (ParameterKind::Xml, value.element)
            } else {
                (
                    ParameterKind::XmlAttribute,
                    format!("{}@{}", value.element, value.attribute),
                )
            };
            push(bytes, kind, name.as_bytes(), value.value, false, found);
        }
    } else if media::is_form(media_type) {
        pairs(bytes, content, base, ParameterKind::Form, found);
    }
}

fn pairs(bytes: &[u8], text: &[u8], base: usize, kind: ParameterKind, found: &mut Vec<Parameter>) {
    for pair in fields::pairs(text, base, b"&") {
        push(bytes, kind, pair.name.of(bytes), pair.value, true, found);
    }
}

fn push(
    bytes: &[u8],
    kind: ParameterKind,
    name: &[u8],
    place: Span,
    form: bool,
    found: &mut Vec<Parameter>,
) {
    if found.len() >= limits::PARAMETERS {
        return;
    }
    let raw = place.of(bytes);
    let text = |raw: &[u8]| {
        let decoded = if form {
            url::decode(raw, true)
        } else {
            raw.to_vec()
        };
        String::from_utf8_lossy(&decoded).into_owned()
    };
    found.push(Parameter {
        kind,
        name: text(name),
        value: text(raw),
        place,
    });
}

/// Returns the places of a request where a test may put its own value: path segments and parameters. `append`: the places are
/// after the values in place of the values.
#[must_use]
pub fn insertion_points(request: &Message, append: bool) -> Vec<Parameter> {
    let (bytes, head) = whole(request, true);
    let mut found = Vec::new();
    let target = head.target_place.of(&bytes);
    let path = target
        .iter()
        .position(|byte| b"?#".contains(byte))
        .unwrap_or(target.len());
    let mut at =
        memchr::memmem::find(target.get(..path).unwrap_or_default(), b"://").map_or(0, |scheme| {
            let rest = target.get(scheme + 3..path).unwrap_or_default();
            scheme + 3 + memchr::memchr(b'/', rest).unwrap_or(rest.len())
        });
    while at < path {
        let rest = target.get(at + 1..path).unwrap_or_default();
        let length = memchr::memchr(b'/', rest).unwrap_or(rest.len());
        if length > 0 {
            let start = head.target_place.start as usize + at + 1;
            let index = found.len().to_string();
            push(
                &bytes,
                ParameterKind::Path,
                index.as_bytes(),
                Span::new(start, start + length),
                false,
                &mut found,
            );
        }
        at += 1 + length;
    }
    found.extend(parameters(request));
    if append {
        for one in &mut found {
            one.place.start = one.place.end;
        }
    }
    found
}

/// Bytes of a value that is looked for in a response: shorter ones come back by chance, and longer ones are whole documents.
const REFLECTED: std::ops::RangeInclusive<usize> = 3..=256;

/// Returns the parameters whose values come back in the response.
#[must_use]
pub fn reflected(request: &Message, response: &Message) -> Vec<Reflection> {
    /// Values that are looked for.
    const VALUES: usize = 200;
    let (bytes, _) = whole(response, false);
    let mut patterns: Vec<Vec<u8>> = Vec::new();
    let mut owners: Vec<(usize, bool)> = Vec::new();
    let wanted: Vec<Parameter> = parameters(request)
        .into_iter()
        .filter(|one| REFLECTED.contains(&one.value.len()) && !one.value.trim().is_empty())
        .take(VALUES)
        .collect();
    for (index, one) in wanted.iter().enumerate() {
        let encoded =
            percent_encoding::utf8_percent_encode(&one.value, percent_encoding::NON_ALPHANUMERIC)
                .to_string();
        let html = one
            .value
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;");
        let mut own: Vec<Vec<u8>> = vec![one.value.clone().into_bytes()];
        for other in [encoded, html] {
            if !own.contains(&other.clone().into_bytes()) {
                own.push(other.into_bytes());
            }
        }
        for (nth, pattern) in own.into_iter().enumerate() {
            patterns.push(pattern);
            owners.push((index, nth == 0));
        }
    }
    let Ok(automaton) = aho_corasick::AhoCorasick::new(&patterns) else {
        return Vec::new();
    };
    let mut found: Vec<Option<Reflection>> = wanted.iter().map(|_| None).collect();
    let mut count = |index: usize, raw: bool, place: Span| {
        let (Some(slot), Some(one)) = (found.get_mut(index), wanted.get(index)) else {
            return;
        };
        let entry = slot.get_or_insert_with(|| Reflection {
            name: one.name.clone(),
            kind: one.kind,
            count: 0,
            raw: false,
            place,
        });
        entry.count = entry.count.saturating_add(1);
        entry.raw |= raw;
    };
    // Overlapping, since one value may be part of another; the number is bounded, which values of one letter are not.
    const MATCHES: usize = 1 << 20;
    for matched in automaton.find_overlapping_iter(&bytes).take(MATCHES) {
        if let Some(&(index, raw)) = owners.get(matched.pattern().as_usize()) {
            count(index, raw, Span::new(matched.start(), matched.end()));
        }
    }
    found.into_iter().flatten().collect()
}
