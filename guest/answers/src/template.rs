//! Reads the chunks of a stream by comparing them with one that was read in full.
//!
//! In a stream all chunks look alike: only the content, and perhaps `id` and `created`, differ. So a
//! template is the last plain chunk with holes at these three. A chunk that equals it outside of the holes,
//! and has a whole string or number inside of each, reads the same way as the template did, since
//! JSON is read from left to right and nothing but the holes' own text differs. Whatever does not match is read in
//! full and becomes the next template.

use crate::envelope::Envelope;
use memchr::{memchr2, memchr3};
use std::ops::Range;

/// Longest envelope that is remembered, content aside; the recorded ones have some 200 bytes.
const MAX_ENVELOPE: usize = 1024;

/// What may stand in a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hole {
    /// The inside of a JSON string: the content.
    Content,
    /// Letters, digits, `-` and `_`: an id.
    Id,
    /// A whole number.
    Number,
}

/// A chunk that was read in full, with its holes.
#[derive(Debug, Default)]
pub(crate) struct Template {
    /// The literal text, holes left out.
    text: Vec<u8>,
    /// Where in `text` the holes are, in order.
    holes: Vec<(usize, Hole)>,
}

/// An event that matched.
pub(crate) struct Match {
    /// The inside of the content string, in the bytes that were given.
    pub content: Range<usize>,
    /// Whether it has escapes.
    pub escaped: bool,
    /// Bytes of the event, with its blank line.
    pub length: usize,
}

impl Template {
    /// Remembers a chunk that was read in full, if copies of it may be read by comparing.
    pub(crate) fn learn(&mut self, data: &[u8], envelope: &Envelope) {
        self.holes.clear();
        self.text.clear();
        let Some(content) = envelope.content.clone().filter(|_| envelope.plain) else {
            return;
        };
        // A line end within the data is white space there but would not be in a line.
        if data.len() - content.len() > MAX_ENVELOPE || memchr2(b'\n', b'\r', data).is_some() {
            return;
        }
        let mut holes = vec![(content, Hole::Content)];
        for (range, hole) in [(&envelope.id, Hole::Id), (&envelope.created, Hole::Number)] {
            let Some(range) = range.clone() else { continue };
            let inside = data.get(range.clone()).unwrap_or_default();
            // What the hole does not take stays literal.
            if hole.length(inside) == Some(inside.len()) {
                let place = holes
                    .iter()
                    .position(|(other, _)| other.start > range.start);
                holes.insert(place.unwrap_or(holes.len()), (range, hole));
            }
        }
        self.text.extend_from_slice(b"data: ");
        let mut from = 0;
        for (range, hole) in holes {
            self.text
                .extend_from_slice(data.get(from..range.start).unwrap_or_default());
            self.holes.push((self.text.len(), hole));
            from = range.end;
        }
        self.text
            .extend_from_slice(data.get(from..).unwrap_or_default());
        self.text.extend_from_slice(b"\n\n");
    }

    /// Reads a whole event at the start of `bytes`, no line of which is longer than `limit`.
    pub(crate) fn read(&self, bytes: &[u8], limit: usize) -> Option<Match> {
        let mut found = None;
        let (mut at, mut from) = (0, 0);
        for &(place, hole) in &self.holes {
            at = literal(bytes, at, self.text.get(from..place)?)?;
            from = place;
            let rest = bytes.get(at..)?;
            if hole == Hole::Content {
                let (length, escaped) = content_length(rest)?;
                found = Some((at..at + length, escaped));
                at += length;
            } else {
                at += hole.length(rest)?;
            }
        }
        let (content, escaped) = found?;
        let length = literal(bytes, at, self.text.get(from..)?)?;
        (length - 2 <= limit).then_some(Match {
            content,
            escaped,
            length,
        })
    }
}

