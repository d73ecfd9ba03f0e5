//! The queue of messages to one client. A client that stops reading delays only itself.
//!
//! [`Outgoing`] accepts messages without blocking. The reader of requests awaits [`Outgoing::room`] before each one, so
//! that a client that does not read its replies is not read from either, and memory is bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Notify, mpsc, oneshot};

/// What a queued message costs beside its bytes: its place in the queue, the allocation, the notice of its end.
const OVERHEAD: usize = 128;

/// The client is gone: nothing can be sent any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client closed its end of the connection")]
pub struct Closed;

/// Returns both ends of a queue. `limit` is how many bytes may wait before [`Outgoing::room`] does.
#[must_use]
pub fn queue(limit: usize) -> (Outgoing, OutgoingReader) {
    let (sender, messages) = mpsc::unbounded_channel();
    let waiting = Arc::new(Waiting {
        limit,
        bytes: AtomicUsize::new(0),
        lowered: Notify::new(),
    });
    (Outgoing { sender, waiting }, OutgoingReader { messages })
}

/// The end that messages are put into. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Outgoing {
    sender: mpsc::UnboundedSender<Queued>,
    waiting: Arc<Waiting>,
}

/// The end that a writer takes messages from.
#[derive(Debug)]
pub struct OutgoingReader {
    messages: mpsc::UnboundedReceiver<Queued>,
}

/// A message on its way. Dropping it without [`Queued::sent`] tells its sender that it was not sent.
#[derive(Debug)]
pub struct Queued {
    bytes: Vec<u8>,
    sent: Option<oneshot::Sender<()>>,
    waiting: Arc<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    limit: usize,
    bytes: AtomicUsize,
    lowered: Notify,
}

impl Waiting {
    fn is_full(&self) -> bool {
        self.bytes.load(Ordering::Acquire) >= self.limit
    }
}

impl Outgoing {
    /// Queues a message without waiting for it.
    pub fn post(&self, bytes: Vec<u8>) {
        // An error means that the client is gone, which `closed` tells whoever waits.
        let _ = self.put(bytes, None);
    }

    /// Queues a message at once. The future ends when it was sent.
    pub fn send(
        &self,
        bytes: Vec<u8>,
    ) -> impl Future<Output = Result<(), Closed>> + Send + 'static + use<> {
        let (sent, wait) = oneshot::channel();
        let queued = self.put(bytes, Some(sent));
        async move {
            queued?;
            wait.await.map_err(|_| Closed)
        }
    }

    /// Waits until less than the limit is waiting. Safe to cancel.
    pub async fn room(&self) {
        loop {
            let lowered = self.waiting.lowered.notified();
            if !self.waiting.is_full() {
                return;
            }
            lowered.await;
        }
    }

    /// Returns whether as much as the limit is waiting.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.waiting.is_full()
    }

    /// Waits until nothing can be sent any more.
    pub async fn closed(&self) {
        self.sender.closed().await;
    }

    /// Waits until everything that was queued before is sent.
    ///
    /// # Errors
    /// When the client is gone.
    pub async fn flush(&self) -> Result<(), Closed> {
        self.send(Vec::new()).await
    }

    fn put(&self, bytes: Vec<u8>, sent: Option<oneshot::Sender<()>>) -> Result<(), Closed> {
        let cost = cost(&bytes);
        self.waiting.bytes.fetch_add(cost, Ordering::AcqRel);
        let queued = Queued {
            bytes,
            sent,
            waiting: Arc::clone(&self.waiting),
        };
        // Messages that are left are dropped, which frees their share of the limit.
        self.sender.send(queued).map_err(|_| Closed)
    }
}

impl OutgoingReader {
    /// Waits for the next message; `None` once every sender is gone.
    pub async fn next(&mut self) -> Option<Queued> {
        self.messages.recv().await
    }

    /// As [`next`](Self::next), for a thread of its own.
    pub fn blocking_next(&mut self) -> Option<Queued> {
        self.messages.blocking_recv()
    }
}

impl Queued {
    /// Returns the message's bytes; none where the sender only waits for what came before.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Tells the sender that the message was sent.
    pub fn sent(mut self) {
        if let Some(sent) = self.sent.take() {
            // The sender may not be waiting.
            let _ = sent.send(());
        }
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.waiting
            .bytes
            .fetch_sub(cost(&self.bytes), Ordering::AcqRel);
        self.waiting.lowered.notify_waiters();
    }
}

fn cost(bytes: &[u8]) -> usize {
    bytes.len().saturating_add(OVERHEAD)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_full_queue_waits_until_it_is_read() {
        let (outgoing, mut reader) = queue(1000);
        outgoing.room().await;
        outgoing.post(vec![0; 1000]);
        outgoing.post(vec![0; 10]);
        let mut room = pin!(outgoing.room());
        assert!(outgoing.is_full() && room.as_mut().now_or_never().is_none());
        reader.next().await.unwrap().sent();
        room.await;
        assert!(!outgoing.is_full());
    }

    #[tokio::test]
    async fn small_messages_count_with_what_they_cost() {
        let (outgoing, _reader) = queue(1000);
        for _ in 0..8 {
            outgoing.post(Vec::new());
        }
        assert!(outgoing.is_full());
    }

    #[tokio::test]
    async fn a_sender_learns_whether_its_message_was_sent() {
        let (outgoing, mut reader) = queue(1000);
        let sent = outgoing.send(b"a".to_vec());
        let lost = outgoing.send(b"b".to_vec());
        let flushed = outgoing.flush();
        let first = reader.next().await.unwrap();
        assert_eq!(first.bytes(), b"a");
        first.sent();
        assert_eq!(sent.await, Ok(()));
        drop(reader);
        assert_eq!((lost.await, flushed.await), (Err(Closed), Err(Closed)));
        outgoing.closed().await;
        assert_eq!(outgoing.send(Vec::new()).await, Err(Closed));
        outgoing.room().await;
    }
}
