//! Reads one reply, streamed or blocking, in chunks of any size.

use crate::blocking;
use crate::collect::{Collector, StreamEnd};
use crate::event::{Batch, Header, Mode, StreamErrorKind, Usage};
use crate::limits::Limits;
use crate::outcome::{Finished, Outcome};
use crate::usage;
use crate::warnings as code;
use std::ops::Range;
use stream::json::Json;
use stream::{CompletionChunk, Data, Event, EventReader, Tag, TagScanner, TooLong, text_at};

/// Longest open event that each push compares with `[DONE]`: it and some white space. A longer one is compared when it ends,
/// so that a growing event is not read again with every push.
const OPEN_DONE_BYTES: usize = 32;

/// The kind of reply.
#[derive(Debug)]
enum Shape {
    /// Not known yet: nothing but white space so far.
    Unknown,
    /// Server-sent events.
    Events,
    /// One JSON text, collected until the end.
    Blocking(Vec<u8>),
}

/// Parses one reply, streamed or blocking, in chunks of any size.
#[derive(Debug)]
pub struct Parser {
    reader: ReplyReader,
    events: EventReader,
    shape: Shape,
    limits: Limits,
    /// The number of bytes pushed.
    total: u64,
    /// The first byte that is not white space.
    first: Option<u8>,
}

/// Reads the contents of a reply, in the same way for a stream and a blocking reply.
#[derive(Debug)]
pub(crate) struct ReplyReader {
    pub collector: Collector,
    pub tags: TagScanner,
    pub ending: StreamEnd,
    /// The usage in the headers.
    headers: Option<Usage>,
    /// The token counts of the completion.
    pub completion: Option<Usage>,
    /// Whether a chunk or `[DONE]` was read.
    recognised: bool,
}

impl Parser {
    /// Creates a parser for one reply.
    pub fn new(mode: Mode, limits: Limits) -> Self {
        Self {
            reader: ReplyReader {
                collector: Collector::new(mode, limits.text()),
                tags: TagScanner::new(
                    match mode {
                        Mode::Answer => Tag::OF_AN_ANSWER,
                        Mode::Research => Tag::OF_RESEARCH,
                    },
                    limits.tag(),
                ),
                ending: StreamEnd::default(),
                headers: None,
                completion: None,
                recognised: false,
            },
            events: EventReader::new(limits.line()),
            shape: Shape::Unknown,
            limits,
            total: 0,
            first: None,
        }
    }

    /// Reads the reply's headers, before the first `push`. `X-Request-*` headers fill `usage` where the body has none.
    pub fn head(&mut self, headers: &[Header]) {
        let (usage, bad) = usage::from_headers(headers);
        self.reader.headers = usage;
        self.reader.collector.bad_costs(&bad);
    }

    /// Reads the next bytes and returns the events that they complete. An error is part of the batch, after its events, and
    /// is repeated by later calls.
    pub fn push(&mut self, chunk: &[u8]) -> Batch {
        let room = self.limits.stream().saturating_sub(self.total);
        let within = usize::try_from(room).map_or(chunk.len(), |room| room.min(chunk.len()));
        self.total += within as u64;
        self.read(chunk.get(..within).unwrap_or_default());
        if within < chunk.len() {
            let message = "The reply is longer than the limit allows".to_owned();
            let collector = &mut self.reader.collector;
            collector.fail(StreamErrorKind::StreamLimit, message, self.total);
        }
        let mut batch = self.reader.batch();
        let open = self.events.open_data();
        batch.ended |= open.len() <= OPEN_DONE_BYTES && is_done(open);
        batch
    }

    /// Reads the end. Returns the events that only the end decides (held-back text, an unclosed answer) and the outcome.
    pub fn finish(mut self) -> Finished {
        if self.reader.collector.error.is_none() {
            self.end();
        }
        // These can be as large as a line, and the outcome needs memory now.
        let Self {
            reader,
            events,
            shape,
            ..
        } = self;
        drop((events, shape));
        reader.finish()
    }