impl Hole {
    /// How many bytes at the start belong into the hole.
    fn length(self, bytes: &[u8]) -> Option<usize> {
        let length = bytes
            .iter()
            .position(|byte| match self {
                Hole::Number => !byte.is_ascii_digit(),
                _ => !(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')),
            })
            .unwrap_or(bytes.len());
        // A number does not begin with 0, but for 0 itself.
        let zero = self == Hole::Number && bytes.first() == Some(&b'0') && length > 1;
        (length > 0 && !zero).then_some(length)
    }
}

/// The index after the literal that must stand at `at`.
fn literal(bytes: &[u8], at: usize, literal: &[u8]) -> Option<usize> {
    let end = at + literal.len();
    equal(bytes.get(at..end)?, literal).then_some(end)
}

/// Whether two slices are equal, eight bytes at a time: the C function that `==` calls looks at single
/// bytes on wasm.
fn equal(left: &[u8], right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    let (lefts, left_rest) = left.as_chunks::<8>();
    let (rights, right_rest) = right.as_chunks::<8>();
    let words = lefts.iter().zip(rights);
    let differ = words.fold(0, |differ, (left, right)| {
        differ | (u64::from_le_bytes(*left) ^ u64::from_le_bytes(*right))
    });
    differ == 0 && left_rest.iter().eq(right_rest)
}

/// The length of a string's inside, and whether it has escapes. Line ends are not part of one here.
fn content_length(bytes: &[u8]) -> Option<(usize, bool)> {
    let mut at = 0;
    let mut escaped = false;
    loop {
        at += memchr3(b'"', b'\\', b'\n', bytes.get(at..)?)?;
        match bytes.get(at)? {
            b'"' => break,
            b'\\' => {
                escaped = true;
                at = crate::json::text::escape_end(bytes, at)?;
            }
            _ => return None,
        }
    }
    memchr::memchr(b'\r', bytes.get(..at)?)
        .is_none()
        .then_some((at, escaped))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RECORDED: &str = r#"{"model":"brave-pro","system_fingerprint":"","choices":[{"delta":{"role":"assistant","content":"Hi"},"finish_reason":null}],"created":1793452800,"id":"f9b6-43cc","object":"chat.completion.chunk","usage":null}"#;
    const DOCUMENTED: &str = r#"{"id":"chatcmpl-1","created":17,"model":"brave","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}"#;

    fn template(data: &str) -> Template {
        let mut template = Template::default();
        let envelope = Envelope::read(data.as_bytes()).unwrap();
        template.learn(data.as_bytes(), &envelope);
        template
    }

    fn content(template: &Template, data: &str) -> Option<String> {
        let event = format!("data: {data}\n\nrest");
        let found = template.read(event.as_bytes(), 1 << 20)?;
        assert_eq!(found.length, event.len() - 4);
        Some(event[found.content].to_owned())
    }

    #[test]
    fn copies_are_read() {
        for shape in [RECORDED, DOCUMENTED] {
            let template = template(shape);
            let other = shape
                .replace("Hi", r#"a\"b\u00e9"#)
                .replace("17", "42")
                .replace("43cc", "0");
            assert_eq!(content(&template, &other).as_deref(), Some(r#"a\"b\u00e9"#));
            assert_eq!(
                content(&template, &shape.replace("Hi", "")).as_deref(),
                Some("")
            );
        }
    }

    #[test]
    fn others_are_not() {
        let template = template(RECORDED);
        for (from, to) in [
            ("Hi", "a\\x"),
            ("Hi", "a\nb"),
            ("Hi", "a\rb"),
            ("Hi", "a\",\"content\":\"b"),
            ("null", "\"stop\""),
            ("1793452800", "017"),
            ("1793452800", ""),
            ("f9b6", "a\\\"b"),
            ("brave-pro", "brave"),
        ] {
            assert_eq!(
                content(&template, &RECORDED.replacen(from, to, 1)),
                None,
                "{from} {to}"
            );
        }
        let line = format!("data: {RECORDED}\n");
        assert!(template.read(line.as_bytes(), 1 << 20).is_none());
        assert!(template.read(format!("{line}\n").as_bytes(), 20).is_none());
    }

    #[test]
    fn what_is_not_plain_is_not_remembered() {
        for data in [
            r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}"#,
            r#"{"choices":[{"delta":{"content":"a"}}],"usage":{}}"#,
            r#"{"choices":[{"delta":{"content":"a"}},{}]}"#,
            r#"{"choices":[{"delta":{"content":"a"}}],"model":"a","model":"b"}"#,
            r#"{"choices":[{"message":{"content":"a"}}]}"#,
            r#"{"choices":[{"delta":{}}]}"#,
        ] {
            assert_eq!(content(&template(data), data), None, "{data}");
        }
    }

    /// A chunk, and one that is it but for a few bytes.
    fn pair() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
        let shape = proptest::sample::select(vec![
            RECORDED,
            DOCUMENTED,
            r#"{"id":"a","id":"b","choices":[{"delta":{"content":"x"}}]}"#,
            r#"{ "created" : 0 , "choices" : [ {"delta" : {"content" : "\u0041"} } ] , "id" : "" }"#,
            r#"{"a":{"content":"no","id":"no"},"choices":[{"delta":{"content":"yes"}}],"created":-1}"#,
        ]);
        let pieces = proptest::sample::select(vec![
            "\"",
            "\\",
            "\\\"",
            "\\u12",
            "\\u1234",
            "0",
            "7",
            "a",
            "-",
            ",",
            "}",
            "{",
            "]",
            ":",
            " ",
            "\n",
            "\r",
            "é",
            "\",\"content\":\"",
            "null",
            "\"stop\"",
        ]);
        let edit = (any::<usize>(), 0_usize..4, pieces);
        (shape, proptest::collection::vec(edit, 0..4)).prop_map(|(shape, edits)| {
            let mut edited = shape.as_bytes().to_vec();
            for (place, remove, insert) in edits {
                let start = place % (edited.len() + 1);
                let end = (start + remove).min(edited.len());
                edited.splice(start..end, insert.bytes());
            }
            (shape.as_bytes().to_vec(), edited)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

        /// What matches reads the same in full.
        #[test]
        fn the_quick_road_is_the_slow_one((first, second) in pair()) {
            let mut template = Template::default();
            template.learn(&first, &Envelope::read(&first).unwrap());
            let event = [b"data: ", &second[..], b"\n\n"].concat();
            if let Some(found) = template.read(&event, 1 << 20) {
                // An edit may have ended the event early.
                let second = &event[6..found.length - 2];
                let envelope = Envelope::read(second).unwrap();
                let content = envelope.content.unwrap();
                prop_assert_eq!(&event[found.content.clone()], &second[content]);
                prop_assert_eq!(found.escaped, event[found.content].contains(&b'\\'));
                let model = envelope.model.map(|range| &second[range]);
                let learnt = Envelope::read(&first).unwrap().model;
                prop_assert_eq!(model, learnt.map(|range| &first[range]));
                prop_assert!(envelope.finish_reason.is_none() && envelope.usage.is_none() && envelope.error.is_none());
            }
        }
    }
}
