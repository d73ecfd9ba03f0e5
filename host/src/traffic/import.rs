//! The import of one saved file.

use wasmtime::component::ResourceAny;

use super::bindings::exports::glovebox::traffic::intake::Batch;
use super::{Detection, Finished, Format, Item, Limits, Traffic, TrafficWorld};
use crate::sandbox::{CHUNK_BYTES, SandboxError, Session};

/// Reads one file in a session of its own. Memory is bounded by one exchange, whatever the size of the file.
#[derive(Debug)]
pub struct Import {
    session: Session<TrafficWorld>,
    resource: ResourceAny,
    consumed: u64,
}

impl Traffic {
    /// Names a file by its first bytes, also where it cannot be imported. The first 64 KiB suffice.
    ///
    /// # Errors
    /// What the call ended with.
    pub fn detect(&self, start: &[u8]) -> Result<Detection, SandboxError> {
        let start = start.get(..CHUNK_BYTES).unwrap_or(start);
        self.open()?
            .call(|store, guest| guest.glovebox_traffic_intake().call_detect(store, start))
    }

    /// Begins to read a file of this format, with the limits that are meant for imports.
    ///
    /// # Errors
    /// [`SandboxError::Component`] when there is no component to run, else what its first call ended with.
    pub fn import(&self, format: Format) -> Result<Import, SandboxError> {
        let mut session = self.open()?;
        let limits = session
            .call(|store, guest| guest.glovebox_traffic_intake().call_default_limits(store))?;
        Import::new(session, format, limits)
    }

    /// Begins to read a file of this format, with other limits.
    ///
    /// # Errors
    /// As [`Traffic::import`].
    pub fn import_with(&self, format: Format, limits: Limits) -> Result<Import, SandboxError> {
        Import::new(self.open()?, format, limits)
    }
}

impl Import {
    fn new(
        mut session: Session<TrafficWorld>,
        format: Format,
        limits: Limits,
    ) -> Result<Self, SandboxError> {
        let resource = session.call(|store, guest| {
            let readers = guest.glovebox_traffic_intake().reader();
            readers.call_constructor(store, format, limits)
        })?;
        Ok(Self {
            session,
            resource,
            consumed: 0,
        })
    }

    /// Passes on the next bytes of the file, at most [`CHUNK_BYTES`] at a time, and returns the items that they complete. A
    /// failure of the file is in the report of [`Import::finish`].
    ///
    /// # Errors
    /// What a call ended with; the import is over then. Items of earlier pieces of the same bytes are returned first, and
    /// the next call returns the error.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Item>, SandboxError> {
        let mut all = Vec::new();
        for chunk in bytes.chunks(CHUNK_BYTES) {
            match self.push_chunk(chunk) {
                Ok(batch) => all.extend(batch.items),
                Err(error) if all.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        Ok(all)
    }

    fn push_chunk(&mut self, chunk: &[u8]) -> Result<Batch, SandboxError> {
        let resource = self.resource;
        let batch = self.session.call(|store, guest| {
            let readers = guest.glovebox_traffic_intake().reader();
            readers.call_push(store, resource, chunk)
        })?;
        self.consumed = self.consumed.saturating_add(chunk.len() as u64);
        Ok(batch)
    }

    /// Returns how many bytes the component has read without a failure.
    #[must_use]
    pub const fn consumed(&self) -> u64 {
        self.consumed
    }

    /// Ends the file. Returns the items that only the end completes, and the report of the whole file.
    ///
    /// # Errors
    /// What the call ended with.
    pub fn finish(&mut self) -> Result<Finished, SandboxError> {
        let resource = self.resource;
        self.session.call(|store, guest| {
            let readers = guest.glovebox_traffic_intake().reader();
            readers.call_finish(store, resource)
        })
    }
}
