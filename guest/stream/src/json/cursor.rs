//! Walks over JSON without building values, for the chunks of a stream.

use super::scanner::{Scan, Scanner, is_space};
use super::text::string_end;
use std::ops::Range;

/// A place in JSON text. Every method returns `None` if the text is not JSON.
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at the start of some JSON text.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the next byte that is not white space.
    pub fn peek(&mut self) -> Option<u8> {
        while self.bytes.get(self.at).copied().is_some_and(is_space) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    /// Returns whether nothing but white space is left.
    pub fn at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    /// Reads the byte if it is next.
    pub fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Reads a string and returns the range of its inside.
    pub fn string(&mut self) -> Option<Range<usize>> {
        if !self.eat(b'"') {
            return None;
        }
        let start = self.at;
        let end = string_end(self.bytes, start)?;
        self.at = end + 1;
        Some(start..end)
    }

    /// Reads any value. Returns the range of its inside if it is a string.
    pub fn string_or_skip(&mut self) -> Option<Option<Range<usize>>> {
        if self.peek()? == b'"' {
            self.string().map(Some)
        } else {
            self.skip().map(|_| None)
        }
    }

    /// Reads any value and returns its range.
    pub fn skip(&mut self) -> Option<Range<usize>> {
        let first = self.peek()?;
        let start = self.at;
        let rest = self.bytes.get(start..)?;
        self.at += match first {
            b'{' | b'[' | b'"' => match Scanner::new().run(rest) {
                Scan::Done(end) => end,
                Scan::More | Scan::Bad(_) => return None,
            },
            _ => scalar(rest)?,
        };
        Some(start..self.at)
    }

    /// Reads an object. Calls `member` with the inside of each key; it must read the value.
    pub fn members(
        &mut self,
        mut member: impl FnMut(&mut Self, &'a [u8]) -> Option<()>,
    ) -> Option<()> {
        if !self.eat(b'{') {
            return None;
        }
        if self.eat(b'}') {
            return Some(());
        }
        loop {
            let key = self.string()?;
            if !self.eat(b':') {
                return None;
            }
            let key = self.bytes.get(key)?;
            member(self, key)?;
            if self.eat(b'}') {
                return Some(());
            }
            if !self.eat(b',') {
                return None;
            }
        }
    }

    /// Reads an array. Calls `item` with each index; it must read the item.
    pub fn items(&mut self, mut item: impl FnMut(&mut Self, usize) -> Option<()>) -> Option<()> {
        if !self.eat(b'[') {
            return None;
        }
        if self.eat(b']') {
            return Some(());
        }
        let mut index = 0;
        loop {
            item(self, index)?;
            index += 1;
            if self.eat(b']') {
                return Some(());
            }
            if !self.eat(b',') {
                return None;
            }
        }
    }
}

/// Returns the length of the number or word at the start. The scanner reads these in an array only.
fn scalar(rest: &[u8]) -> Option<usize> {
    let end = rest
        .iter()
        .position(|&byte| matches!(byte, b',' | b'}' | b']') || is_space(byte))
        .unwrap_or(rest.len());
    let mut scanner = Scanner::new();
    let whole = scanner.run(b"[") == Scan::More
        && scanner.run(rest.get(..end)?) == Scan::More
        && scanner.run(b"]") == Scan::Done(1);
    (whole && end > 0).then_some(end)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn any_value_is_skipped() {
        for text in [
            "1",
            "-1.5e3",
            "null",
            "NaN",
            "{\"a\":[1]}",
            "\"a\\\"b\"",
            "[]",
        ] {
            let padded = format!(" {text} ,");
            let mut cursor = Cursor::new(padded.as_bytes());
            assert_eq!(cursor.skip(), Some(1..1 + text.len()), "{text}");
        }
        for text in ["", "x", "01", "1.", "nul", "{", "[1", "\"a"] {
            assert_eq!(Cursor::new(text.as_bytes()).skip(), None, "{text}");
        }
    }
}
