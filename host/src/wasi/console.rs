//! The output of a guest, and the messages of the host about it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

/// The most bytes that a guest may write at once.
const WRITE_BYTES: usize = 64 << 10;

/// An output stream of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// Receives the output of the guest and the messages of the host. Users must be able to tell them apart.
pub trait Console: Send + Sync {
    /// Writes output of the guest.
    ///
    /// # Errors
    /// If the reader closed the stream.
    fn write(&self, stream: Stream, bytes: &[u8]) -> io::Result<()>;

    /// Returns whether the stream is a terminal.
    fn is_terminal(&self, stream: Stream) -> bool;

    /// Writes a message of the host for the user.
    fn report(&self, text: &str);
}

/// An output stream as the guest sees it.
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
