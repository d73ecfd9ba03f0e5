//! One reply on its way through the component.

use wasmtime::component::ResourceAny;

use super::{Answers, AnswersWorld, Batch, Finished, Header, Limits, Mode};
use crate::sandbox::{CHUNK_BYTES, SandboxError, Session};

/// Reads one reply in a session of its own. It may move between threads. Dropped before the end of the reply,
/// it leaves nothing behind.
#[derive(Debug)]
pub struct Parser {
    session: Session<AnswersWorld>,
    resource: ResourceAny,
    consumed: usize,
}

impl Answers {
    /// Returns a parser for one reply.
    ///
    /// # Errors
    /// [`SandboxError::Component`] when there is no component to run, else what its first call ended with.
    pub fn parser(&self, mode: Mode, limits: Limits) -> Result<Parser, SandboxError> {
        let mut session = self.open()?;
        let resource = session.call(|store, exports| {
            let parsers = exports.glovebox_answers_reply().parser();
            parsers.call_constructor(store, mode, limits)
        })?;
        Ok(Parser {
            session,
            resource,
            consumed: 0,
        })
    }
}

impl Parser {
    /// Passes on the reply's headers, before the first [`Parser::push`].
    ///
    /// # Errors
    /// What the call ended with; the stream is over then.
    pub fn head(&mut self, headers: &[Header]) -> Result<(), SandboxError> {
        let resource = self.resource;
        self.session.call(|store, exports| {
            let parsers = exports.glovebox_answers_reply().parser();
            parsers.call_head(store, resource, headers)
        })
    }

    /// Passes on the next bytes, however many; the component sees them in chunks of at most 64 KiB.
    ///
    /// # Errors
    /// What a call ended with; the stream is over then. Where earlier chunks of the same bytes gave events,
    /// these are returned first and the next call returns the error, so that nothing that was read is lost.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Batch, SandboxError> {
        let mut chunks = bytes.chunks(CHUNK_BYTES);
        let mut all = self.push_chunk(chunks.next().unwrap_or_default())?;
        for chunk in chunks {
            match self.push_chunk(chunk) {
                Ok(batch) => {
                    all.events.extend(batch.events);
                    all.error = all.error.or(batch.error);
                    all.ended |= batch.ended;
                }
                Err(error) if all.events.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        Ok(all)
    }

    fn push_chunk(&mut self, chunk: &[u8]) -> Result<Batch, SandboxError> {
        let resource = self.resource;
        let batch = self.session.call(|store, exports| {
            let parsers = exports.glovebox_answers_reply().parser();
            parsers.call_push(store, resource, chunk)
        })?;
        self.consumed += chunk.len();
        Ok(batch)
    }

    /// Returns how many bytes the component has read without a failure.
    #[must_use]
    pub const fn consumed(&self) -> usize {
        self.consumed
    }

    /// Ends the reply. Returns the events that only the end could decide, and the outcome.
    ///
    /// # Errors
    /// What the call ended with.
    pub fn finish(mut self) -> Result<Finished, SandboxError> {
        let resource = self.resource;
        self.session.call(|store, exports| {
            let parsers = exports.glovebox_answers_reply().parser();
            parsers.call_finish(store, resource)
        })
    }
}
