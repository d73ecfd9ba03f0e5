//! One reply on its way through the sandbox.

use wasmtime::component::ResourceAny;

use super::Engine;
use super::answers::{Batch, Finished, Header, Limits, Mode};
use super::config::CHUNK_BYTES;
use super::error::SandboxError;
use super::session::Session;

/// Reads one reply inside a store of its own. It may move between threads. Dropped before its end, it
/// leaves nothing behind.
#[derive(Debug)]
pub struct Parser {
    session: Session,
    resource: ResourceAny,
}

impl Engine {
    /// A parser for one reply.
    ///
    /// # Errors
    /// [`SandboxError::Component`] when there is no component to run, else what its first call ended with.
    pub fn parser(&self, mode: Mode, limits: Limits) -> Result<Parser, SandboxError> {
        let mut session = self.open()?;
        let resource = session.call(|store, guest| {
            let parsers = guest.glovebox_answers_reply().parser();
            parsers.call_constructor(store, mode, limits)
        })?;
        Ok(Parser { session, resource })
    }
}

impl Parser {
    /// The reply's headers, before the first [`Parser::push`].
    ///
    /// # Errors
    /// What the call ended with; the stream is over then.
    pub fn head(&mut self, headers: &[Header]) -> Result<(), SandboxError> {
        let resource = self.resource;
        self.session.call(|store, guest| {
            let parsers = guest.glovebox_answers_reply().parser();
            parsers.call_head(store, resource, headers)
        })
    }

    /// The next bytes, however many; the guest sees them in pieces of at most 64 KiB.
    ///
    /// # Errors
    /// What a call ended with; the stream is over then. Where earlier pieces of the same bytes gave events,
    /// these are returned first and the next call gets the error, so that nothing that was read is lost.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Batch, SandboxError> {
        let mut pieces = bytes.chunks(CHUNK_BYTES);
        let mut all = self.push_piece(pieces.next().unwrap_or_default())?;
        for piece in pieces {
            match self.push_piece(piece) {
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

    fn push_piece(&mut self, piece: &[u8]) -> Result<Batch, SandboxError> {
        let resource = self.resource;
        self.session.call(|store, guest| {
            let parsers = guest.glovebox_answers_reply().parser();
            parsers.call_push(store, resource, piece)
        })
    }

    /// The end of the reply: the events that only the end could decide, and the outcome.
    ///
    /// # Errors
    /// What the call ended with.
    pub fn finish(mut self) -> Result<Finished, SandboxError> {
        let resource = self.resource;
        self.session.call(|store, guest| {
            let parsers = guest.glovebox_answers_reply().parser();
            parsers.call_finish(store, resource)
        })
    }
}
