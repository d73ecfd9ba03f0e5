//! Reads a reply: first into the capture, then through the sandbox. Each step runs where it may block, so a
//! slow disk or a component that spins holds up no other stream.

use std::path::PathBuf;

use bytes::Bytes;

use super::JobsError;
use super::capture::Capture;
use super::reread::reread;
use super::result::{Cause, empty};
use super::stop::Level;
use crate::engine::answers::{Event, Header, Mode, Outcome};
use crate::engine::{Engine, Parser, SandboxError};

/// Bytes that the sandbox is entered with at most. One entry is bounded by the CPU limit of a call; this bounds how many
/// there are before the next look whether the call is to stop.
const ENTERED_WITH: usize = 64 << 10;

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

/// What the whole reply gave.
pub(super) struct Finished {
    /// What only the end could decide.
    pub(super) events: Vec<Event>,
    /// The outcome.
    pub(super) outcome: Outcome,
    /// What went wrong in the sandbox.
    pub(super) broken: Option<SandboxError>,
}

/// A reply on its way.
pub(super) struct Reader {
    inner: Option<Inner>,
}

struct Inner {
    path: Option<PathBuf>,
    capture: Capture,
    parser: Option<Parser>,
    headers: Vec<Header>,
    /// Bytes that went through the sandbox without harm.
    good: u64,
}

impl Reader {
    /// A reader that has read nothing. The capture is made when the reply begins.
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self {
            inner: Some(Inner {
                capture: Capture::none(),
                path,
                parser: None,
                headers: Vec::new(),
                good: 0,
            }),
        }
    }

    /// The reply begins.
    pub(super) fn begin(&mut self, parser: Parser, headers: Vec<Header>) {
        if let Some(inner) = &mut self.inner {
            inner.capture = Capture::open(inner.path.as_deref());
            inner.parser = Some(parser);
            inner.headers = headers;
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
    pub(super) async fn finish(
        mut self,
        engine: &Engine,
        mode: Mode,
    ) -> Result<(Finished, Option<String>), JobsError> {
        let inner = self.inner.take().ok_or_else(lost)?;
        let engine = engine.clone();
        tokio::task::spawn_blocking(move || inner.finish(&engine, mode))
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
        for piece in pieces.iter().flat_map(|piece| piece.chunks(ENTERED_WITH)) {
            batch.stopped = stop.now();
            if batch.stopped.is_some() {
                break;
            }
            self.capture.append(piece);
            let Some(parser) = &mut self.parser else {
                continue;
            };
            match parser.push(piece) {
                Ok(read) => {
                    self.good += piece.len() as u64;
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

    fn finish(mut self, engine: &Engine, mode: Mode) -> (Finished, Option<String>) {
        let lost = self.capture.close();
        let Some(parser) = self.parser.take() else {
            return (nothing(mode, None), lost);
        };
        let finished = match parser.finish() {
            Ok(finished) => Finished {
                events: finished.last.events,
                outcome: finished.outcome,
                broken: None,
            },
            Err(error) => self.salvage(engine, mode, error),
        };
        (finished, lost)
    }

    /// After a trap: what came before it is in the capture, and is read once more without what did harm.
    fn salvage(&self, engine: &Engine, mode: Mode, error: SandboxError) -> Finished {
        let read = self
            .path
            .as_deref()
            .and_then(|path| reread(engine, mode, &self.headers, path, self.good).ok());
        match read {
            Some(mut read) => {
                // What follows is missing, whatever the part that was read looks like.
                read.outcome.complete = false;
                Finished {
                    events: Vec::new(),
                    outcome: read.outcome,
                    broken: Some(error),
                }
            }
            None => nothing(mode, Some(error)),
        }
    }
}

fn nothing(mode: Mode, broken: Option<SandboxError>) -> Finished {
    Finished {
        events: Vec::new(),
        outcome: empty(mode),
        broken,
    }
}
