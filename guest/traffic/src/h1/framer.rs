//! Splits the two byte streams of a connection into messages. The bytes stay as they are; what is malformed is kept and marked.

use std::collections::VecDeque;

use serde::Serialize;

use crate::limits;
use crate::message::chunk_size;
use crate::message::head::{self, Head};
use crate::types::Warning;

/// Which side of a connection bytes came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The client.
    Client,
    /// The server.
    Server,
}

/// What a framer keeps.
#[derive(Clone, Copy, Debug)]
pub struct FramerLimits {
    /// Bytes of one body, its chunk framing included. What is beyond passes and is counted.
    pub body: u32,
    /// Requests without a response that are remembered.
    pub pipeline: u32,
}

impl Default for FramerLimits {
    fn default() -> Self {
        Self {
            body: limits::BODY,
            pipeline: 1000,
        }
    }
}

/// A message with its place in the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Framed {
    /// Which side sent it.
    pub side: Side,
    /// The number of the exchange on this connection, from 0.
    pub exchange: u64,
    /// Head and body as on the wire, cut at the limit.
    #[serde(with = "crate::bytes")]
    pub bytes: Vec<u8>,
    /// Bytes of the body beyond the limit.
    pub dropped: u64,
    /// Whether it is a 1xx response, which another one follows.
    pub interim: bool,
    /// Whether it came to its proper end.
    pub complete: bool,
    /// What is odd about its framing.
    pub warnings: Vec<Warning>,
}

/// What happened on a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "tag", content = "val")]
pub enum Event {
    /// A message ended.
    Message(Framed),
    /// Bytes after an upgrade or a CONNECT: no HTTP any more.
    Tunnel(Tunnelled),
}

/// Bytes that are no HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tunnelled {
    /// Which side sent them.
    pub side: Side,
    /// The bytes.
    #[serde(with = "crate::bytes")]
    pub bytes: Vec<u8>,
}

/// Bytes of a size line or a trailer line.
const LINE: usize = 16 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before or in a head.
    Head,
    /// In a body of known length.
    Length(u64),
    /// In a chunked body, before a size line.
    Size,
    /// In a chunk.
    Chunk(u64),
    /// After a chunk, before its line end.
    ChunkEnd,
    /// After the last chunk.
    Trailer,
    /// In a body that the end of the connection ends.
    UntilClose,
    /// After something that is no HTTP: the rest is kept as one message.
    Broken,
    /// A request that may turn the connection into a tunnel was sent: the response decides.
    Held,
    /// No HTTP any more.
    Tunnel,
}

struct Stream {
    side: Side,
    state: State,
    buffer: Vec<u8>,
    /// Bytes of `buffer` in which no end of the head was found.
    searched: usize,
    message: Vec<u8>,
    body: usize,
    dropped: u64,
    warnings: Vec<Warning>,
    interim: bool,
    exchange: u64,
}

/// How a body is framed.
enum Framing {
    None,
    Length(u64),
    Chunked,
    UntilClose,
}

impl Stream {
    fn new(side: Side) -> Self {
        Self {
            side,
            state: State::Head,
            buffer: Vec::new(),
            searched: 0,
            message: Vec::new(),
            body: 0,
            dropped: 0,
            warnings: Vec::new(),
            interim: false,
            exchange: 0,
        }
    }

    /// Moves bytes of the buffer into the body of the message.
    fn body(&mut self, length: usize, limit: usize) {
        let length = length.min(self.buffer.len());
        let room = limit.saturating_sub(self.body).min(length);
        self.message
            .extend_from_slice(self.buffer.get(..room).unwrap_or_default());
        self.body += room;
        self.dropped += (length - room) as u64;
        self.buffer.drain(..length);
    }

    /// Ends the message.
    fn end(&mut self, complete: bool, events: &mut Vec<Event>) {
        let framed = Framed {
            side: self.side,
            exchange: self.exchange,
            bytes: std::mem::take(&mut self.message),
            dropped: std::mem::take(&mut self.dropped),
            interim: std::mem::take(&mut self.interim),
            complete,
            warnings: std::mem::take(&mut self.warnings),
        };
        self.body = 0;
        self.searched = 0;
        if self.state != State::Tunnel {
            self.state = State::Head;
        }
        if !framed.interim {
            self.exchange += 1;
        }
        events.push(Event::Message(framed));
    }

    fn breaks(&mut self, code: &str, detail: &str) {
        self.warnings.push(Warning::new(code, detail));
        self.state = State::Broken;
    }

