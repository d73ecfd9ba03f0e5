//! Reads a reply: first into the capture, then through the sandbox. Each step runs where it may block, so a
//! slow disk or a component that spins holds up no other stream.

use std::path::PathBuf;

use bytes::Bytes;

use super::JobsError;
use super::capture::Capture;
use super::result::Cause;
use super::stop::Level;
use crate::answers::{Event, Mode, Read, Reading, empty};
use crate::sandbox::{CHUNK_BYTES, SandboxError};

/// What a piece of the reply gave.
pub(super) struct Batch {
    /// What was read.
    pub(super) events: Vec<Event>,
    /// Whether the reply has said that it is over.
    pub(super) ended: bool,
    /// Whether the parser wants no more: it is over, or there is an error in it.
    pub(super) over: bool,
    /// Why the rest of the piece was not read, where the call is to stop.
    pub(super) stopped: Option<Cause>,
}

/// A reply on its way.
pub(super) struct Reader {
    inner: Option<Inner>,
}

struct Inner {
    path: Option<PathBuf>,
    capture: Capture,
    reading: Option<Reading>,
}

impl Reader {
    /// A reader that has read nothing. The capture is made when the reply begins.
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self {
            inner: Some(Inner {
                capture: Capture::none(),
                path,
                reading: None,
            }),
        }
    }

    /// The reply begins.
    pub(super) fn begin(&mut self, reading: Reading) {
        if let Some(inner) = &mut self.inner {
            inner.capture = Capture::open(inner.path.as_deref());
            inner.reading = Some(reading);
        }
    }

    /// The next bytes, until the call is to stop: that is looked for before each entry into the sandbox.
    pub(super) async fn push(
        &mut self,
        pieces: Vec<Bytes>,
        stop: Level,
    ) -> Result<Result<Batch, SandboxError>, JobsError> {
        let mut inner = self.inner.take().ok_or_else(lost)?;
        let (inner, batch) = tokio::task::spawn_blocking(move || {
            let batch = inner.push(&pieces, &stop);
            (inner, batch)
        })
        .await
        .map_err(|error| JobsError::Defect(error.to_string()))?;
        self.inner = Some(inner);
        Ok(batch)
    }

    /// The end: the outcome, and what to know where the capture is not whole.
    pub(super) async fn finish(mut self, mode: Mode) -> Result<(Read, Option<String>), JobsError> {
        let inner = self.inner.take().ok_or_else(lost)?;
        tokio::task::spawn_blocking(move || inner.finish(mode))
            .await
            .map_err(|error| JobsError::Defect(error.to_string()))
    }
}

fn lost() -> JobsError {
    JobsError::Defect("a reader was lost in a panic".to_owned())
}

impl Inner {
    fn push(&mut self, pieces: &[Bytes], stop: &Level) -> Result<Batch, SandboxError> {
        let mut batch = Batch {
            events: Vec::new(),
            ended: false,
            over: false,
            stopped: None,
        };
        // One entry into the sandbox is bounded by the CPU limit of a call. Before each, the call may have to stop.
        for piece in pieces.iter().flat_map(|piece| piece.chunks(CHUNK_BYTES)) {
            batch.stopped = stop.now();
            if batch.stopped.is_some() {
                break;
            }
            self.capture.append(piece);
            let Some(reading) = &mut self.reading else {
                continue;
            };
            match reading.push(piece) {
                Ok(read) => {
                    batch.events.extend(read.events);
                    batch.ended |= read.ended;
                    batch.over |= read.ended || read.error.is_some();
                }
                Err(error) => {
                    // The parser repeats its error at the end; what was read before it goes out first.
                    if batch.events.is_empty() {
                        return Err(error);
                    }
                    batch.over = true;
                    break;
                }
            }
        }
        Ok(batch)
    }

    fn finish(mut self, mode: Mode) -> (Read, Option<String>) {
        let lost = self.capture.close();
        let Some(reading) = self.reading.take() else {
            let nothing = Read {
                events: Vec::new(),
                outcome: empty(mode),
                broken: None,
            };
            return (nothing, lost);
        };
        let path = self.path;
        let read = reading.finish(|| path.and_then(|path| std::fs::read(path).ok()));
        (read, lost)
    }
}
