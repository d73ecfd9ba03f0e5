//! Where the text of a guest and of the host about it goes.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

/// Bytes that a guest may write at once.
const WRITE_BYTES: usize = 64 << 10;

/// One of the two streams that a guest writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// Takes what a guest writes, and what the host has to say about it. The two must be told apart.
pub trait Console: Send + Sync {
    /// Writes bytes of the guest.
    ///
    /// # Errors
    /// When nobody reads them.
    fn write(&self, stream: Stream, bytes: &[u8]) -> io::Result<()>;

    /// Whether the guest's stream ends at a terminal.
    fn is_terminal(&self, stream: Stream) -> bool;

    /// Writes a sentence of the host's, for a person.
    fn tell(&self, text: &str);
}

/// A stream as the guest has it.
pub(super) struct GuestStream {
    console: Arc<dyn Console>,
    stream: Stream,
}

impl GuestStream {
    pub(super) fn new(console: &Arc<dyn Console>, stream: Stream) -> Self {
        let console = Arc::clone(console);
        Self { console, stream }
    }

    fn again(&self) -> Self {
        Self::new(&self.console, self.stream)
    }
}

impl IsTerminal for GuestStream {
    fn is_terminal(&self) -> bool {
        self.console.is_terminal(self.stream)
    }
}

impl StdoutStream for GuestStream {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.again())
    }

    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.again())
    }
}

impl OutputStream for GuestStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.console
            .write(self.stream, &bytes)
            .map_err(|error| match error.kind() {
                io::ErrorKind::BrokenPipe => StreamError::Closed,
                _ => StreamError::LastOperationFailed(error.into()),
            })
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_BYTES)
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for GuestStream {
    async fn ready(&mut self) {}
}

impl AsyncWrite for GuestStream {
    fn poll_write(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = self.console.write(self.stream, bytes);
        Poll::Ready(written.map(|()| bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