    /// The head at the start of the buffer with the length that it has, once it is there.
    fn head(&mut self) -> Option<usize> {
        // Line ends before a start line belong to no message.
        let blank = self
            .buffer
            .iter()
            .take_while(|byte| matches!(byte, b'\r' | b'\n'))
            .count();
        if blank > 0 {
            self.buffer.drain(..blank);
            self.searched = 0;
        }
        let from = self.searched.saturating_sub(3);
        let rest = self.buffer.get(from..).unwrap_or_default();
        for at in memchr::memchr_iter(b'\n', rest) {
            let end = from + at + 1;
            let before = self.buffer.get(..end).unwrap_or_default();
            if before.ends_with(b"\n\r\n") || before.ends_with(b"\n\n") {
                return Some(end);
            }
        }
        self.searched = self.buffer.len();
        if self.buffer.len() > limits::HEAD {
            self.breaks("head-too-large", "the head is larger than a head may be");
        }
        None
    }
}

/// Finds the messages of one connection.
pub struct Framer {
    client: Stream,
    server: Stream,
    /// Methods of requests that have no response yet, and whether each asks for a tunnel.
    open: VecDeque<(String, bool)>,
    limits: FramerLimits,
}

impl Framer {
    /// Returns a framer for a connection that just began.
    #[must_use]
    pub fn new(limits: FramerLimits) -> Self {
        Self {
            client: Stream::new(Side::Client),
            server: Stream::new(Side::Server),
            open: VecDeque::new(),
            limits,
        }
    }

    /// Takes bytes of one side and returns what they complete.
    pub fn push(&mut self, side: Side, chunk: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        self.stream(side).buffer.extend_from_slice(chunk);
        self.run(side, &mut events);
        events
    }

    /// Ends one side and returns what that completes.
    pub fn finish(&mut self, side: Side) -> Vec<Event> {
        let mut events = Vec::new();
        self.run(side, &mut events);
        let limit = self.limits.body as usize;
        let stream = self.stream(side);
        let left = stream.buffer.len();
        match stream.state {
            State::UntilClose => stream.end(true, &mut events),
            State::Tunnel => {}
            State::Head | State::Held if left == 0 => {}
            State::Head | State::Held => {
                stream.warnings.push(Warning::new(
                    "cut",
                    "the connection ended inside of the head",
                ));
                stream.body(left, limit.max(limits::HEAD));
                stream.end(false, &mut events);
            }
            State::Broken => {
                stream.body(left, limit);
                stream.end(false, &mut events);
            }
            _ => {
                stream.warnings.push(Warning::new(
                    "cut",
                    "the connection ended inside of the body",
                ));
                stream.body(left, limit);
                stream.end(false, &mut events);
            }
        }
        events
    }

