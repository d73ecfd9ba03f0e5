//! Reading a reply so that a failure of the component costs as little of it as possible.

use std::time::{Duration, Instant};

use super::partial::Partial;
use super::{Answers, Batch, Event, Finished, Header, Limits, Mode, Outcome, OutcomeError, Parser};
use crate::sandbox::SandboxError;

/// Bytes given to the component at a time where it failed before. A stream is some tens of kilobytes, so this
/// finds nearly everything that came before the bytes that it fails on.
const STEP_BYTES: usize = 1 << 10;

/// How long bytes are read again in steps. Each step has the CPU bound of a whole call, so a component that
/// is slow rather than broken gets through most of a stream in this time.
const AGAIN: Duration = Duration::from_secs(5);

/// What a reply gave.
#[derive(Clone, Debug)]
pub struct Read {
    /// What only the end could decide.
    pub events: Vec<Event>,
    /// The outcome. Where the component failed, what came before, incomplete, with that as its error.
    pub outcome: Outcome,
    /// What the component failed with.
    pub broken: Option<SandboxError>,
}

/// One reply that is being read.
#[derive(Debug)]
pub struct Reading {
    answers: Answers,
    mode: Mode,
    headers: Vec<Header>,
    parser: Parser,
    partial: Partial,
}

impl Answers {
    /// Begins to read a reply.
    ///
    /// # Errors
    /// [`SandboxError::Component`] when there is no component to run, else what its first calls ended with.
    pub fn reading(&self, mode: Mode, headers: Vec<Header>) -> Result<Reading, SandboxError> {
        Ok(Reading {
            parser: self.begin(mode, &headers)?,
            answers: self.clone(),
            mode,
            headers,
            partial: Partial::new(mode),
        })
    }

    /// Reads a reply that is all there, `chunk` bytes at a time.
    ///
    /// # Errors
    /// As [`Answers::reading`]. A later failure is part of the result.
    pub fn read(
        &self,
        mode: Mode,
        headers: Vec<Header>,
        bytes: &[u8],
        chunk: usize,
    ) -> Result<Read, SandboxError> {
        let mut reading = self.reading(mode, headers)?;
        for piece in bytes.chunks(chunk.max(1)) {
            if reading.push(piece).is_err() {
                break;
            }
        }
        Ok(reading.finish(|| Some(bytes.to_vec())))
    }

    fn begin(&self, mode: Mode, headers: &[Header]) -> Result<Parser, SandboxError> {
        let mut parser = self.parser(mode, Limits::default())?;
        parser.head(headers)?;
        Ok(parser)
    }
}

impl Reading {
    /// Reads the next bytes.
    ///
    /// # Errors
    /// What the component failed with; [`Reading::finish`] still gives what came before.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Batch, SandboxError> {
        let batch = self.parser.push(bytes)?;
        self.partial.add(&batch.events);
        Ok(batch)
    }

    /// Ends the reply. Where the component failed, the bytes that `raw` returns are read once more, without
    /// those that it failed on. Without them, or where it fails again, the outcome is made from the events.
    pub fn finish(self, raw: impl FnOnce() -> Option<Vec<u8>>) -> Read {
        let Self {
            answers,
            mode,
            headers,
            parser,
            partial,
        } = self;
        let consumed = parser.consumed();
        let error = match parser.finish() {
            Ok(Finished { last, outcome }) => {
                return Read {
                    events: last.events,
                    outcome,
                    broken: None,
                };
            }
            Err(error) => error,
        };
        let again = raw().and_then(|bytes| read_again(&answers, mode, &headers, &bytes, consumed));
        let mut outcome = again.unwrap_or_else(|| partial.outcome());
        // What follows is missing, whatever the part that was read looks like.
        outcome.complete = false;
        outcome.error = Some(OutcomeError {
            kind: error.kind().to_owned(),
            message: error.to_string(),
        });
        Read {
            events: Vec::new(),
            outcome,
            broken: Some(error),
        }
    }
}

/// Reads what comes before the bytes that the component fails on. It is known to get through the first `consumed`.
fn read_again(
    answers: &Answers,
    mode: Mode,
    headers: &[Header],
    bytes: &[u8],
    consumed: usize,
) -> Option<Outcome> {
    let mut probe = answers.begin(mode, headers).ok()?;
    let (known, rest) = bytes.split_at_checked(consumed)?;
    probe.push(known).ok()?;
    let until = Instant::now() + AGAIN;
    for step in rest.chunks(STEP_BYTES) {
        if Instant::now() > until || probe.push(step).is_err() {
            break;
        }
    }
    let good = bytes
        .get(..probe.consumed())
        .filter(|good| !good.is_empty())?;
    let mut parser = answers.begin(mode, headers).ok()?;
    for step in good.chunks(STEP_BYTES) {
        parser.push(step).ok()?;
    }
    Some(parser.finish().ok()?.outcome)
}
