//! A reply that is being read.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::task::AbortOnDropHandle;

use super::body::Body;
use super::client::sooner;
use super::error::in_reply;
use super::{CallLimits, Header, KeyFilter, Phase, UpstreamError};

/// A connection on which a reply that is over does not end within this is closed. It is one round trip, generously.
const LEFT_WITHIN: Duration = Duration::from_secs(1);

type Part = Result<Bytes, UpstreamError>;

/// A successful reply. Its status was a 2xx. A task of its own reads it, so what the consumer does never reaches the upstream;
/// what was read and not yet taken waits here, bounded by the reply's limit.
#[derive(Debug)]
pub struct Reply {
    headers: Vec<Header>,
    parts: mpsc::UnboundedReceiver<Part>,
    /// Dropping it drops the response, which closes the connection.
    _reader: AbortOnDropHandle<()>,
}

impl Reply {
    pub(super) fn read(
        body: Body,
        headers: Vec<Header>,
        limits: CallLimits,
        strip: KeyFilter,
    ) -> Self {
        // Unbounded in parts, bounded in bytes: the reader stops at `limits.max_bytes`.
        let (sender, parts) = mpsc::unbounded_channel();
        let reader = AbortOnDropHandle::new(tokio::spawn(read_all(body, limits, strip, sender)));
        Self {
            headers,
            parts,
            _reader: reader,
        }
    }

    /// The headers, names in lower case.
    #[must_use]
    pub fn headers(&self) -> &[Header] {
        &self.headers
    }

    /// The next bytes, decompressed; `None` at the proper end. Cancel-safe.
    ///
    /// # Errors
    /// What ended the reply early; nothing comes after it.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, UpstreamError> {
        self.parts.recv().await.transpose()
    }

    /// Lets go of a reply that has said that it is over. What is left of it is the end of its transfer; where that comes
    /// soon, the connection can be used again.
    pub fn leave(mut self) {
        tokio::spawn(async move {
            let rest = async { while let Some(Ok(_)) = self.parts.recv().await {} };
            let _ = timeout(LEFT_WITHIN, rest).await;
        });
    }
}

async fn read_all(
    mut body: Body,
    limits: CallLimits,
    mut strip: KeyFilter,
    sender: mpsc::UnboundedSender<Part>,
) {
    let mut received: u64 = 0;
    let end = loop {
        let (until, phase, after) = sooner(&limits, Instant::now() + limits.idle, Phase::Idle);
        let part = match timeout_at(until, body.chunk()).await {
            Ok(Ok(Some(bytes))) => count(bytes, &mut received, limits.max_bytes),
            Ok(Ok(None)) => break None,
            Ok(Err(error)) => Err(in_reply(&error, received)),
            Err(_) => Err(timed_out(phase, after)),
        };
        let bytes = match part {
            Ok(bytes) => strip.push(bytes),
            Err(error) => break Some(error),
        };
        if !bytes.is_empty() && sender.send(Ok(bytes)).is_err() {
            return;
        }
    };
    let held = Some(strip.rest()).filter(|held| !held.is_empty());
    for part in held.map(Ok).into_iter().chain(end.map(Err)) {
        // Perhaps nobody listens any more.
        let _ = sender.send(part);
    }
}

fn count(bytes: Bytes, received: &mut u64, limit: u64) -> Part {
    *received += bytes.len() as u64;
    if *received > limit {
        Err(UpstreamError::TooLarge { limit })
    } else {
        Ok(bytes)
    }
}

const fn timed_out(phase: Phase, after: Duration) -> UpstreamError {
    UpstreamError::TimeOut { phase, after }
}
