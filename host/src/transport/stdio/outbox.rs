//! The one writer to the client: a queue, so that a client that stops reading holds up nothing but itself.

use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

/// Bytes that may wait for the client before no more of its requests are read. It is far more than the
/// answers of a thousand pipelined requests, and bounds what a client that never reads can make us hold.
pub const HIGH_WATER: usize = 32 << 20;

/// The client's side is gone: nothing can be written any more.
#[derive(Debug, thiserror::Error)]
#[error("the client closed its end of the connection")]
pub struct Gone;

struct Parcel {
    line: Vec<u8>,
    written: Option<oneshot::Sender<()>>,
}

#[derive(Default)]
struct Backlog {
    bytes: AtomicUsize,
    lowered: Notify,
}

/// Hands lines to the writer. Cheap to clone.
#[derive(Clone)]
pub struct Outbox {
    parcels: mpsc::Sender<Parcel>,
    backlog: Arc<Backlog>,
    gone: CancellationToken,
}

impl std::fmt::Debug for Outbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outbox")
            .field("waiting_bytes", &self.backlog.bytes.load(Ordering::Relaxed))
            .finish_non_exhaustive()
    }
}

impl Outbox {
    /// Starts the writer on `output`, in a thread of its own: a blocked write then blocks no task.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn start(output: impl Write + Send + 'static) -> io::Result<Self> {
        let (parcels, queue) = mpsc::channel();
        let outbox = Self {
            parcels,
            backlog: Arc::default(),
            gone: CancellationToken::new(),
        };
        let (backlog, gone) = (outbox.backlog.clone(), outbox.gone.clone());
        thread::Builder::new()
            .name("stdout".into())
            .spawn(move || {
                let _ended = gone.drop_guard();
                write_all(output, &queue, &backlog);
            })?;
        Ok(outbox)
    }

    /// Queues a line without waiting for it.
    pub fn post(&self, mut line: Vec<u8>) {
        line.push(b'\n');
        // An error means that the writer is gone, and `gone` says so to whoever waits.
        let _ = self.put(line, None);
    }

    /// Queues a line; the future ends when it was written.
    pub fn send(
        &self,
        mut line: Vec<u8>,
    ) -> impl Future<Output = Result<(), Gone>> + Send + 'static + use<> {
        line.push(b'\n');
        let (done, written) = oneshot::channel();
        let queued = self.put(line, Some(done));
        async move {
            queued?;
            written.await.map_err(|_| Gone)
        }
    }

    /// Waits until so little is queued that more requests may be read. Safe to cancel.
    pub async fn room(&self) {
        loop {
            let lowered = self.backlog.lowered.notified();
            if self.backlog.bytes.load(Ordering::Acquire) < HIGH_WATER {
                return;
            }
            lowered.await;
        }
    }

    /// Ends once nothing can be written any more.
    pub async fn gone(&self) {
        self.gone.cancelled().await;
    }

    /// Ends once everything that was queued before is written.
    ///
    /// # Errors
    /// Where the client is gone.
    pub async fn drained(&self) -> Result<(), Gone> {
        let (done, written) = oneshot::channel();
        self.put(Vec::new(), Some(done))?;
        written.await.map_err(|_| Gone)
    }

    fn put(&self, line: Vec<u8>, written: Option<oneshot::Sender<()>>) -> Result<(), Gone> {
        let bytes = line.len();
        self.backlog.bytes.fetch_add(bytes, Ordering::AcqRel);
        self.parcels
            .send(Parcel { line, written })
            .map_err(|_| Gone)
    }
}

fn write_all(mut output: impl Write, queue: &mpsc::Receiver<Parcel>, backlog: &Backlog) {
    while let Ok(parcel) = queue.recv() {
        // Written at once and whole: what a reader sees of a line never waits for the next one.
        if let Err(error) = output.write_all(&parcel.line).and_then(|()| output.flush()) {
            tracing::debug!(%error, "the client stopped reading for good");
            return;
        }
        backlog.bytes.fetch_sub(parcel.line.len(), Ordering::AcqRel);
        backlog.lowered.notify_waiters();
        if let Some(written) = parcel.written {
            let _ = written.send(());
        }
    }
}
