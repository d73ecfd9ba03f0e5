//! JSON as it is written: every scalar with its place, whatever else is wrong with the text.

use std::borrow::Cow;

use crate::limits;
use crate::types::Span;

/// Where a scalar is: one frame for each container around it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// The key inside of an object, without quotes, as written.
    pub(crate) key: Option<Span>,
    /// The position inside of an array.
    pub(crate) index: u32,
}

/// A scalar.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaf {
    /// Its place; a string without its quotes.
    pub(crate) span: Span,
    /// Whether it is a string.
    pub(crate) string: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    Key,
    Colon,
    Next,
}

/// Visits the scalars of one JSON text, or of several one after another. Returns the offset up to which the bytes are JSON.
pub(crate) fn walk(bytes: &[u8], visit: &mut dyn FnMut(&[Frame], Leaf)) -> usize {
    let mut frames: Vec<Frame> = Vec::new();
    let mut objects: Vec<bool> = Vec::new();
    let mut expect = Expect::Value;
    let mut at = prefix(bytes);
    let mut good = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let object = objects.last().copied();
        match (byte, expect) {
            (b'{' | b'[', Expect::Value) => {
                if frames.len() >= limits::DEPTH {
                    return good;
                }
                objects.push(byte == b'{');
                frames.push(Frame {
                    key: None,
                    index: 0,
                });
                expect = if byte == b'{' {
                    Expect::Key
                } else {
                    Expect::Value
                };
                at += 1;
            }
            (b'}', Expect::Key | Expect::Next) if object == Some(true) => {
                frames.pop();
                objects.pop();
                expect = Expect::Next;
                at += 1;
            }
            (b']', Expect::Value | Expect::Next) if object == Some(false) => {
                frames.pop();
                objects.pop();
                expect = Expect::Next;
                at += 1;
            }
            (b'"', Expect::Key) => {
                let Some(end) = string_end(bytes, at + 1) else {
                    return good;
                };
                if let Some(frame) = frames.last_mut() {
                    frame.key = Some(Span::new(at + 1, end));
                }
                expect = Expect::Colon;
                at = end + 1;
            }
            (b':', Expect::Colon) => {
                expect = Expect::Value;
                at += 1;
            }
            (b',', Expect::Next) if object.is_some() => {
                if let Some(frame) = frames.last_mut() {
                    frame.index = frame.index.saturating_add(1);
                }
                expect = if object == Some(true) {
                    Expect::Key
                } else {
                    Expect::Value
                };
                at += 1;
            }
            (_, Expect::Value) => {
                let Some((leaf, end)) = scalar(bytes, at) else {
                    return good;
                };
                visit(&frames, leaf);
                expect = Expect::Next;
                at = end;
            }
            // Another text after the first.
            (_, Expect::Next) if object.is_none() => expect = Expect::Value,
            _ => return good,
        }
        good = at;
    }
    good
}

/// What some servers write before JSON so that no script can include it.
fn prefix(bytes: &[u8]) -> usize {
    let bom = if bytes.starts_with(b"\xef\xbb\xbf") {
        3
    } else {
        0
    };
    let rest = bytes.get(bom..).unwrap_or_default();
    for guard in [&b")]}'"[..], b"while(1);", b"for(;;);"] {
        if rest.starts_with(guard) {
            let comma = usize::from(rest.get(guard.len()) == Some(&b','));
            return bom + guard.len() + comma;
        }
    }
    bom
}

fn string_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let found = memchr::memchr2(b'"', b'\\', bytes.get(at..)?)? + at;
        if bytes.get(found) == Some(&b'"') {
            return Some(found);
        }
        at = found + 2;
    }
}

fn scalar(bytes: &[u8], at: usize) -> Option<(Leaf, usize)> {
    if bytes.get(at) == Some(&b'"') {
        let end = string_end(bytes, at + 1)?;
        let leaf = Leaf {
            span: Span::new(at + 1, end),
            string: true,
        };
        return Some((leaf, end + 1));
    }
    let rest = bytes.get(at..)?;
    let length = rest
        .iter()
        .position(|byte| !(byte.is_ascii_alphanumeric() || b"+-.".contains(byte)))
        .unwrap_or(rest.len());
    let word = rest.get(..length)?;
    let number = word
        .first()
        .is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-');
    let literal = matches!(
        word,
        b"true" | b"false" | b"null" | b"NaN" | b"Infinity" | b"-Infinity"
    );
    (number || literal).then_some((
        Leaf {
            span: Span::new(at, at + length),
            string: false,
        },
        at + length,
    ))
}

/// Returns a string without its escapes.
pub(crate) fn unescape(raw: &[u8]) -> Cow<'_, [u8]> {
    if !raw.contains(&b'\\') {
        return Cow::Borrowed(raw);
    }
    let mut quoted = Vec::with_capacity(raw.len() + 2);
    quoted.push(b'"');
    quoted.extend_from_slice(raw);
    quoted.push(b'"');
    match serde_json::from_slice::<String>(&quoted) {
        Ok(text) => Cow::Owned(text.into_bytes()),
        Err(_) => Cow::Borrowed(raw),
    }
}

/// Returns the JSON pointer of a scalar.
pub(crate) fn pointer(bytes: &[u8], frames: &[Frame]) -> String {
    /// Bytes of one key that a pointer shows.
    const KEY: usize = 128;
    let mut out = String::new();
    for frame in frames {
        out.push('/');
        match frame.key {
            Some(key) => {
                let key = unescape(key.of(bytes)).into_owned();
                let text = crate::bytes::lossy(&key, KEY);
                out.push_str(&text.replace('~', "~0").replace('/', "~1"));
            }
            None => out.push_str(&frame.index.to_string()),
        }
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn leaves(text: &str) -> (Vec<(String, String)>, usize) {
        let mut found = Vec::new();
        let end = walk(text.as_bytes(), &mut |frames, leaf| {
            let value = String::from_utf8_lossy(leaf.span.of(text.as_bytes())).into_owned();
            found.push((pointer(text.as_bytes(), frames), value));
        });
        (found, end)
    }

    #[test]
    fn scalars_have_their_pointer() {
        let text = r#"{"a":{"b/c":[1,"x\"y",null]},"d":true}"#;
        let (found, end) = leaves(text);
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("/a/b~1c/0", "1"),
                ("/a/b~1c/1", r#"x\"y"#),
                ("/a/b~1c/2", "null"),
                ("/d", "true")
            ]
        );
        assert_eq!(end, text.len());
    }

    #[test]
    fn what_comes_before_a_fault_is_found() {
        assert_eq!(leaves(r#"{"a":1,"b":oops}"#).0.len(), 1);
        assert_eq!(leaves(r#")]}',[1,2"#).0.len(), 2);
        assert_eq!(leaves("{\"a\":1}\n{\"a\":2}").0.len(), 2);
        assert_eq!(leaves(&"[".repeat(1000)).0.len(), 0);
        assert_eq!(leaves("\"abc").0.len(), 0);
        assert_eq!(leaves("\"abc\\").0.len(), 0);
    }
}
