//! Reads a stream of server-sent events, in bounded memory and linear time.

use std::collections::VecDeque;
use std::time::Duration;

use memchr::{memchr, memchr2};

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its type; empty where none was named.
    pub name: String,
    /// Its data; the lines are joined by line ends.
    pub data: Vec<u8>,
    /// The id by which the stream can be resumed after it.
    pub id: Option<String>,
    /// How long to wait before the stream is opened again.
    pub retry: Option<Duration>,
}

/// An event or a line is longer than is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than {0} bytes")]
pub struct TooLong(pub usize);

/// The longest id that is kept: a server that sends a longer one cannot be resumed there.
const LONGEST_ID: usize = 1024;
/// The longest wait that a stream may ask for.
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// Parses the bytes of a stream.
#[derive(Debug)]
pub struct Parser {
    longest: usize,
    line: Vec<u8>,
    event: Event,
    /// Whether any field came since the last event.
    begun: bool,
    /// Whether a line of data came since the last event.
    has_data: bool,
    /// Whether the last byte was a carriage return: a line feed after it ends no other line.
    after_return: bool,
    /// Whether the first line is still to come: a byte order mark may be before it.
    first: bool,
    ready: VecDeque<Event>,
}

impl Parser {
    /// A parser at the start of a stream. No line and no event may be longer than `longest` bytes.
    #[must_use]
    pub const fn new(longest: usize) -> Self {
        Self {
            longest,
            line: Vec::new(),
            event: Event {
                name: String::new(),
                data: Vec::new(),
                id: None,
                retry: None,
            },
            begun: false,
            has_data: false,
            after_return: false,
            first: true,
            ready: VecDeque::new(),
        }
    }