    fn stream(&mut self, side: Side) -> &mut Stream {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    fn run(&mut self, side: Side, events: &mut Vec<Event>) {
        loop {
            let limit = self.limits.body as usize;
            let stream = self.stream(side);
            if stream.buffer.is_empty() || stream.state == State::Held {
                return;
            }
            match stream.state {
                State::Head => {
                    let Some(length) = stream.head() else {
                        if stream.state == State::Broken {
                            continue;
                        }
                        return;
                    };
                    stream.message = stream.buffer.drain(..length).collect();
                    self.begin(side, events);
                }
                State::Length(left) => {
                    let length = usize::try_from(left)
                        .unwrap_or(usize::MAX)
                        .min(stream.buffer.len());
                    stream.body(length, limit);
                    stream.state = State::Length(left - length as u64);
                    if left == length as u64 {
                        stream.end(true, events);
                    }
                }
                State::Chunk(left) => {
                    let length = usize::try_from(left)
                        .unwrap_or(usize::MAX)
                        .min(stream.buffer.len());
                    stream.body(length, limit);
                    stream.state = if left == length as u64 {
                        State::ChunkEnd
                    } else {
                        State::Chunk(left - length as u64)
                    };
                }
                State::Size | State::ChunkEnd | State::Trailer => {
                    if !line(stream, limit, events) {
                        return;
                    }
                }
                State::UntilClose | State::Broken => {
                    let length = stream.buffer.len();
                    stream.body(length, limit);
                }
                State::Tunnel => {
                    let bytes = std::mem::take(&mut stream.buffer);
                    events.push(Event::Tunnel(Tunnelled { side, bytes }));
                }
                State::Held => return,
            }
        }
    }

    /// A head is complete: what follows it?
    fn begin(&mut self, side: Side, events: &mut Vec<Event>) {
        match side {
            Side::Client => self.begin_request(events),
            Side::Server => self.begin_response(events),
        }
    }

    fn begin_request(&mut self, events: &mut Vec<Event>) {
        let head = head::request(&self.client.message);
        let stream = &mut self.client;
        if head.version.is_empty() {
            stream.breaks("not-http", "the bytes are no HTTP/1 request");
            return;
        }
        let connect = head.method.eq_ignore_ascii_case("CONNECT");
        let upgrade = head.header("upgrade").is_some();
        let framing = if connect {
            Framing::None
        } else {
            framing(&head, stream, true)
        };
        if self.open.len() < self.limits.pipeline as usize {
            self.open
                .push_back((head.method.clone(), connect || upgrade));
        }
        let stream = &mut self.client;
        start(stream, &framing, events);
        // After a request for a tunnel nothing can be read before the answer.
        if (connect || upgrade) && stream.state == State::Head {
            stream.state = State::Held;
        }
    }

    fn begin_response(&mut self, events: &mut Vec<Event>) {
        let head = head::response(&self.server.message);
        let Some(status) = head.status.filter(|_| head.version.starts_with("HTTP/")) else {
            self.server
                .breaks("not-http", "the bytes are no HTTP/1 response");
            return;
        };
        let open = self.open.front().cloned();
        if open.is_none() {
            self.server.warnings.push(Warning::new(
                "unsolicited",
                "no request was seen for this response",
            ));
        }
        let (method, asks) = open.unwrap_or_default();
        let tunnel = asks
            && (status == 101
                || (method.eq_ignore_ascii_case("CONNECT") && (200..300).contains(&status)));
        if (100..200).contains(&status) && status != 101 {
            self.server.interim = true;
            start(&mut self.server, &Framing::None, events);
            return;
        }
        self.open.pop_front();
        if tunnel {
            start(&mut self.server, &Framing::None, events);
            self.server.state = State::Tunnel;
            self.client.state = State::Tunnel;
            self.run(Side::Client, events);
            return;
        }
        let bodyless = method.eq_ignore_ascii_case("HEAD") || matches!(status, 101 | 204 | 304);
        let framing = if bodyless {
            Framing::None
        } else {
            framing(&head, &mut self.server, false)
        };
        start(&mut self.server, &framing, events);
        if asks && self.client.state == State::Held {
            self.client.state = State::Head;
            self.run(Side::Client, events);
        }
    }
}

fn start(stream: &mut Stream, framing: &Framing, events: &mut Vec<Event>) {
    match framing {
        Framing::None | Framing::Length(0) => stream.end(true, events),
        Framing::Length(length) => stream.state = State::Length(*length),
        Framing::Chunked => stream.state = State::Size,
        Framing::UntilClose => stream.state = State::UntilClose,
    }
}

/// How the body is framed, by RFC 9112, section 6.3.
fn framing(head: &Head, stream: &mut Stream, request: bool) -> Framing {
    let codings: Vec<String> = head
        .all("transfer-encoding")
        .flat_map(|value| value.split(','))
        .map(|coding| coding.trim().to_ascii_lowercase())
        .filter(|coding| !coding.is_empty())
        .collect();
    let lengths: Vec<&str> = head
        .all("content-length")
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .collect();
    if let Some(last) = codings.last() {
        if !lengths.is_empty() {
            stream.warnings.push(Warning::new(
                "length-and-chunked",
                "the head has both Content-Length and Transfer-Encoding",
            ));
        }
        if last == "chunked" {
            return Framing::Chunked;
        }
        stream.warnings.push(Warning::new(
            "not-chunked",
            "the last transfer coding is not chunked",
        ));
        return if request {
            Framing::None
        } else {
            Framing::UntilClose
        };
    }
    let Some(first) = lengths.first() else {
        return if request {
            Framing::None
        } else {
            Framing::UntilClose
        };
    };
    if lengths.iter().any(|length| length != first) {
        stream.warnings.push(Warning::new(
            "lengths-differ",
            "the head has several lengths; the first was taken",
        ));
    }
    let digits = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
    match first.parse() {
        Ok(length) if digits => Framing::Length(length),
        _ => {
            stream
                .warnings
                .push(Warning::new("bad-length", "Content-Length is no number"));
            if request {
                Framing::None
            } else {
                Framing::UntilClose
            }
        }
    }
}

/// One line of a chunked body. Returns whether there was one.
fn line(stream: &mut Stream, limit: usize, events: &mut Vec<Event>) -> bool {
    let Some(end) = memchr::memchr(b'\n', &stream.buffer) else {
        if stream.buffer.len() > LINE {
            stream.breaks("bad-chunk", "a line of the chunked body does not end");
            return true;
        }
        return false;
    };
    let length = end + 1;
    match stream.state {
        State::Size => match chunk_size(&stream.buffer) {
            Some((0, _)) => {
                stream.body(length, limit);
                stream.state = State::Trailer;
            }
            Some((size, _)) => {
                stream.body(length, limit);
                stream.state = State::Chunk(size as u64);
            }
            None => stream.breaks("bad-chunk", "the size of a chunk is no number"),
        },
        State::ChunkEnd => {
            let blank = matches!(stream.buffer.get(..end), Some(b"" | b"\r"));
            if blank {
                stream.body(length, limit);
                stream.state = State::Size;
            } else {
                stream.breaks("bad-chunk", "a chunk is longer than its size");
            }
        }
        _ => {
            let blank = matches!(stream.buffer.get(..end), Some(b"" | b"\r"));
            stream.body(length, limit);
            if blank {
                stream.end(true, events);
            }
        }
    }
    true
}
