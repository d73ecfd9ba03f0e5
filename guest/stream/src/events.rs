//! Reads the events of a stream, each with the chunk in it.

use crate::completion::CompletionChunk;
use crate::sse::{Framer, TooLong};
use crate::template::Template;

/// An event of the stream.
#[derive(Debug)]
pub struct Event<'a> {
    /// Byte offset of its end in the stream.
    pub at: u64,
    /// What it holds.
    pub data: Data<'a>,
}

/// What an event holds.
#[derive(Debug)]
pub enum Data<'a> {
    /// A chunk in which nothing but its content differs from the event before, `id` and `created` aside.
    Content {
        /// The inside of the content string.
        raw: &'a [u8],
        /// Whether it has escapes.
        escaped: bool,
    },
    /// Any other data: the lines of its `data` fields, joined by LF, and the chunk if it is one.
    Other(&'a [u8], Option<&'a CompletionChunk>),
}

/// Cuts a stream, pushed in pieces of any size, into its events.
#[derive(Debug)]
pub struct EventReader {
    framer: Framer,
    template: Template,
    /// The chunk that was read in full last.
    chunk: Option<CompletionChunk>,
    line_limit: usize,
}

impl EventReader {
    /// Creates a reader of a stream whose lines and events have at most this many bytes.
    pub fn new(line_limit: usize) -> Self {
        Self {
            framer: Framer::new(line_limit),
            template: Template::default(),
            chunk: None,
            line_limit,
        }
    }

    /// Reads from `bytes` up to the end of an event or of the bytes. Returns the number of bytes read, and the event.
    ///
    /// # Errors
    /// When a line or an event is longer than the limit.
    // Not inlined, since a caller that is compiled for size would compile it for size too.
    #[inline(never)]
    pub fn next<'a>(&'a mut self, bytes: &'a [u8]) -> Result<(usize, Option<Event<'a>>), TooLong> {
        if self.framer.at_event()
            && let Some(found) = self.template.read(bytes, self.line_limit)
        {
            self.framer.skip(found.length);
            let event = Event {
                at: self.framer.offset(),
                data: Data::Content {
                    raw: bytes.get(found.content).unwrap_or_default(),
                    escaped: found.escaped,
                },
            };
            return Ok((found.length, Some(event)));
        }
        let (used, frame) = self.framer.next(bytes)?;
        let event = frame.map(|frame| {
            self.chunk = CompletionChunk::read(frame.data);
            match &self.chunk {
                Some(chunk) => self.template.learn(frame.data, chunk),
                // The caller may still find chunks in the lines of this data, and a template must be the last chunk read.
                None => self.template.forget(),
            }
            Event {
                at: frame.at,
                data: Data::Other(frame.data, self.chunk.as_ref()),
            }
        });
        Ok((used, event))
    }

    /// Reads the end of the stream. Returns the data of the event that is still open.
    ///
    /// # Errors
    /// As [`EventReader::next`].
    pub fn finish(&mut self) -> Result<Option<&[u8]>, TooLong> {
        Ok(self.framer.finish()?.map(|frame| frame.data))
    }

    /// Returns the data so far of the event that has not ended. Real streams end after the line of their last event,
    /// without the blank line.
    pub fn open_data(&self) -> &[u8] {
        self.framer.open_data()
    }

    /// Whether a known field or a comment was read: the stream is one of events.
    pub fn is_recognised(&self) -> bool {
        self.framer.recognised
    }
}
