//! Secrets in free text: `key=value`, `key: value`, `"key": "value"`, authorization schemes, URLs, form fields of a page.

use memchr::memmem;

use super::finds::{Carrier, Finds};
use super::{keys, places};
use crate::message::fields::tag_attributes;
use crate::types::Span;

/// Bytes of a name before a separator.
const NAME: usize = 64;

/// Bytes of a value after a separator. Longer ones are cut off here: what is masked is then at least this.
const VALUE: usize = 16 << 10;

/// Bytes of a tag of a page.
const TAG: usize = 4096;

/// Bytes of a URL in text.
const URL: usize = 8192;

/// Looks through `range` of the part that `finds` collects for.
pub(super) fn scan(finds: &mut Finds<'_>, range: Span) {
    pairs(finds, range);
    schemes(finds, range);
    urls(finds, range);
    tags(finds, range);
}

fn at(bytes: &[u8], index: usize) -> u8 {
    bytes.get(index).copied().unwrap_or(0)
}

fn pairs(finds: &mut Finds<'_>, range: Span) {
    let bytes = finds.bytes;
    let (from, end) = (range.start as usize, (range.end as usize).min(bytes.len()));
    let mut next = from;
    while let Some(found) = memchr::memchr2(b'=', b':', bytes.get(next..end).unwrap_or_default()) {
        let separator = next + found;
        next = separator + 1;
        let Some(name) = name_before(bytes, from, separator) else {
            continue;
        };
        let equals = at(bytes, separator) == b'=';
        let line_start = name.start as usize == from
            || matches!(at(bytes, name.start as usize - 1), b'\n' | b'\r');
        let key = name.of(bytes);
        if !keys::is_secret(key, equals) {
            continue;
        }
        if !equals
            && line_start
            && (key.eq_ignore_ascii_case(b"cookie") || key.eq_ignore_ascii_case(b"set-cookie"))
        {
            next = cookie_line(
                finds,
                separator + 1,
                end,
                key.eq_ignore_ascii_case(b"set-cookie"),
            );
            continue;
        }
        if let Some(value) = value_after(bytes, separator, end, equals, line_start) {
            next = (value.end as usize).max(next);
            let name = crate::bytes::lossy(key, NAME);
            finds.value(Carrier::Text, &name, value);
        }
    }
}

/// The name before a separator, without the quotes around it.
fn name_before(bytes: &[u8], from: usize, separator: usize) -> Option<Span> {
    let mut end = separator;
    let mut spaces = 0;
    while end > from && spaces < 4 && matches!(at(bytes, end - 1), b' ' | b'\t') {
        end -= 1;
        spaces += 1;
    }
    if end > from && matches!(at(bytes, end - 1), b'"' | b'\'' | b'`') {
        end -= 1;
        while end > from && at(bytes, end - 1) == b'\\' {
            end -= 1;
        }
    }
    let mut start = end;
    while start > from && end - start < NAME {
        let byte = at(bytes, start - 1);
        if !byte.is_ascii_alphanumeric() && !b"_-.$[]".contains(&byte) {
            break;
        }
        start -= 1;
    }
    // The end of an escape before the name is no part of it: `\u0026token=`, `%26token=`, `\ntoken=`.
    if start > from {
        match at(bytes, start - 1) {
            b'\\' if at(bytes, start) == b'u' && end - start > 5 => start += 5,
            b'\\' if end - start > 1 => start += 1,
            b'%' if end - start > 2 => start += 2,
            _ => {}
        }
    }
    (start < end).then(|| Span::new(start, end))
}

/// The value after a separator, where it can be one.
fn value_after(
    bytes: &[u8],
    separator: usize,
    end: usize,
    equals: bool,
    line_start: bool,
) -> Option<Span> {
    let mut start = separator + 1;
    while start < end && matches!(at(bytes, start), b' ' | b'\t') {
        start += 1;
    }
    if let Some(value) = quoted(bytes, start, end) {
        // A sentence in quotes is a label.
        let sentence = value.of(bytes).iter().any(u8::is_ascii_whitespace);
        return (!sentence && !is_literal(value.of(bytes)) && value.start < value.end)
            .then_some(value);
    }
    if equals && start > separator + 1 {
        // `token = value` in a program names a variable; in a configuration file it stands at the start of a line.
        let value = unquoted(bytes, start, end);
        return (line_start || keys::looks_random(value.of(bytes), 16))
            .then_some(value)
            .filter(filled);
    }
    let mut value = unquoted(bytes, start, end);
    let scheme = value.of(bytes);
    if [&b"bearer"[..], b"basic", b"token", b"digest", b"negotiate"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known))
        && at(bytes, value.end as usize) == b' '
    {
        value = unquoted(bytes, value.end as usize + 1, end);
    }
    let text = value.of(bytes);
    let wanted = equals || line_start || keys::looks_random(text, 8);
    (wanted && !is_literal(text))
        .then_some(value)
        .filter(filled)
}

fn filled(value: &Span) -> bool {
    value.start < value.end
}

/// Words of programs that are no secrets, such as the values of `credentials` in a request.
fn is_literal(text: &[u8]) -> bool {
    matches!(
        text,
        b"!0"
            | b"!1"
            | b"same-origin"
            | b"include"
            | b"omit"
            | b"true"
            | b"false"
            | b"null"
            | b"undefined"
            | b"None"
            | b"{}"
            | b"[]"
            | b"{"
            | b"["
            | b"function"
            | b"new"
            | b"this"
    )
}

