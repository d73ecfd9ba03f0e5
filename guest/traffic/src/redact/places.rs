//! Secrets by where they stand: URLs, heads, cookies, JSON, forms, multipart bodies, XML.

use super::finds::{Carrier, Finds};
use super::{keys, shapes, text};
use crate::bytes::{base64_lenient, lossy};
use crate::message::head::Head;
use crate::message::{fields, json, media, url as urls};
use crate::types::Span;

/// Bytes of a name in a report.
const NAME: usize = 64;

fn shift(span: Span, by: u32) -> Span {
    Span {
        start: span.start + by,
        end: span.end + by,
    }
}

/// A URL, or a target in origin form, as a whole.
pub(super) fn url(finds: &mut Finds<'_>, span: Span) {
    let bytes = finds.bytes;
    let whole = span.of(bytes);
    let Ok(written) = str::from_utf8(whole) else {
        text_pairs(finds, span);
        return;
    };
    let pieces = urls::split(written);
    let place = |piece: &str| -> Span {
        // The pieces are parts of `written`.
        let offset = piece.as_ptr() as usize - written.as_ptr() as usize;
        shift(Span::new(offset, offset + piece.len()), span.start)
    };
    if !pieces.user.is_empty() {
        let user = place(pieces.user);
        let secret = match pieces.user.split_once(':') {
            Some((name, _)) => Span {
                start: user.start + name.len() as u32 + 1,
                end: user.end,
            },
            None => user,
        };
        decoded(finds, Carrier::Userinfo, "password", secret, false);
    }
    path(finds, place(pieces.path));
    if let Some(query) = pieces.query {
        query_pairs(finds, Carrier::Query, place(query));
    }
    if let Some(fragment) = pieces.fragment {
        let inside = fragment
            .split_once('?')
            .map_or(fragment, |(_, inside)| inside);
        query_pairs(finds, Carrier::Fragment, place(inside));
    }
}

fn text_pairs(finds: &mut Finds<'_>, span: Span) {
    for separator in [&b"?"[..], b"&", b"#"] {
        for pair in fields::pairs(span.of(finds.bytes), span.start as usize, separator) {
            if keys::is_secret(pair.name.of(finds.bytes), true) {
                finds.value(Carrier::Query, "", pair.value);
            }
        }
    }
}

fn decoded(finds: &mut Finds<'_>, carrier: Carrier, name: &str, span: Span, form: bool) {
    let value = urls::decode(span.of(finds.bytes), form);
    finds.add(carrier, name, span, value, true);
}

fn path(finds: &mut Finds<'_>, span: Span) {
    let bytes = finds.bytes;
    let mut start = span.start as usize;
    let end = span.end as usize;
    let mut announced = false;
    while start <= end {
        let rest = bytes.get(start..end).unwrap_or_default();
        let length = memchr::memchr(b'/', rest).unwrap_or(rest.len());
        let segment = rest.get(..length).unwrap_or_default();
        for pair in fields::pairs(segment, start, b";") {
            // `/page;jsessionid=1A2B`
            if pair.value.start < pair.value.end && keys::is_secret(pair.name.of(bytes), true) {
                let name = lossy(pair.name.of(bytes), NAME);
                decoded(finds, Carrier::Path, &name, pair.value, false);
            }
        }
        let secret = (announced && keys::looks_random(segment, 8)) || opaque(segment);
        if secret {
            decoded(
                finds,
                Carrier::Path,
                "",
                Span::new(start, start + length),
                false,
            );
        }
        announced = keys::announces(segment);
        start += length + 1;
    }
}

/// Whether a segment looks like a token: long, with capital and small letters and digits, and no file name.
fn opaque(segment: &[u8]) -> bool {
    const LEAST: usize = 24;
    keys::looks_random(segment, LEAST)
        && segment.iter().any(u8::is_ascii_uppercase)
        && segment.iter().any(u8::is_ascii_lowercase)
        && !segment.contains(&b'.')
}

/// The pairs of a query, a fragment or a form.
pub(super) fn query_pairs(finds: &mut Finds<'_>, carrier: Carrier, span: Span) {
    let bytes = finds.bytes;
    for pair in fields::pairs(span.of(bytes), span.start as usize, b"&;") {
        if pair.value.start >= pair.value.end {
            continue;
        }
        let name = urls::decode(pair.name.of(bytes), true);
        let value = urls::decode(pair.value.of(bytes), true);
        // What percent-encoding hides from the look at the whole part.
        let hidden = value.len() != pair.value.of(bytes).len() && has_shape(&value);
        if hidden || keys::is_secret(&name, true) || nested(&value) {
            finds.add(carrier, &lossy(&name, NAME), pair.value, value, true);
        }
    }
}

