//! Finds the end of a JSON value in bytes that arrive in pieces, and the first byte that cannot belong
//! to one. The state is a few words, whatever the size of the value.

use super::MAX_DEPTH;
use super::text::{escape_end, special};

/// Words of 64 levels each.
const WORDS: usize = MAX_DEPTH as usize / 64;

/// The result of reading some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// All bytes belong to the value and it goes on.
    More,
    /// The value ends before this index.
    Done(usize),
    /// The byte at this index cannot continue a value.
    Bad(usize),
}

/// The place of the next byte in the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A value, or white space before it.
    Value,
    /// A value or the end of the array that was just opened.
    FirstItem,
    /// A key or the end of the object that was just opened.
    FirstKey,
    /// A key, after a comma.
    Key,
    /// The colon after a key.
    Colon,
    /// A comma or the end of the container.
    Next,
    /// Inside a string.
    Text { key: bool },
    /// After a backslash.
    Escape { key: bool },
    /// Hex digits of `\u` still to come.
    Hex { key: bool, left: u8 },
    /// Inside a bare word.
    Word { word: &'static [u8], at: u8 },
    /// After a minus.
    Minus,
    /// After a leading zero.
    Zero,
    /// In the digits before a point.
    Integer,
    /// After the point.
    Point,
    /// In the digits after the point.
    Fraction,
    /// After `e`.
    Exponent,
    /// After the sign of the exponent.
    ExponentSign,
    /// In the digits of the exponent.
    ExponentDigits,
}

/// The result of reading one byte.
enum Step {
    /// The next byte is read in this state.
    To(State),
    /// The byte is not part of the number before it and is read again in this state.
    Again(State),
    /// The root value is complete with this byte.
    End,
    /// Not JSON.
    Bad,
}

/// An incremental validator for one value whose root is an object, an array or a string.
#[derive(Clone, Debug)]
pub struct Scanner {
    state: State,
    /// One bit for each level, the outermost first: 1 for an object.
    stack: [u64; WORDS],
    depth: u32,
}

impl Default for Scanner {
    fn default() -> Self {
        Self::new()
    }
}

impl Scanner {
    /// Creates a scanner before the first byte of a value.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            state: State::Value,
            stack: [0; WORDS],
            depth: 0,
        }
    }

    /// Returns whether only white space was read.
    pub fn is_fresh(&self) -> bool {
        self.depth == 0 && self.state == State::Value
    }

    /// Reads the next bytes. After `Done` or `Bad` the scanner must not be used again.
    pub fn run(&mut self, bytes: &[u8]) -> Scan {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if let State::Text { key } = self.state {
                let Some(found) = special(bytes, at) else {
                    return Scan::More;
                };
                at = found + 1;
                if bytes.get(found) == Some(&b'"') {
                    if let Some(end) = self.close_text(key, at) {
                        return end;
                    }
                } else if let Some(end) = escape_end(bytes, found) {
                    at = end;
                } else {
                    // An escape that is cut or wrong is read byte by byte, to go on after a cut and to find the wrong byte.
                    self.state = State::Escape { key };
                }
                continue;
            }
            match self.step(byte) {
                Step::To(state) => {
                    self.state = state;
                    at += 1;
                }
                Step::Again(state) => self.state = state,
                Step::End => return Scan::Done(at + 1),
                Step::Bad => return Scan::Bad(at),
            }
        }
        Scan::More
    }

    /// Ends a string after its closing quote.
    fn close_text(&mut self, key: bool, end: usize) -> Option<Scan> {
        self.state = if key { State::Colon } else { State::Next };
        (!key && self.depth == 0).then_some(Scan::Done(end))
    }

    fn step(&mut self, byte: u8) -> Step {
        match self.state {
            State::Value => self.value(byte),
            State::FirstItem if byte == b']' => self.pop(),
            State::FirstItem => self.value(byte),
            State::FirstKey if byte == b'}' => self.pop(),
            State::FirstKey | State::Key => match byte {
                b'"' => Step::To(State::Text { key: true }),
                _ => self.space(byte),
            },
            State::Colon if byte == b':' => Step::To(State::Value),
            State::Next => self.next(byte),
            State::Escape { key } => escape(byte, key),
            State::Hex { key, left } => hex(byte, key, left),
            State::Word { word, at } => letter(byte, word, at),
            State::Colon | State::Text { .. } => self.space(byte),
            _ => self.number(byte),
        }
    }

    fn space(&self, byte: u8) -> Step {
        if is_space(byte) {
            Step::To(self.state)
        } else {
            Step::Bad
        }
    }

    fn value(&mut self, byte: u8) -> Step {
        match byte {
            b'{' => self.push(true),
            b'[' => self.push(false),
            b'"' => Step::To(State::Text { key: false }),
            // Numbers and words must be in a container, which shows where they end.
            _ if self.depth == 0 => self.space(byte),
            b'-' => Step::To(State::Minus),
            b'0' => Step::To(State::Zero),
            b'1'..=b'9' => Step::To(State::Integer),
            b't' => word(b"true"),
            b'f' => word(b"false"),
            b'n' => word(b"null"),
            b'N' => word(b"NaN"),
            b'I' => word(b"Infinity"),
            _ => self.space(byte),
        }
    }

    fn push(&mut self, object: bool) -> Step {
        let bit = 1 << (self.depth % 64);
        // The stack has a bit for each allowed level, so a level without one is too deep.
        let Some(word) = self.stack.get_mut(self.depth as usize / 64) else {
            return Step::Bad;
        };
        *word = if object { *word | bit } else { *word & !bit };
        self.depth += 1;
        Step::To(if object {
            State::FirstKey
        } else {
            State::FirstItem
        })
    }

    /// Returns whether the innermost container is an object.
    fn in_object(&self) -> bool {
        let level = self.depth.saturating_sub(1);
        let word = self.stack.get(level as usize / 64);
        word.is_some_and(|word| word >> (level % 64) & 1 == 1)
    }

    fn pop(&mut self) -> Step {
        self.depth = self.depth.saturating_sub(1);
        if self.depth == 0 {
            Step::End
        } else {
            Step::To(State::Next)
        }
    }

    fn next(&mut self, byte: u8) -> Step {
        let object = self.in_object();
        match byte {
            b',' if object => Step::To(State::Key),
            b',' => Step::To(State::Value),
            b'}' if object => self.pop(),
            b']' if !object => self.pop(),
            _ => self.space(byte),
        }
    }

    fn number(&self, byte: u8) -> Step {
        let to = match (self.state, byte) {
            (State::Minus, b'0') => State::Zero,
            (State::Minus, b'I') => return word(b"Infinity"),
            (State::Minus, b'1'..=b'9') | (State::Integer, b'0'..=b'9') => State::Integer,
            (State::Zero | State::Integer, b'.') => State::Point,
            (State::Point | State::Fraction, b'0'..=b'9') => State::Fraction,
            (State::Zero | State::Integer | State::Fraction, b'e' | b'E') => State::Exponent,
            (State::Exponent, b'+' | b'-') => State::ExponentSign,
            (State::Exponent | State::ExponentSign | State::ExponentDigits, b'0'..=b'9') => {
                State::ExponentDigits
            }
            (State::Zero | State::Integer | State::Fraction | State::ExponentDigits, _) => {
                return Step::Again(State::Next);
            }
            _ => return Step::Bad,
        };
        Step::To(to)
    }
}