/// A value in quotes, which may be escaped as inside of another string.
fn quoted(bytes: &[u8], from: usize, end: usize) -> Option<Span> {
    let mut start = from;
    while start < end && at(bytes, start) == b'\\' {
        start += 1;
    }
    let escapes = start - from;
    let quote = at(bytes, start);
    if !matches!(quote, b'"' | b'\'' | b'`') {
        return None;
    }
    start += 1;
    let window_end = end.min(start + VALUE);
    let mut at_ = start;
    loop {
        let Some(found) = memchr::memchr(quote, bytes.get(at_..window_end).unwrap_or_default())
        else {
            return Some(Span::new(start, window_end));
        };
        let close = at_ + found;
        let mut before = close;
        while before > start && at(bytes, before - 1) == b'\\' {
            before -= 1;
        }
        // A quote with more backslashes than the opening one belongs to the value.
        if close - before <= escapes {
            return Some(Span::new(start, before));
        }
        at_ = close + 1;
    }
}

fn unquoted(bytes: &[u8], start: usize, end: usize) -> Span {
    let window_end = end.min(start.saturating_add(VALUE));
    let rest = bytes.get(start..window_end).unwrap_or_default();
    let length = rest
        .iter()
        .position(|byte| {
            byte.is_ascii_whitespace() || b"&;,\"'<>)}]\\`".contains(byte) || *byte == 0
        })
        .unwrap_or(rest.len());
    Span::new(start, start + length)
}

/// `Cookie: a=b; c=d` as a line of text.
fn cookie_line(finds: &mut Finds<'_>, from: usize, end: usize, set: bool) -> usize {
    let bytes = finds.bytes;
    let rest = bytes.get(from..end).unwrap_or_default();
    let length = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
    places::cookie_header(finds, Span::new(from, from + length), set);
    from + length
}

/// `Bearer x` and `Basic x` anywhere.
fn schemes(finds: &mut Finds<'_>, range: Span) {
    let bytes = finds.bytes;
    let text = range.of(bytes);
    let base = range.start as usize;
    let mut from = 0;
    // Both schemes begin with the same letter.
    while let Some(found) = memchr::memchr2(b'b', b'B', text.get(from..).unwrap_or_default()) {
        let start = from + found;
        from = start + 1;
        let rest = text.get(start..).unwrap_or_default();
        let word = |name: &[u8]| {
            rest.get(..name.len())
                .is_some_and(|word| word.eq_ignore_ascii_case(name))
        };
        let (length, basic) = if word(b"bearer ") {
            (7, false)
        } else if word(b"basic ") {
            (6, true)
        } else {
            continue;
        };
        let value = rest.get(length..).unwrap_or_default();
        let size = value
            .iter()
            .take(VALUE)
            .position(|byte| !(byte.is_ascii_alphanumeric() || b"-._~+/=".contains(byte)))
            .unwrap_or(value.len().min(VALUE));
        let token = value.get(..size).unwrap_or_default();
        let secret = if basic {
            places::basic_password(token).is_some()
        } else {
            keys::looks_random(token, 8) || size >= 24
        };
        if secret {
            let start = base + start + length;
            finds.value(
                Carrier::Text,
                "authorization",
                Span::new(start, start + size),
            );
        }
        from = start + length + size;
    }
}

/// URLs in text, with their credentials, queries and fragments.
fn urls(finds: &mut Finds<'_>, range: Span) {
    let bytes = finds.bytes;
    let text = range.of(bytes);
    let base = range.start as usize;
    let mut last = 0;
    for found in memmem::find_iter(text, b"://") {
        if found < last {
            continue;
        }
        let scheme = text
            .get(..found)
            .unwrap_or_default()
            .iter()
            .rev()
            .take(16)
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
            .count();
        let start = found - scheme;
        let rest = text
            .get(start..text.len().min(start + URL))
            .unwrap_or_default();
        let length = rest
            .iter()
            .position(|byte| {
                byte.is_ascii_whitespace() || b"\"'<>`\\".contains(byte) || *byte < b' '
            })
            .unwrap_or(rest.len());
        last = start + length;
        places::url(finds, Span::new(base + start, base + start + length));
    }
}

/// Form fields and meta elements of a page whose name is that of a secret.
fn tags(finds: &mut Finds<'_>, range: Span) {
    let bytes = finds.bytes;
    let text = range.of(bytes);
    let base = range.start as usize;
    let mut last = 0;
    for found in memchr::memchr_iter(b'<', text) {
        if found < last {
            continue;
        }
        let rest = text.get(found + 1..).unwrap_or_default();
        let known = [&b"input"[..], b"meta"].iter().any(|name| {
            rest.get(..name.len())
                .is_some_and(|word| word.eq_ignore_ascii_case(name))
        });
        if !known {
            continue;
        }
        let tag = text
            .get(found..text.len().min(found + TAG))
            .unwrap_or_default();
        let tag = tag
            .get(..memchr::memchr(b'>', tag).map_or(tag.len(), |end| end + 1))
            .unwrap_or_default();
        last = found + tag.len();
        let attributes = tag_attributes(tag);
        let value = |wanted: &[&[u8]]| {
            attributes
                .iter()
                .find(|(name, _)| {
                    wanted
                        .iter()
                        .any(|known| name.of(tag).eq_ignore_ascii_case(known))
                })
                .map(|(_, value)| *value)
        };
        let Some(name) = value(&[b"name", b"id"]) else {
            continue;
        };
        let password =
            value(&[b"type"]).is_some_and(|kind| kind.of(tag).eq_ignore_ascii_case(b"password"));
        if !password && !keys::is_secret(name.of(tag), false) {
            continue;
        }
        if let Some(place) = value(&[b"value", b"content"])
            && place.start < place.end
        {
            let name = crate::bytes::lossy(name.of(tag), NAME);
            let start = base + found;
            finds.value(
                Carrier::Text,
                &name,
                Span::new(start + place.start as usize, start + place.end as usize),
            );
        }
    }
}
