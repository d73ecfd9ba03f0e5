//! Reads the chunks of a stream by comparing them with one that was read in full.
//!
//! The chunks of a stream differ in their content, and perhaps in `id` and `created`. A template is the last chunk that was
//! read in full, with holes at these three. A chunk that equals it outside the holes, and has a whole string or number in
//! each hole, has the same members in the same places, since JSON is read from left to right. A chunk that does not match
//! is read in full and becomes the next template.

use crate::completion::CompletionChunk;
use memchr::{memchr, memchr2, memchr3};
use std::ops::Range;

/// Longest chunk that becomes a template, without its content. The recorded ones have some 200 bytes.
const MAX_BYTES: usize = 1024;

/// What a hole can contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hole {
    /// Letters, digits, `-` and `_`: an id.
    Id,
    /// A whole number.
    Number,
}

/// Text with holes: all that is before the content, or all that is after it. It ends with text.
#[derive(Debug, Default)]
struct Pattern {
    /// The text without the holes.
    text: Vec<u8>,
    /// The places of the holes in `text`, in order.
    holes: Vec<(usize, Hole)>,
    /// What matched last, with what was in the holes. Most chunks repeat it, and one comparison is faster than several.
    last: Vec<u8>,
}

/// The event of a chunk that was read in full.
#[derive(Debug, Default)]
pub(crate) struct Template {
    /// Whether there is such a chunk.
    known: bool,
    before: Pattern,
    after: Pattern,
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
    /// Forgets the chunk, so that the next one is read in full.
    pub(crate) fn forget(&mut self) {
        self.known = false;
    }

    /// Makes a chunk that was read in full the template, if copies of it can be read by comparing.
    pub(crate) fn learn(&mut self, data: &[u8], chunk: &CompletionChunk) {
        self.forget();
        let Some(content) = chunk.content.clone().filter(|_| chunk.plain) else {
            return;
        };
        // Data of several lines has line ends as white space, which would end the line of a copy.
        if data.len() - content.len() > MAX_BYTES || memchr2(b'\n', b'\r', data).is_some() {
            return;
        }
        let mut holes = Vec::new();
        for (range, hole) in [(&chunk.id, Hole::Id), (&chunk.created, Hole::Number)] {
            let Some(range) = range.clone() else { continue };
            let inside = data.get(range.clone()).unwrap_or_default();
            // A value of another form stays text.
            if hole.length(inside) == Some(inside.len()) {
                holes.push((range, hole));
            }
        }
        holes.sort_unstable_by_key(|(range, _)| range.start);
        let after = holes.partition_point(|(range, _)| range.start < content.start);
        let (before, after) = holes.split_at(after);
        self.before
            .set(b"data: ", data, 0..content.start, before, b"");
        self.after
            .set(b"", data, content.end..data.len(), after, b"\n\n");
        self.known = true;
    }

    /// Reads a whole event at the start of `bytes`, no line of which is longer than `limit`.
    pub(crate) fn read(&mut self, bytes: &[u8], limit: usize) -> Option<Match> {
        if !self.known {
            return None;
        }
        let start = self.before.length(bytes)?;
        let rest = bytes.get(start..)?;
        let (content, escaped) = content_length(rest)?;
        let end = start + content;
        let length = end + self.after.length(bytes.get(end..)?)?;
        (length - 2 <= limit).then_some(Match {
            content: start..end,
            escaped,
            length,
        })
    }
}

impl Pattern {
    /// Sets the pattern to `first`, this part of the data and `last`.
    fn set(
        &mut self,
        first: &[u8],
        data: &[u8],
        part: Range<usize>,
        holes: &[(Range<usize>, Hole)],
        last: &[u8],
    ) {
        let get = |range: Range<usize>| data.get(range).unwrap_or_default();
        self.last.clear();
        self.last.extend([first, get(part.clone()), last].concat());
        self.holes.clear();
        self.text.clear();
        self.text.extend_from_slice(first);
        let mut from = part.start;
        for (range, hole) in holes {
            self.text.extend_from_slice(get(from..range.start));
            self.holes.push((self.text.len(), *hole));
            from = range.end;
        }
        self.text.extend_from_slice(get(from..part.end));
        self.text.extend_from_slice(last);
    }