fn has_shape(value: &[u8]) -> bool {
    let mut found = false;
    shapes::scan(value, &mut |_| found = true);
    found
}

/// Whether a value is itself a URL or JSON with a secret.
fn nested(value: &[u8]) -> bool {
    let looks = value.contains(&b'?')
        || value.contains(&b'{')
        || memchr::memmem::find(value, b"://").is_some();
    if !looks {
        return false;
    }
    let mut inner = Finds::new(value);
    text::scan(&mut inner, Span::new(0, value.len()));
    !inner.all.is_empty()
}

/// Returns the password of `user:password` in base64.
pub(super) fn basic_password(token: &[u8]) -> Option<Vec<u8>> {
    let (plain, clean) = base64_lenient(token, 4096);
    let colon = memchr::memchr(b':', &plain)?;
    (clean && str::from_utf8(&plain).is_ok())
        .then(|| plain.get(colon + 1..).unwrap_or_default().to_vec())
}

/// The values of a `Cookie` or `Set-Cookie` header.
pub(super) fn cookie_header(finds: &mut Finds<'_>, span: Span, set: bool) {
    let bytes = finds.bytes;
    let all = fields::cookies(span.of(bytes), span.start as usize);
    let count = if set { 1 } else { all.len() };
    for pair in all.into_iter().take(count) {
        let name = pair.name.of(bytes);
        let value = urls::decode(pair.value.of(bytes), false);
        // A cookie without a name is all value.
        let (span, value) = if pair.value.start >= pair.value.end {
            if memchr::memchr(b'=', span.of(bytes)).is_some() {
                continue;
            }
            (pair.name, name.to_vec())
        } else {
            (pair.value, value)
        };
        // `theme=darkmode` must not mask that word everywhere.
        let spreads = keys::is_secret(name, false) || keys::looks_random(&value, 12);
        finds.add(Carrier::Cookie, &lossy(name, NAME), span, value, spreads);
    }
}

/// Start line and headers.
pub(super) fn head(finds: &mut Finds<'_>, head: &Head, request: bool) {
    if request {
        url(finds, head.target_place);
    }
    let first = head
        .headers
        .first()
        .map_or(head.span.end, |header| header.line.start);
    text::scan(
        finds,
        Span {
            start: 0,
            end: first,
        },
    );
    let mut folded_into = "";
    for header in &head.headers {
        let name = if header.odd == "folded" {
            folded_into
        } else {
            &header.name
        };
        folded_into = if header.odd == "folded" {
            folded_into
        } else {
            &header.name
        };
        header_line(finds, name, header.place);
        if header.odd == "no-colon" || header.odd == "bad-name" {
            text::scan(finds, header.line);
        }
    }
    // What was not looked at does not leave.
    let last = head.headers.last().map_or(first, |header| header.line.end);
    if head
        .warnings
        .iter()
        .any(|warning| warning.code == "too-many-headers")
    {
        let rest = Span {
            start: last,
            end: head.span.end,
        };
        finds.kind("unread", rest, rest.of(finds.bytes).to_vec());
    }
}

fn header_line(finds: &mut Finds<'_>, name: &str, place: Span) {
    let lower = name.to_ascii_lowercase();
    match lower.as_str() {
        "authorization" | "proxy-authorization" => credentials(finds, name, place),
        "cookie" => cookie_header(finds, place, false),
        "set-cookie" | "set-cookie2" => cookie_header(finds, place, true),
        "referer" | "location" | "content-location" | "origin" | "destination" => {
            url(finds, place);
            text::scan(finds, place);
        }
        _ if is_plain(&lower) => text::scan(finds, place),
        _ if keys::is_secret(name.as_bytes(), false) => {
            let value = place.of(finds.bytes);
            if !matches!(value, b"true" | b"false") {
                finds.value(Carrier::Header, name, place);
            }
        }
        _ => text::scan(finds, place),
    }
}

/// Headers whose name has a word of a secret and whose value is none.
fn is_plain(name: &str) -> bool {
    name.starts_with("access-control-")
        || name.starts_with("sec-websocket-")
        || matches!(
            name,
            "www-authenticate" | "proxy-authenticate" | "signature-input" | "accept-signature"
        )
}

fn credentials(finds: &mut Finds<'_>, name: &str, place: Span) {
    let bytes = finds.bytes;
    let value = place.of(bytes);
    let space = memchr::memchr(b' ', value).map_or(0, |space| space + 1);
    let secret = Span {
        start: place.start + space as u32,
        end: place.end,
    };
    let token = secret.of(bytes).to_vec();
    if let Some(password) = basic_password(&token)
        && value
            .get(..5)
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"basic"))
    {
        // The password is a secret in plain form as well.
        finds.also.push(password);
    }
    finds.add(Carrier::Header, name, secret, token, true);
}