    fn read(&mut self, mut chunk: &[u8]) {
        if matches!(self.shape, Shape::Unknown) {
            chunk = self.sniff(chunk);
        }
        match &mut self.shape {
            Shape::Blocking(body) => {
                if body.len() + chunk.len() > self.limits.line() {
                    let room = self.limits.line() - body.len();
                    let at = self.total - (chunk.len() - room) as u64;
                    self.reader.too_long(TooLong(at));
                } else {
                    body.extend_from_slice(chunk);
                }
            }
            Shape::Unknown | Shape::Events => self.read_events(chunk),
        }
    }

    /// Finds the first byte that is neither white space nor part of a byte order mark, and with it the kind of reply: a `{`
    /// begins a blocking reply. White space before it is read as part of a stream in both cases, so that it counts
    /// against the limits in the same way however the reply is cut. Returns the bytes that are left to read.
    fn sniff<'a>(&mut self, chunk: &'a [u8]) -> &'a [u8] {
        let blank = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0xEF | 0xBB | 0xBF);
        let Some(first) = chunk.iter().position(|byte| !blank(byte)) else {
            return chunk;
        };
        self.first = chunk.get(first).copied();
        if self.first == Some(b'{') {
            let (before, body) = chunk.split_at(first);
            self.read_events(before);
            self.shape = Shape::Blocking(Vec::new());
            return body;
        }
        self.shape = Shape::Events;
        chunk
    }

    fn read_events(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && self.reader.collector.error.is_none() {
            match self.events.next(bytes) {
                Ok((used, event)) => {
                    bytes = bytes.get(used..).unwrap_or_default();
                    if let Some(event) = event {
                        self.reader.event(event);
                    }
                }
                Err(too_long) => {
                    self.reader.collector.begin(too_long.0);
                    self.reader.lines(self.events.open_data());
                    self.reader.too_long(too_long);
                }
            }
        }
    }

    /// Reads the end of the bytes.
    fn end(&mut self) {
        self.reader.collector.begin(self.total);
        if let Shape::Blocking(body) = &self.shape {
            return blocking::read(&mut self.reader, body, self.total);
        }
        match self.events.finish() {
            Ok(Some(data)) => self.reader.data(data, CompletionChunk::read(data).as_ref()),
            Ok(None) => {}
            Err(too_long) => self.reader.too_long(too_long),
        }
        // Lines of a web page can look like comments and fields.
        let page = self.first == Some(b'<');
        let recognised = self.reader.recognised || (self.events.is_recognised() && !page);
        if self.first.is_some() && !recognised {
            self.reader.not_a_reply(self.total);
        }
    }
}

impl ReplyReader {
    fn batch(&mut self) -> Batch {
        Batch {
            events: self.collector.take_events(),
            error: self.collector.error.clone(),
            ended: self.ending.done,
        }
    }

    fn too_long(&mut self, too_long: TooLong) {
        let message = "A line of the reply is longer than the limit allows".to_owned();
        self.collector
            .fail(StreamErrorKind::LineLimit, message, too_long.0);
    }

    pub(crate) fn not_a_reply(&mut self, at: u64) {
        let message = "The reply is neither an event stream nor a completion".to_owned();
        self.collector.fail(StreamErrorKind::NotAReply, message, at);
    }

    fn event(&mut self, event: Event<'_>) {
        self.collector.begin(event.at);
        match event.data {
            Data::Content { raw, escaped } if !self.ending.done => {
                self.tags.feed_json(raw, escaped, &mut self.collector);
            }
            Data::Content { .. } => {}
            Data::Other(data, chunk) => self.data(data, chunk),
        }
    }

    /// Reads the data of one event, and the chunk in it.
    fn data(&mut self, data: &[u8], chunk: Option<&CompletionChunk>) {
        if data.is_empty() || self.ending.done {
            return;
        }
        if is_done(data) {
            self.recognised = true;
            self.ending.done = true;
        } else if let Some(chunk) = chunk {
            self.recognised = true;
            self.chunk(data, chunk);
        } else if memchr::memchr(b'\n', data).is_none() || !self.lines(data) {
            let text = String::from_utf8_lossy(data);
            self.collector.warn(code::BAD_EVENT, &text);
        }
    }

