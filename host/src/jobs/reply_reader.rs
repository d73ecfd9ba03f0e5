//! Reads a reply: writes each chunk to the capture, then passes it to the component. Each step runs on a thread for
//! blocking work, so that a slow disk or component does not delay other streams.

use std::sync::Arc;

use bytes::Bytes;

use super::blocking::blocking;
use super::capture_writer::CaptureWriter;
use super::error::JobsError;
use super::model::JobId;
use super::result::Cause;
use super::stop::StopCheck;
use super::storage::captures::Captures;
use crate::answers::{Event, Mode, Read, Reading, empty};
use crate::sandbox::{CHUNK_BYTES, SandboxError};

/// The result of reading one part of the reply.
pub(super) struct Batch {
    /// The events, in the order of the reply.
    pub(super) events: Vec<Event>,
    /// Whether the reply contained its end marker.
    pub(super) ended: bool,
    /// Whether the parser accepts no more input, because the reply ended or is invalid.
    pub(super) over: bool,
    /// The reason why the rest of the part was not read, if the call must stop.
    pub(super) stopped: Option<Cause>,
}

/// Reads one reply.
pub(super) struct ReplyReader {
    inner: Option<Inner>,
}

/// The place where a capture is written.
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
    /// Creates a reader. The capture is created by [`ReplyReader::begin`].
    pub(super) fn new(place: Option<CapturePlace>) -> Self {
        Self {
            inner: Some(Inner {
                capture: CaptureWriter::default(),
                place,
                reading: None,
            }),
        }
    }

    /// Opens the capture and starts to read a reply.
    pub(super) fn begin(&mut self, reading: Reading) {
        if let Some(inner) = &mut self.inner {
            if let Some(place) = &inner.place {
                inner.capture = CaptureWriter::open(&*place.captures, &place.id);
            }
            inner.reading = Some(reading);
        }
    }

    /// Reads the next bytes. Before each call of the component it checks whether the call must stop.
    pub(super) async fn push(
        &mut self,
        pieces: Vec<Bytes>,
        stop: StopCheck,
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

    /// Ends the reply. Returns the outcome, and a warning if the capture is incomplete.
    pub(super) async fn finish(mut self, mode: Mode) -> Result<(Read, Option<String>), JobsError> {
        let inner = self.inner.take().ok_or_else(lost)?;
        blocking(move || Ok::<_, JobsError>(inner.finish(mode))).await
    }
}

fn lost() -> JobsError {
    JobsError::Defect("a reader was lost in a panic".to_owned())
}

impl Inner {
    fn push(&mut self, pieces: &[Bytes], stop: &StopCheck) -> Result<Batch, SandboxError> {
        let mut batch = Batch {
            events: Vec::new(),
            ended: false,
            over: false,
            stopped: None,
        };
        // The CPU limit bounds each call of the component. Check before each one whether the call must stop.
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
                    // The parser returns its error again at the end. Report the events that were read before it first.
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