/// A body, by its media type and by how it looks.
pub(super) fn body(finds: &mut Finds<'_>, media_type: &str) {
    let bytes = finds.bytes;
    let whole = Span::new(0, bytes.len());
    let start = bytes.trim_ascii_start().first().copied().unwrap_or(0);
    if media::is_form(media_type) {
        query_pairs(finds, Carrier::Form, whole);
    } else if media::essence(media_type).starts_with("multipart/") {
        multipart(finds, media_type, whole);
    } else if media::is_json(media_type) || start == b'{' || start == b'[' {
        json_body(finds, whole);
    } else if media::is_xml(media_type) {
        xml(finds, whole);
    } else if !media::is_binary(media_type) {
        text::scan(finds, whole);
    }
    finds.shapes(Carrier::Text);
}

/// JSON at any depth; what follows a fault is read as text.
pub(super) fn json_body(finds: &mut Finds<'_>, span: Span) {
    let bytes = span.of(finds.bytes);
    let base = span.start;
    let mut texts = Vec::new();
    let mut quotes = Vec::new();
    let end = json::walk(bytes, &mut |frames, leaf| {
        let place = shift(leaf.span, base);
        let raw = leaf.span.of(bytes);
        let own = frames.iter().rev().find_map(|frame| frame.key);
        let name = own.map_or(&b""[..], |key| key.of(bytes));
        let name = json::unescape(name);
        let literal = !leaf.string && matches!(raw, b"true" | b"false" | b"null");
        if literal || raw.is_empty() {
            return;
        }
        let direct = keys::is_secret(&name, false);
        let value = json::unescape(raw);
        // Below a secret name, what is named like a value or looks like one is the secret.
        let below = !direct
            && frames
                .iter()
                .filter_map(|frame| frame.key)
                .any(|key| keys::is_secret(key.of(bytes), false))
            && (keys::looks_random(&value, 12)
                || matches!(name.as_ref(), b"value" | b"id" | b"key" | b"data" | b"raw"));
        let generic = leaf.string
            && matches!(name.as_ref(), b"key" | b"code")
            && keys::looks_random(&value, 16);
        if direct || below || generic {
            let small_number = !leaf.string && raw.len() < 4;
            if small_number {
                return;
            }
            quotes.push((place, lossy(&name, NAME), value.into_owned(), !leaf.string));
        } else if leaf.string && raw.len() >= 8 {
            texts.push(place);
        }
    });
    for (place, name, value, quote) in quotes {
        finds.add(Carrier::Json, &name, place, value, true);
        if let Some(last) = finds.all.last_mut() {
            last.quote = quote;
        }
    }
    for place in texts {
        text::scan(finds, place);
    }
    let rest = Span {
        start: base + Span::new(end, end).start,
        end: span.end,
    };
    if rest.start < rest.end {
        text::scan(finds, rest);
    }
}

fn multipart(finds: &mut Finds<'_>, media_type: &str, span: Span) {
    let bytes = finds.bytes;
    let boundary = media::parameter(media_type, "boundary").unwrap_or_default();
    let parts = if boundary.is_empty() {
        Vec::new()
    } else {
        fields::multipart(bytes, 0, &boundary)
    };
    let mut at = span.start;
    for part in parts {
        text::scan(
            finds,
            Span {
                start: at,
                end: part.value.start,
            },
        );
        let name = part.name.of(bytes);
        if keys::is_secret(name, true) {
            finds.value(Carrier::Multipart, &lossy(name, NAME), part.value);
        } else {
            let value = part.value.of(bytes).trim_ascii_start();
            if value.first().is_some_and(|byte| b"{[".contains(byte)) {
                json_body(finds, part.value);
            } else {
                text::scan(finds, part.value);
            }
        }
        at = part.value.end;
    }
    text::scan(
        finds,
        Span {
            start: at,
            end: span.end,
        },
    );
}

fn xml(finds: &mut Finds<'_>, span: Span) {
    let bytes = finds.bytes;
    for value in fields::xml(bytes, 0) {
        let name = if value.attribute.is_empty() {
            &value.element
        } else {
            &value.attribute
        };
        if keys::is_secret(name.as_bytes(), false) {
            finds.value(Carrier::Xml, name, value.value);
        }
    }
    text::scan(finds, span);
}

/// A WebSocket message or any other text whose kind is not known.
pub(super) fn guess(finds: &mut Finds<'_>) {
    body(finds, "");
}