/// Returns whether the byte is JSON white space.
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn word(word: &'static [u8]) -> Step {
    Step::To(State::Word { word, at: 1 })
}

fn letter(byte: u8, word: &'static [u8], at: u8) -> Step {
    if word.get(usize::from(at)) != Some(&byte) {
        return Step::Bad;
    }
    let at = at + 1;
    Step::To(if usize::from(at) == word.len() {
        State::Next
    } else {
        State::Word { word, at }
    })
}

fn escape(byte: u8, key: bool) -> Step {
    match byte {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Step::To(State::Text { key }),
        b'u' => Step::To(State::Hex { key, left: 4 }),
        _ => Step::Bad,
    }
}

fn hex(byte: u8, key: bool, left: u8) -> Step {
    if !byte.is_ascii_hexdigit() {
        return Step::Bad;
    }
    Step::To(if left == 1 {
        State::Text { key }
    } else {
        State::Hex {
            key,
            left: left - 1,
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests {
    use super::*;

    fn scan(text: &str) -> Scan {
        let whole = Scanner::new().run(text.as_bytes());
        let mut scanner = Scanner::new();
        for (index, byte) in text.bytes().enumerate() {
            match scanner.run(&[byte]) {
                Scan::More => {}
                Scan::Done(_) => {
                    assert_eq!(whole, Scan::Done(index + 1), "{text}");
                    return whole;
                }
                Scan::Bad(_) => {
                    assert_eq!(whole, Scan::Bad(index), "{text}");
                    return whole;
                }
            }
        }
        assert_eq!(whole, Scan::More, "{text}");
        whole
    }

    #[test]
    fn ends_where_the_value_ends() {
        for text in [
            "{}",
            "[]",
            "\"a\"",
            r#"{"a": [1, -0.5e+3, true, null, {"b": "\u00e9\n"}]}"#,
            "[NaN, Infinity, -Infinity, 0, 10, 1E5, 1.25]",
            "[\"raw\u{1}\ncontrol\"]",
            " \n{ }",
        ] {
            assert_eq!(scan(text), Scan::Done(text.len()), "{text}");
            assert_eq!(
                scan(&format!("{text}</x>")),
                Scan::Done(text.len()),
                "{text}"
            );
        }
    }

    #[test]
    fn names_the_first_impossible_byte() {
        for (text, at) in [
            ("<", 0),
            ("1", 0),
            ("{a", 1),
            ("[1,]", 3),
            ("{\"a\":1,}", 7),
            ("[01]", 2),
            ("[1.]", 3),
            ("[\"\\x\"]", 3),
            ("[\"\\u12g4\"]", 6),
            ("[nul]", 4),
            ("[NaNa]", 4),
            ("{\"a\" 1}", 5),
            ("[}", 1),
            ("[1}", 2),
        ] {
            assert_eq!(scan(text), Scan::Bad(at), "{text}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = "[".repeat(MAX_DEPTH as usize);
        assert_eq!(scan(&deep), Scan::More);
        assert_eq!(scan(&format!("{deep}[")), Scan::Bad(deep.len()));
        let closed = format!("{deep}{}", "]".repeat(deep.len()));
        assert_eq!(scan(&closed), Scan::Done(closed.len()));
    }
}