    /// Takes the next bytes. Whole events are then given by [`next`](Self::next).
    ///
    /// # Errors
    /// When an event is too long. The stream cannot be read on.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), TooLong> {
        if self.after_return && !bytes.is_empty() {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            self.after_return = false;
        }
        while let Some(end) = memchr2(b'\r', b'\n', bytes) {
            let (piece, rest) = bytes.split_at(end);
            self.extend(piece)?;
            self.end_line()?;
            bytes = match rest {
                [b'\r', b'\n', rest @ ..] => rest,
                [b'\r'] => {
                    self.after_return = true;
                    &[]
                }
                [_, rest @ ..] => rest,
                [] => &[],
            };
        }
        self.extend(bytes)
    }

    /// Returns the next event that is whole.
    pub fn next(&mut self) -> Option<Event> {
        self.ready.pop_front()
    }

    /// Returns the event that the end of the stream cut. Its data may be whole, where only the empty line after it is
    /// missing.
    pub fn finish(&mut self) -> Option<Event> {
        // A line that is too long was refused before.
        let _ = self.end_line();
        if self.begun {
            self.end_event();
        }
        self.ready.pop_front()
    }

    fn extend(&mut self, piece: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + self.event.data.len() + piece.len() > self.longest {
            return Err(TooLong(self.longest));
        }
        self.line.extend_from_slice(piece);
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), TooLong> {
        let mut line = std::mem::take(&mut self.line);
        let content = if std::mem::take(&mut self.first) {
            line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line)
        } else {
            &line
        };
        if content.is_empty() {
            if self.begun {
                self.end_event();
            }
        } else {
            let colon = memchr(b':', content);
            let (field, value) = content.split_at(colon.unwrap_or(content.len()));
            let value = value.strip_prefix(b":").unwrap_or(value);
            self.field(field, value.strip_prefix(b" ").unwrap_or(value))?;
        }
        line.clear();
        self.line = line;
        Ok(())
    }

    fn field(&mut self, field: &[u8], value: &[u8]) -> Result<(), TooLong> {
        match field {
            b"data" => {
                if self.event.data.len() + value.len() >= self.longest {
                    return Err(TooLong(self.longest));
                }
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push(b'\n');
                }
                self.event.data.extend_from_slice(value);
            }
            b"event" => self.event.name = String::from_utf8_lossy(value).into_owned(),
            b"id" if !value.contains(&0) && value.len() <= LONGEST_ID => {
                self.event.id = Some(String::from_utf8_lossy(value).into_owned());
            }
            b"retry" => {
                let millis = std::str::from_utf8(value).ok().and_then(|text| {
                    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
                    digits.then(|| text.parse().ok()).flatten()
                });
                let Some(millis) = millis else { return Ok(()) };
                self.event.retry = Some(Duration::from_millis(millis).min(LONGEST_RETRY));
            }
            // Comments, and fields that nobody knows.
            _ => return Ok(()),
        }
        self.begun = true;
        Ok(())
    }

    fn end_event(&mut self) {
        self.begun = false;
        self.has_data = false;
        self.ready.push_back(std::mem::take(&mut self.event));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn all(text: &[u8], piece: usize) -> Vec<Event> {
        let mut parser = Parser::new(1000);
        let mut events = Vec::new();
        for piece in text.chunks(piece) {
            parser.push(piece).unwrap();
            events.extend(std::iter::from_fn(|| parser.next()));
        }
        events
    }

    fn event(name: &str, data: &str, id: Option<&str>) -> Event {
        Event {
            name: name.to_owned(),
            data: data.as_bytes().to_vec(),
            id: id.map(ToOwned::to_owned),
            retry: None,
        }
    }

    #[test]
    fn events_are_the_same_however_they_are_cut_and_ended() {
        let cases: [(&str, Vec<Event>); 9] = [
            (
                "data: a\n\ndata:b\n\n",
                vec![event("", "a", None), event("", "b", None)],
            ),
            (
                "data: a\r\rdata: b\r\n\r\n",
                vec![event("", "a", None), event("", "b", None)],
            ),
            (
                "\u{feff}event: message\ndata: a\ndata:  b\n\n",
                vec![event("message", "a\n b", None)],
            ),
            (": comment\n\n\n\ndata: a\n\n", vec![event("", "a", None)]),
            ("id: 7\ndata:\n\n", vec![event("", "", Some("7"))]),
            ("id: a\0b\ndata: x\n\n", vec![event("", "x", None)]),
            ("data\ndata\n\n", vec![event("", "\n", None)]),
            (
                "data: \u{2028}x\u{85}\n\n",
                vec![event("", "\u{2028}x\u{85}", None)],
            ),
            ("data: cut", vec![]),
        ];
        for (text, expected) in cases {
            for piece in [1, 2, 3, 7, 1000] {
                assert_eq!(all(text.as_bytes(), piece), expected, "{text:?} by {piece}");
            }
        }
        let retry = all(b"retry: 20\n\nretry: -1\ndata: x\n\nretry: 99999999\n\n", 4);
        let waits: Vec<_> = retry.iter().map(|event| event.retry).collect();
        assert_eq!(
            waits,
            [Some(Duration::from_millis(20)), None, Some(LONGEST_RETRY)]
        );
    }

    #[test]
    fn what_the_end_cut_is_given_by_finish_alone() {
        let mut parser = Parser::new(1000);
        parser.push(b"data: a\n\nid: 3\ndata: {}").unwrap();
        assert_eq!(parser.next(), Some(event("", "a", None)));
        assert_eq!(parser.next(), None);
        assert_eq!(parser.finish(), Some(event("", "{}", Some("3"))));
        assert_eq!(parser.finish(), None);
    }

    #[test]
    fn neither_a_line_nor_an_event_is_longer_than_the_limit() {
        for piece in ["x".repeat(600), "data: xxxxxxxxxxxxxxxx\n".repeat(20)] {
            let mut parser = Parser::new(1000);
            let ends: Vec<_> = (0..4).map(|_| parser.push(piece.as_bytes())).collect();
            assert!(ends.contains(&Err(TooLong(1000))), "{ends:?}");
        }
        // Comments and whole events take none of it.
        let mut parser = Parser::new(100);
        for _ in 0..1000 {
            parser.push(b": keepalive\n\ndata: x\n\n").unwrap();
            assert!(parser.next().is_some());
        }
    }
}
