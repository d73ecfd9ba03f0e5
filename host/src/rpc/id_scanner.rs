//! Finds the id of a request in text that is not valid JSON or too long to be kept, so that the reply can carry it.

use serde_json::Value;

/// The longest id that is kept, in bytes of JSON: ids are counters or UUIDs.
const ID_BYTES: usize = 1024;

/// The longest key that can be `"id"`, with each letter escaped and the quotes.
const KEY_BYTES: usize = 14;

/// Reads the top level of a JSON object piece by piece, in constant memory, and remembers its member `id`.
/// It checks no more syntax than it needs, so that errors elsewhere in the text do not matter.
#[derive(Debug, Default)]
pub struct IdScanner {
    state: State,
    /// The key or id that is being read, with its quotes.
    taken: Vec<u8>,
    /// Whether the value that is being read is the id.
    is_id: bool,
    id: Option<Value>,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// Before the object.
    #[default]
    Start,
    /// Before a key.
    Member,
    /// In a key.
    Key { escaped: bool },
    /// After a key.
    Colon,
    /// In a value, or before it.
    Value { depth: usize, string: InString },
    /// After the object, or in something else.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InString {
    No,
    Yes,
    Escaped,
}

impl IdScanner {
    /// Returns the id in a whole text.
    #[must_use]
    pub fn scan(text: &[u8]) -> Value {
        let mut scanner = Self::default();
        scanner.push(text);
        scanner.finish()
    }