    /// Reads each line of the data as an event of its own, if the first line is a chunk or `[DONE]`. Returns whether it is.
    ///
    /// Some proxies remove the blank lines between events; the answer is paid for all the same.
    fn lines(&mut self, data: &[u8]) -> bool {
        let mut lines = data.split(|&byte| byte == b'\n');
        let first = lines.next().unwrap_or_default();
        if first.trim_ascii() != b"[DONE]" && CompletionChunk::read(first).is_none() {
            return false;
        }
        let detail = "the events have no blank line between them and were read line by line";
        self.collector.warn(code::NO_BLANK_LINE, detail);
        for line in data.split(|&byte| byte == b'\n') {
            if self.collector.error.is_none() {
                self.data(line, CompletionChunk::read(line).as_ref());
            }
        }
        true
    }

    fn chunk(&mut self, data: &[u8], chunk: &CompletionChunk) {
        let text = |range: &Range<usize>| {
            String::from_utf8_lossy(data.get(range.clone()).unwrap_or_default())
        };
        if let Some(error) = &chunk.error {
            let message = blocking::error_message(Json::parse(&text(error)).as_ref());
            let at = self.collector.at();
            return self
                .collector
                .fail(StreamErrorKind::UpstreamError, message, at);
        }
        if let Some(model) = &chunk.model {
            self.ending.model = Some(text_at(data, model));
        }
        if let Some(content) = &chunk.content {
            let content = data.get(content.clone()).unwrap_or_default();
            let escaped = memchr::memchr(b'\\', content).is_some();
            self.tags.feed_json(content, escaped, &mut self.collector);
        }
        if let Some(reason) = &chunk.finish_reason {
            self.ending.finish_reason = Some(text_at(data, reason));
        }
        if let Some(usage) = &chunk.usage
            && let Some(usage) = Json::parse(&text(usage))
        {
            self.completion = usage::from_completion(&usage);
        }
    }

    fn finish(mut self) -> Finished {
        let holding = self.tags.is_holding();
        let ended = self.ending.done
            || self.ending.finish_reason.is_some()
            || (self.collector.usage_is_last && !holding);
        let whole = ended && !self.ending.is_truncated() && self.collector.error.is_none();
        // The text that is held back came before the error, and is kept.
        let error = self.collector.error.take();
        let mut salvaged = false;
        while self.tags.is_holding() {
            if whole {
                self.tags.end_as_bare_answer(&mut self.collector);
            }
            let salvage = self.tags.holds_answer() && !self.collector.has_answer();
            if whole && !salvage {
                self.tags.end_as_text(&mut self.collector);
                continue;
            }
            let (tag, payload) = self.tags.take_open();
            if salvage {
                self.collector.salvage(&payload);
                salvaged = true;
            } else {
                let name = tag.map_or("a possible tag", |tag| tag.name());
                self.collector.warn(code::UNCLOSED_TAG, name);
            }
            self.tags.scan_held(&mut self.collector);
        }
        self.collector.error = error.or(self.collector.error);
        self.collector.complete_usage(self.headers, self.completion);
        self.collector.finish(ended, salvaged, self.ending)
    }
}

/// Returns whether an event's data marks the end of the stream.
fn is_done(data: &[u8]) -> bool {
    data.trim_ascii() == b"[DONE]"
}

/// Reads a complete reply with the default limits.
pub fn parse_all(mode: Mode, headers: &[Header], bytes: &[u8]) -> Outcome {
    let mut parser = Parser::new(mode, Limits::default());
    parser.head(headers);
    parser.push(bytes);
    parser.finish().outcome
}

/// Infers from its tags the mode that a captured stream was requested in; [`Mode::Answer`] where no tag tells.
pub fn infer_mode(bytes: &[u8]) -> Mode {
    let mut parser = Parser::new(Mode::Research, Limits::default());
    parser.push(bytes);
    let hints = parser.reader.collector.hints;
    let begun = parser.reader.tags.holds_json_answer();
    if (hints.research || begun) && !hints.answer {
        Mode::Research
    } else {
        Mode::Answer
    }
}