    /// Returns the length of what matches at the start of `bytes`.
    fn length(&mut self, bytes: &[u8]) -> Option<usize> {
        if starts_with(bytes, &self.last) {
            return Some(self.last.len());
        }
        if self.holes.is_empty() {
            return None;
        }
        let (mut at, mut from) = (0, 0);
        for &(place, hole) in &self.holes {
            at = text_end(bytes, at, self.text.get(from..place)?)?;
            at += hole.length(bytes.get(at..)?)?;
            from = place;
        }
        at = text_end(bytes, at, self.text.get(from..)?)?;
        self.last.clear();
        self.last.extend_from_slice(bytes.get(..at)?);
        Some(at)
    }
}

impl Hole {
    /// Returns the number of bytes at the start that the hole can contain.
    fn length(self, bytes: &[u8]) -> Option<usize> {
        let length = bytes
            .iter()
            .position(|byte| match self {
                Hole::Number => !byte.is_ascii_digit(),
                Hole::Id => !(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')),
            })
            .unwrap_or(bytes.len());
        // JSON has no number with a leading zero.
        let zero = self == Hole::Number && bytes.first() == Some(&b'0') && length > 1;
        (length > 0 && !zero).then_some(length)
    }
}

/// Returns the index after this text, which must begin at `at`.
fn text_end(bytes: &[u8], at: usize, text: &[u8]) -> Option<usize> {
    starts_with(bytes.get(at..)?, text).then_some(at + text.len())
}

/// Returns whether `bytes` begin with this text, eight bytes at a time: the `memcmp` that the standard library's
/// `starts_with` calls compares single bytes on wasm.
fn starts_with(bytes: &[u8], text: &[u8]) -> bool {
    let Some(bytes) = bytes.get(..text.len()) else {
        return false;
    };
    let (lefts, left_rest) = bytes.as_chunks::<8>();
    let (rights, right_rest) = text.as_chunks::<8>();
    let words = lefts.iter().zip(rights);
    let differ = words.fold(0, |differ, (left, right)| {
        differ | (u64::from_le_bytes(*left) ^ u64::from_le_bytes(*right))
    });
    differ == 0 && left_rest.iter().eq(right_rest)
}

/// Returns the length of a string's inside, and whether it has escapes; `None` if a line end comes first.
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
    memchr(b'\r', bytes.get(..at)?)
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
        let chunk = CompletionChunk::read(data.as_bytes()).unwrap();
        template.learn(data.as_bytes(), &chunk);
        template
    }

    fn content(template: &mut Template, data: &str) -> Option<String> {
        let event = format!("data: {data}\n\nrest");
        let found = template.read(event.as_bytes(), 1 << 20)?;
        assert_eq!(found.length, event.len() - 4);
        Some(event[found.content].to_owned())
    }

    #[test]
    fn copies_are_read() {
        for shape in [RECORDED, DOCUMENTED] {
            let mut template = template(shape);
            let other = shape
                .replace("Hi", r#"a\"b\u00e9"#)
                .replace("17", "42")
                .replace("43cc", "0");
            assert_eq!(
                content(&mut template, &other).as_deref(),
                Some(r#"a\"b\u00e9"#)
            );
            assert_eq!(
                content(&mut template, &shape.replace("Hi", "")).as_deref(),
                Some("")
            );
        }
    }

    #[test]
    fn others_are_not() {
        let mut template = template(RECORDED);
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
                content(&mut template, &RECORDED.replacen(from, to, 1)),
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
            assert_eq!(content(&mut template(data), data), None, "{data}");
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
            template.learn(&first, &CompletionChunk::read(&first).unwrap());
            let event = [b"data: ", &second[..], b"\n\n"].concat();
            if let Some(found) = template.read(&event, 1 << 20) {
                // An edit may have ended the event early.
                let second = &event[6..found.length - 2];
                let chunk = CompletionChunk::read(second).unwrap();
                let content = chunk.content.unwrap();
                prop_assert_eq!(&event[found.content.clone()], &second[content]);
                prop_assert_eq!(found.escaped, event[found.content].contains(&b'\\'));
                let model = chunk.model.map(|range| &second[range]);
                let learnt = CompletionChunk::read(&first).unwrap().model;
                prop_assert_eq!(model, learnt.map(|range| &first[range]));
                prop_assert!(chunk.finish_reason.is_none() && chunk.usage.is_none() && chunk.error.is_none());
            }
        }
    }
}
