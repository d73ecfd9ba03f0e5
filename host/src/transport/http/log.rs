//! The messages of one stream: what the server has to say and a client reads in its own time, or reads again
//! after its connection was lost.
//!
//! Writing never waits. What a client has not read is bounded: notifications give way, oldest first, and then the
//! client loses the stream and may resume it. Answers and requests never give way.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

use super::limits::{STREAM_BYTES, STREAM_EVENTS};

/// What a message is to its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A notification: it may give way.
    Notice,
    /// A request to the client.
    Request,
    /// The answer to the request that opened the stream.
    Answer,
}

/// A message with its place in the stream, from 1.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its place.
    pub seq: u64,
    /// What it is.
    pub kind: Kind,
    /// The message as JSON.
    pub data: Bytes,
}

#[derive(Debug, Default)]
struct Inner {
    events: VecDeque<Event>,
    bytes: usize,
    last: u64,
    /// The last event that a reader took.
    taken: u64,
    ended: bool,
    /// Counts readers: only the newest reads on.
    reader: u64,
    attached: bool,
}

/// The messages of one stream.
#[derive(Debug, Default)]
pub struct Log {
    inner: Mutex<Inner>,
    changed: Notify,
}

impl Log {
    /// Adds a message. Nothing is added after the end.
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

    /// Ends the stream after what it holds.
    pub fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_waiters();
    }

    /// Returns the bytes that are held.
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// Reads from after an event on; without one, from after what readers before took. A reader that is there
    /// already reads no further.
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
    fn make_room(&mut self) {
        while self.events.len() > STREAM_EVENTS || self.bytes > STREAM_BYTES {
            let Some(at) = self
                .events
                .iter()
                .position(|event| event.kind == Kind::Notice)
            else {
                return;
            };
            let Some(event) = self.events.remove(at) else {
                return;
            };
            self.bytes -= event.data.len();
            if event.seq > self.taken && self.attached {
                // Its reader would miss it without knowing: it loses the stream.
                self.reader += 1;
                self.attached = false;
            }
        }
    }
}

/// What a reader gets.
#[derive(Clone, Debug)]
pub enum Next {
    /// A message.
    Event(Event),
    /// The stream's end, or the end of this reader's turn.
    End,
}

/// Reads a stream. Dropped, it leaves the stream to the next.
#[derive(Debug)]
pub struct Reader {
    log: Arc<Log>,
    reader: u64,
    cursor: u64,
}

impl Reader {
    /// Returns the next message once there is one. Safe to cancel.
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
                inner.taken = inner.taken.max(event.seq);
                Some(Next::Event(event))
            }
            None if inner.ended => Some(Next::End),
            None => None,
        }
    }

    /// Returns the place of the last message that was read.
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
        let log = Arc::new(Log::default());
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
        let log = Arc::new(Log::default());
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
        assert_eq!(seq(&mut resumed), Some(1), "the request gave way");
        let mut last = None;
        while let Some(Next::Event(event)) = resumed.next().now_or_never() {
            last = Some(event);
        }
        assert_eq!(last.unwrap().data, data("the answer"));
    }
}
