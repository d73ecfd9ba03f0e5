//! Reading bounded lines, so that one endless line costs neither memory nor the connection.

use std::io::{self, BufRead};

use serde_json::Value;

use crate::rpc::IdScanner;

/// The longest line taken, in bytes. A question with a long document pasted into it is far below; what
/// is longer is refused by an error and skipped to its end.
pub const LINE_LIMIT: usize = 4 << 20;

/// One line of input, without its end.
#[derive(Debug, PartialEq)]
pub enum Line {
    /// A whole line.
    Whole(Vec<u8>),
    /// A line over the limit; its bytes were dropped.
    Oversized {
        /// The id of the message, or `null`.
        id: Value,
    },
}

/// Reads lines of at most `limit` bytes.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    limit: usize,
}

impl<R: BufRead> Lines<R> {
    /// Lines of `reader`, none longer than `limit` bytes.
    pub const fn new(reader: R, limit: usize) -> Self {
        Self { reader, limit }
    }

    /// The next line; `None` at the end of the input. A last line without an end counts.
    ///
    /// # Errors
    /// What the reader reports.
    pub fn next_line(&mut self) -> io::Result<Option<Line>> {
        let mut line = Vec::new();
        let mut oversized: Option<IdScanner> = None;
        let mut any = false;
        loop {
            let chunk = match self.reader.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                break;
            }
            any = true;
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(chunk.len());
            let piece = chunk.get(..taken).unwrap_or_default();
            if let Some(scanner) = &mut oversized {
                scanner.push(piece);
            } else if line.len() + taken > self.limit {
                let scanner = oversized.insert(IdScanner::default());
                scanner.push(&std::mem::take(&mut line));
                scanner.push(piece);
            } else {
                line.extend_from_slice(piece);
            }
            self.reader.consume(taken + usize::from(end.is_some()));
            if end.is_some() {
                break;
            }
        }
        Ok(any.then(|| match oversized {
            Some(scanner) => Line::Oversized {
                id: scanner.finish(),
            },
            None => Line::Whole(line),
        }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn read(input: &[u8], limit: usize) -> Vec<Line> {
        // A tiny buffer, so that every line spans several reads.
        let mut lines = Lines::new(BufReader::with_capacity(3, input), limit);
        std::iter::from_fn(|| lines.next_line().unwrap()).collect()
    }

    #[test]
    fn lines_come_whole_and_a_last_one_needs_no_end() {
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        assert_eq!(
            read(b"one\n\ntwo three\nend", 99),
            [whole("one"), whole(""), whole("two three"), whole("end")]
        );
    }

    #[test]
    fn an_oversized_line_is_skipped_but_for_its_id_and_the_next_one_read() {
        let read = read(b"0123456789\nok\n{\"m\":1,\"id\":57}\n01234567", 8);
        assert_eq!(
            read,
            [
                Line::Oversized { id: Value::Null },
                Line::Whole(b"ok".to_vec()),
                Line::Oversized { id: 57.into() },
                Line::Whole(b"01234567".to_vec())
            ]
        );
    }
}
