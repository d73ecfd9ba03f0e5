//! The message queue of one stream. A client reads it at its own pace, and again after its connection was lost.
//!
//! Writing never blocks. Unread messages are bounded: the oldest notifications are dropped. A client that can resume then
//! loses its connection, so that it notices; one that cannot continues without them. Answers are never dropped.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

use super::limits::{STREAM_BYTES, STREAM_EVENTS, UNREAD_BYTES};

/// The kind of a message in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A notification, which may be dropped.
    Notice,
    /// A request to the client.
    Request,
    /// The answer to the request that opened the stream.
    Answer,
}

/// A message with its position in the stream, from 1.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its position.
    pub seq: u64,
    /// Its kind.
    pub kind: Kind,
    /// The message as JSON.
    pub data: Bytes,
}

/// Whether a client can come back to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// It can: messages that were read are kept while there is room.
    Can,
    /// It cannot: messages are dropped once they are read.
    Cannot,
}

#[derive(Debug)]
struct Inner {
    resume: Resume,
    events: VecDeque<Event>,
    bytes: usize,
    last: u64,
    /// The position of the last event that was read.
    taken: u64,
    ended: bool,
    /// The number of the current reader; earlier ones get no more events.
    reader: u64,
    attached: bool,
}

/// The messages of one stream.
#[derive(Debug)]
pub struct Log {
    inner: Mutex<Inner>,
    changed: Notify,
}

impl Log {
    /// Creates a stream without messages.
    #[must_use]
    pub fn new(resume: Resume) -> Self {
        Self {
            inner: Mutex::new(Inner {
                resume,
                events: VecDeque::new(),
                bytes: 0,
                last: 0,
                taken: 0,
                ended: false,
                reader: 0,
                attached: false,
            }),
            changed: Notify::new(),
        }
    }

    /// Adds a message. Does nothing after the end.
    pub fn push(&self, kind: Kind, data: Bytes) {
        let mut inner = self.lock();
        if inner.ended {
            return;
        }
        inner.last += 1;
        inner.bytes += data.len();
        let seq = inner.last;
        inner.events.push_back(Event { seq, kind, data });
        inner.make_room();
        drop(inner);
        self.changed.notify_waiters();
    }

