//! Finds the members of a completion chunk, which is the data of one event, without building JSON values.
//!
//! Members can come in any order, with white space and unknown members between them. Of members of one name the last
//! counts, as in every common JSON reader. Only the first choice counts: a request has one message.

use crate::json::cursor::Cursor;
use crate::json::text::unescape;
use std::borrow::Cow;
use std::ops::Range;

/// The members of a completion chunk, as ranges of its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompletionChunk {
    /// The inside of `choices[0].delta.content` (or of `message.content`).
    pub content: Option<Range<usize>>,
    /// The inside of `model`.
    pub model: Option<Range<usize>>,
    /// The inside of `choices[0].finish_reason`, unless empty.
    pub finish_reason: Option<Range<usize>>,
    /// The object `usage`.
    pub usage: Option<Range<usize>>,
    /// `error` or `errors`, unless null; `detail` where there is no `choices`.
    pub error: Option<Range<usize>>,
    /// The inside of `id`, for the template.
    pub id: Option<Range<usize>>,
    /// The number `created`, for the template.
    pub created: Option<Range<usize>>,
    /// Whether it has `choices`.
    pub choices: bool,
    /// Whether a template may read copies of it: no member above comes twice, and it has one choice with a delta.
    pub plain: bool,
}

impl CompletionChunk {
    /// Reads a chunk; `None` if the bytes are not a JSON object.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut found = Self {
            plain: true,
            ..Self::default()
        };
        let mut detail = None;
        let mut cursor = Cursor::new(bytes);
        cursor.members(|cursor, key| {
            match &*key_text(key) {
                "choices" => found.choices(cursor)?,
                "model" => found.once(|me| &mut me.model, cursor.string_or_skip()?),
                "id" => found.once(|me| &mut me.id, cursor.string_or_skip()?),
                "created" => {
                    let digits = cursor.skip()?;
                    found.once(|me| &mut me.created, Some(digits));
                }
                "usage" => {
                    found.usage = (cursor.peek()? == b'{').then_some(cursor.skip()?);
                }
                "error" | "errors" => {
                    let null = cursor.peek()? == b'n';
                    let value = cursor.skip()?;
                    found.error = if null {
                        found.error.take()
                    } else {
                        Some(value)
                    };
                }
                "detail" => detail = Some(cursor.skip()?),
                _ => {
                    cursor.skip()?;
                }
            }
            Some(())
        })?;
        if !found.choices && found.error.is_none() {
            found.error = detail;
        }
        found.plain &= found.content.is_some() && found.usage.is_none() && found.error.is_none();
        found.plain &= found.finish_reason.is_none();
        cursor.at_end().then_some(found)
    }

    /// Sets a member. A chunk that has it twice is not plain.
    fn once(
        &mut self,
        member: impl Fn(&mut Self) -> &mut Option<Range<usize>>,
        value: Option<Range<usize>>,
    ) {
        let slot = member(self);
        let twice = slot.is_some();
        *slot = value;
        self.plain &= !twice;
    }

    fn choices(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        self.plain &= !self.choices;
        self.choices = true;
        self.content = None;
        self.finish_reason = None;
        if cursor.peek()? != b'[' {
            cursor.skip()?;
            return Some(());
        }
        cursor.items(|cursor, index| {
            if index > 0 || cursor.peek()? != b'{' {
                self.plain = false;
                cursor.skip()?;
                return Some(());
            }
            self.choice(cursor)
        })
    }

    fn choice(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        cursor.members(|cursor, key| {
            match &*key_text(key) {
                "delta" => self.message(cursor)?,
                "message" => {
                    self.plain = false;
                    self.message(cursor)?;
                }
                // Some servers write an empty string in every chunk.
                "finish_reason" => {
                    let reason = cursor.string_or_skip()?;
                    self.finish_reason = reason.filter(|reason| !reason.is_empty());
                }
                _ => {
                    cursor.skip()?;
                }
            }
            Some(())
        })
    }

    fn message(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        self.plain &= self.content.is_none();
        self.content = None;
        if cursor.peek()? != b'{' {
            self.plain = false;
            cursor.skip()?;
            return Some(());
        }
        cursor.members(|cursor, key| {
            if &*key_text(key) == "content" {
                let content = cursor.string_or_skip()?;
                self.once(|me| &mut me.content, content);
            } else {
                cursor.skip()?;
            }
            Some(())
        })
    }
}

/// Returns a key without escapes.
fn key_text(key: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(key) {
        Ok(key) => unescape(key),
        Err(_) => Cow::Borrowed(""),
    }
}

/// Returns the text of the string whose inside is this range; bytes that are not UTF-8 are replaced.
pub fn text_at(bytes: &[u8], range: &Range<usize>) -> String {
    let raw = String::from_utf8_lossy(bytes.get(range.clone()).unwrap_or_default());
    unescape(&raw).into_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests {
    use super::*;

    fn content(json: &str) -> Option<String> {
        let found = CompletionChunk::read(json.as_bytes()).unwrap();
        found.content.map(|range| text_at(json.as_bytes(), &range))
    }

    #[test]
    fn reads_both_shapes() {
        let recorded = r#"{"model":"brave-pro","system_fingerprint":"","choices":[{"delta":{"role":"assistant","content":"Hi \u2013"},"finish_reason":null}],"created":1,"id":"a-b","object":"chat.completion.chunk","usage":null}"#;
        assert_eq!(content(recorded).as_deref(), Some("Hi –"));
        assert!(CompletionChunk::read(recorded.as_bytes()).unwrap().plain);
        let documented = r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"brave","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}"#;
        assert_eq!(content(documented).as_deref(), Some("x"));
    }

    #[test]
    fn absent_and_null_content() {
        for json in [
            "{}",
            r#"{"choices":[]}"#,
            r#"{"choices":null}"#,
            r#"{"choices":[{"delta":{}}]}"#,
            r#"{"choices":[{"delta":null}]}"#,
            r#"{"choices":[{"delta":{"content":null}}]}"#,
            r#"{"choices":[7]}"#,
        ] {
            assert_eq!(content(json), None, "{json}");
            assert!(
                !CompletionChunk::read(json.as_bytes()).unwrap().plain,
                "{json}"
            );
        }
    }

    #[test]
    fn the_last_of_a_name_counts() {
        let json = r#"{"choices":[{"delta":{"content":"a","content":"b"}}]}"#;
        assert_eq!(content(json).as_deref(), Some("b"));
        assert!(!CompletionChunk::read(json.as_bytes()).unwrap().plain);
        let json = r#"{"choices":[{"delta":{"content":"a"}}],"choices":[]}"#;
        assert_eq!(content(json), None);
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for json in [
            "",
            "[]",
            "42",
            "{",
            "{\"a\":}",
            "{} x",
            "hello",
            "{\"a\":1,}",
        ] {
            assert_eq!(CompletionChunk::read(json.as_bytes()), None, "{json}");
        }
    }

    #[test]
    fn errors_are_found() {
        let found = |json: &str| {
            CompletionChunk::read(json.as_bytes())
                .unwrap()
                .error
                .is_some()
        };
        assert!(found(r#"{"error":{"message":"x"}}"#));
        assert!(found(r#"{"detail":"x"}"#));
        assert!(!found(r#"{"error":null,"choices":[]}"#));
        assert!(!found(r#"{"detail":"x","choices":[]}"#));
    }
}