    /// Reads the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        for byte in piece {
            if matches!(self.state, State::End) {
                return;
            }
            self.state = self.next(*byte);
        }
    }

    /// Returns the id, a text or a number; `null` where there was none that could be read.
    #[must_use]
    pub fn finish(mut self) -> Value {
        // A string has a closing quote. A number may have been cut off, and would then be another request's id.
        if self.taken.first() == Some(&b'"') {
            self.end_value();
        }
        self.id.unwrap_or_default()
    }

    fn next(&mut self, byte: u8) -> State {
        match self.state {
            State::Start => match byte {
                b'{' => State::Member,
                // The text is an array or a string: an object inside it is not a message.
                b'[' | b'"' => State::End,
                // White space, a byte order mark, or anything else that does not belong there.
                _ => State::Start,
            },
            State::Member => match byte {
                b'"' => {
                    self.taken = vec![byte];
                    State::Key { escaped: false }
                }
                b' ' | b'\t' | b'\r' | b'\n' | b',' => State::Member,
                _ => State::End,
            },
            State::Key { escaped } => self.in_key(byte, escaped),
            State::Colon => match byte {
                b':' => State::Value {
                    depth: 0,
                    string: InString::No,
                },
                b' ' | b'\t' | b'\r' | b'\n' => State::Colon,
                _ => State::End,
            },
            State::Value { depth, string } => self.in_value(byte, depth, string),
            State::End => State::End,
        }
    }

    fn in_key(&mut self, byte: u8, escaped: bool) -> State {
        if self.taken.len() < KEY_BYTES {
            self.taken.push(byte);
        }
        match byte {
            b'"' if !escaped => {
                let key = serde_json::from_slice::<String>(&self.taken);
                self.is_id = key.is_ok_and(|key| key == "id");
                self.taken.clear();
                State::Colon
            }
            _ => State::Key {
                escaped: byte == b'\\' && !escaped,
            },
        }
    }

    fn in_value(&mut self, byte: u8, depth: usize, string: InString) -> State {
        if string == InString::No && depth == 0 && matches!(byte, b',' | b'}') {
            self.end_value();
            return if byte == b',' {
                State::Member
            } else {
                State::End
            };
        }
        let leading = self.taken.is_empty() && byte.is_ascii_whitespace();
        if self.is_id && !leading && self.taken.len() <= ID_BYTES {
            self.taken.push(byte);
        }
        let (depth, string) = match (string, byte) {
            (InString::Escaped, _) => (depth, InString::Yes),
            (InString::Yes, b'\\') => (depth, InString::Escaped),
            (InString::Yes, b'"') => (depth, InString::No),
            (InString::Yes, _) => (depth, InString::Yes),
            (InString::No, b'"') => (depth, InString::Yes),
            (InString::No, b'{' | b'[') => (depth.saturating_add(1), InString::No),
            (InString::No, b'}' | b']') => (depth.saturating_sub(1), InString::No),
            (InString::No, _) => (depth, InString::No),
        };
        State::Value { depth, string }
    }

    fn end_value(&mut self) {
        if self.is_id
            && self.taken.len() <= ID_BYTES
            && let Ok(id @ (Value::String(_) | Value::Number(_))) =
                serde_json::from_slice(&self.taken)
        {
            self.id = Some(id);
        }
        self.is_id = false;
        self.taken.clear();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_id_is_found_wherever_it_can_be_read() {
        for (text, expected) in [
            (r#"{"id":5,"method":"#, json!(5)),
            (r#"{"jsonrpc":"2.0", "id" : "a b" ,"#, json!("a b")),
            (
                r#"{"method":"x","params":{"id":1,"a":[{"id":2}]},"id":3}"#,
                json!(3),
            ),
            ("{\"method\":\"p\\\"}ng\",\"id\":4} trailing", json!(4)),
            (r#"{"i\u0064":6,nonsense"#, json!(6)),
            ("\u{feff} {\"id\":7,", json!(7)),
            ("data: {\"id\":7}", json!(7)),
            ("\0{\"id\":7}", json!(7)),
            (r#""{\"id\":1}""#, json!(null)),
            (r#"{"id":-8.5}"#, json!(-8.5)),
            // Half a number is another number; half a text has no end.
            (r#"{"id":12"#, json!(null)),
            (r#"{"id":"12"#, json!(null)),
            (r#"{"id": "12""#, json!("12")),
            (r#"{"id":{"id":1}}"#, json!(null)),
            (r#"{"id":1e999}"#, json!(null)),
            (r#"[{"id":1}]"#, json!(null)),
            (r#"{"params":{"id":1}}"#, json!(null)),
            (r#"{"an-id-that-is-long":1,"not_id":2}"#, json!(null)),
            ("nonsense", json!(null)),
            ("", json!(null)),
        ] {
            assert_eq!(IdScanner::scan(text.as_bytes()), expected, "{text}");
            let mut scanner = IdScanner::default();
            for byte in text.bytes() {
                scanner.push(&[byte]);
            }
            assert_eq!(scanner.finish(), expected, "{text}, byte by byte");
        }
    }

    #[test]
    fn bytes_that_are_not_utf_8_do_not_hide_the_id() {
        for text in [
            &b"\xff{\"id\":7}"[..],
            b"\xc3\x28 {\"method\":\"p\xffng\",\"id\":7}",
            b"\x80\xfe\r{\"a\xff\":1,\"id\":7,",
        ] {
            assert_eq!(IdScanner::scan(text), 7);
        }
        assert_eq!(IdScanner::scan(b"{\"id\":\"a\xff\"}"), Value::Null);
    }

    #[test]
    fn an_endless_id_is_not_kept() {
        let text = format!(r#"{{"id":"{}"}}"#, "y".repeat(ID_BYTES));
        assert_eq!(IdScanner::scan(text.as_bytes()), Value::Null);
        let nested = format!(r#"{{"params":{},"id":1}}"#, "[".repeat(1 << 20));
        assert_eq!(IdScanner::scan(nested.as_bytes()), Value::Null);
        let nested = format!(
            r#"{{"params":{}{},"id":1}}"#,
            "[".repeat(1 << 20),
            "]".repeat(1 << 20)
        );
        assert_eq!(IdScanner::scan(nested.as_bytes()), 1);
    }
}