    /// Ends the stream after the messages that it holds.
    pub fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_waiters();
    }

    /// Returns the size of the messages that are held, in bytes.
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// Returns a reader that starts after an event or, without one, after what was read before. An earlier reader gets no
    /// more events.
    pub fn attach(self: &Arc<Self>, after: Option<u64>) -> Reader {
        let mut inner = self.lock();
        inner.reader += 1;
        inner.attached = true;
        let cursor = after.unwrap_or(inner.taken);
        let reader = inner.reader;
        drop(inner);
        self.changed.notify_waiters();
        Reader {
            log: Arc::clone(self),
            reader,
            cursor,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Drops messages until the stream is within its limits, or only messages are left that must be kept.
    fn make_room(&mut self) {
        while self.events.len() > STREAM_EVENTS || self.bytes > STREAM_BYTES {
            let Some(event) = self.next_to_go().and_then(|at| self.events.remove(at)) else {
                break;
            };
            self.bytes -= event.data.len();
            if event.seq > self.taken && self.attached && self.resume == Resume::Can {
                // Its reader would miss it without noticing, so it loses the stream.
                self.reader += 1;
                self.attached = false;
            }
        }
        if self.bytes > UNREAD_BYTES {
            self.ended = true;
            self.events.clear();
            self.bytes = 0;
        }
    }

    /// Returns the index of the message to drop: the oldest that was read and is not an answer, else the oldest
    /// notification.
    fn next_to_go(&self) -> Option<usize> {
        let taken = self.taken;
        let read = |event: &Event| event.seq <= taken && event.kind != Kind::Answer;
        let mut events = self.events.iter();
        events.position(read).or_else(|| {
            let mut events = self.events.iter();
            events.position(|event| event.kind == Kind::Notice)
        })
    }

    /// Marks an event as read.
    fn take(&mut self, event: &Event) {
        self.taken = self.taken.max(event.seq);
        if self.resume == Resume::Cannot {
            while let Some(first) = self.events.pop_front_if(|first| first.seq <= event.seq) {
                self.bytes -= first.data.len();
            }
        }
    }
}

/// What [`Reader::next`] returns.
#[derive(Clone, Debug)]
pub enum Next {
    /// A message.
    Event(Event),
    /// The stream has ended, or another reader has replaced this one.
    End,
}

/// Reads a stream. Another reader can continue after it was dropped.
#[derive(Debug)]
pub struct Reader {
    log: Arc<Log>,
    reader: u64,
    cursor: u64,
}

impl Reader {
    /// Waits for the next message. Cancel safe.
    pub async fn next(&mut self) -> Next {
        loop {
            let log = Arc::clone(&self.log);
            let changed = log.changed.notified();
            if let Some(next) = self.poll() {
                return next;
            }
            changed.await;
        }
    }

    fn poll(&mut self) -> Option<Next> {
        let mut inner = self.log.lock();
        if inner.reader != self.reader {
            return Some(Next::End);
        }
        let cursor = self.cursor;
        let event = inner
            .events
            .iter()
            .find(|event| event.seq > cursor)
            .cloned();
        match event {
            Some(event) => {
                self.cursor = event.seq;
                inner.take(&event);
                Some(Next::Event(event))
            }
            None if inner.ended => Some(Next::End),
            None => None,
        }
    }

    /// Returns the position of the last message that was read.
    pub const fn cursor(&self) -> u64 {
        self.cursor
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut inner = self.log.lock();
        if inner.reader == self.reader {
            inner.attached = false;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn data(text: &str) -> Bytes {
        Bytes::copy_from_slice(text.as_bytes())
    }

    fn seq(reader: &mut Reader) -> Option<u64> {
        match reader.next().now_or_never() {
            Some(Next::Event(event)) => Some(event.seq),
            Some(Next::End) => Some(0),
            None => None,
        }
    }

    #[test]
    fn a_resumed_stream_goes_on_strictly_after_the_given_event() {
        let log = Arc::new(Log::new(Resume::Can));
        for text in ["a", "b", "c"] {
            log.push(Kind::Notice, data(text));
        }
        let mut first = log.attach(None);
        assert_eq!(seq(&mut first), Some(1));
        assert_eq!(seq(&mut first), Some(2));
        let mut again = log.attach(Some(1));
        assert_eq!(seq(&mut first), Some(0), "the older reader goes on");
        assert_eq!(seq(&mut again), Some(2));
        assert_eq!(seq(&mut again), Some(3));
        assert_eq!(seq(&mut again), None);
        log.push(Kind::Answer, data("d"));
        log.end();
        assert_eq!(seq(&mut again), Some(4));
        assert_eq!(seq(&mut again), Some(0));
        drop(again);
        let mut fresh = log.attach(None);
        assert_eq!(seq(&mut fresh), Some(0), "what was read comes again");
    }

    #[test]
    fn a_reader_that_does_not_read_loses_the_stream_and_no_answer_is_lost() {
        let log = Arc::new(Log::new(Resume::Can));
        log.push(Kind::Request, data("a request"));
        let mut stalled = log.attach(None);
        assert_eq!(seq(&mut stalled), Some(1));
        for _ in 0..10 * STREAM_EVENTS {
            log.push(Kind::Notice, data("a notification"));
        }
        log.push(Kind::Answer, data("the answer"));
        log.end();
        assert_eq!(seq(&mut stalled), Some(0));
        assert!(log.bytes() <= STREAM_EVENTS * 20);
        let mut resumed = log.attach(Some(0));
        let mut last = None;
        while let Some(Next::Event(event)) = resumed.next().now_or_never() {
            last = Some(event);
        }
        assert_eq!(last.unwrap().data, data("the answer"));
    }

    #[test]
    fn a_reader_that_cannot_resume_misses_notifications_and_keeps_its_stream() {
        let log = Arc::new(Log::new(Resume::Cannot));
        let mut reader = log.attach(None);
        for _ in 0..10 * STREAM_EVENTS {
            log.push(Kind::Notice, data("a notification"));
        }
        log.push(Kind::Answer, data("an answer"));
        let mut read = 0;
        while seq(&mut reader).is_some_and(|seq| seq > 0) {
            read += 1;
        }
        assert_eq!(read, STREAM_EVENTS);
        assert_eq!(log.bytes(), 0, "what was read is kept");
    }

    #[test]
    fn answers_that_nobody_reads_end_the_stream() {
        let log = Arc::new(Log::new(Resume::Cannot));
        let mut reader = log.attach(None);
        let answer = Bytes::from(vec![b'x'; 1 << 20]);
        for _ in 0..=UNREAD_BYTES >> 20 {
            log.push(Kind::Answer, answer.clone());
        }
        assert_eq!(seq(&mut reader), Some(0));
        assert_eq!(log.bytes(), 0);
    }
}
