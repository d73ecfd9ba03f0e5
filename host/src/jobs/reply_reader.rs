//! Reads a reply: first into the capture, then through the sandbox. Each step runs where it may block, so a
//! slow disk or a component that spins holds up no other stream.

use std::sync::Arc;

use bytes::Bytes;

use super::blocking::blocking;
use super::capture_writer::CaptureWriter;
use super::error::JobsError;
use super::model::JobId;
use super::result::Cause;
use super::stop::Level;
use super::storage::captures::Captures;
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
pub(super) struct ReplyReader {
    inner: Option<Inner>,
}

/// Where the raw stream of a call is kept.
#[derive(Clone, Debug)]
pub(super) struct CapturePlace {
    pub(super) captures: Arc<dyn Captures>,
    pub(super) id: JobId,
}

struct Inner {
    place: Option<CapturePlace>,
    capture: CaptureWriter,
    reading: Option<Reading>,
}

impl ReplyReader {
    /// A reader that has read nothing. The capture is made when the reply begins.
    pub(super) fn new(place: Option<CapturePlace>) -> Self {
        Self {
            inner: Some(Inner {
                capture: CaptureWriter::default(),
                place,
                reading: None,
            }),
        }
    }

    /// The reply begins.
    pub(super) fn begin(&mut self, reading: Reading) {
        if let Some(inner) = &mut self.inner {
            if let Some(place) = &inner.place {
                inner.capture = CaptureWriter::open(&*place.captures, &place.id);
            }
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
        let (inner, batch) = blocking(move || {
            let batch = inner.push(&pieces, &stop);
            Ok::<_, JobsError>((inner, batch))
        })
        .await?;
        self.inner = Some(inner);
        Ok(batch)
    }

    /// The end: the outcome, and what to know where the capture is not whole.
    pub(super) async fn finish(mut self, mode: Mode) -> Result<(Read, Option<String>), JobsError> {
        let inner = self.inner.take().ok_or_else(lost)?;
        blocking(move || Ok::<_, JobsError>(inner.finish(mode))).await
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
        let place = self.place;
        let read =
            reading.finish(|| place.and_then(|place| place.captures.read(&place.id).ok()?));
        (read, lost)
    }
}
