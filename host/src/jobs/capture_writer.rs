//! Writes the raw stream of a reply to its capture while the reply arrives. A capture that cannot be written does not
//! affect the answer.

use std::io;

use super::model::JobId;
use super::storage::captures::{CaptureFile, Captures};

/// The capture of one call while it is written.
#[derive(Debug, Default)]
pub(super) struct CaptureWriter {
    file: Option<Box<dyn CaptureFile>>,
    written: u64,
    lost: Option<String>,
}

impl CaptureWriter {
    /// Opens the capture of a job. A failure is reported by [`CaptureWriter::close`].
    pub(super) fn open(captures: &dyn Captures, id: &JobId) -> Self {
        let mut writer = Self::default();
        match captures.append_to(id) {
            Ok(file) => writer.file = Some(file),
            Err(error) => writer.give_up(&error),
        }
        writer
    }

    /// Appends bytes of the reply. Nothing is written after the first failure, because a capture with a gap would be
    /// read as a different reply.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        let Some(file) = &mut self.file else {
            return;
        };
        match file.append(bytes) {
            Ok(()) => self.written += bytes.len() as u64,
            Err(error) => self.give_up(&error),
        }
    }

    /// Syncs the capture to disk. Returns a warning if the capture is incomplete.
    pub(super) fn close(&mut self) -> Option<String> {
        if let Some(Err(error)) = self.file.take().map(|mut file| file.sync()) {
            self.give_up(&error);
        }
        self.lost.clone()
    }

    fn give_up(&mut self, error: &io::Error) {
        self.file = None;
        tracing::warn!(%error, "the capture cannot be written");
        self.lost = Some(format!(
            "the raw stream could not be kept beyond {} bytes ({error}); the answer is not affected",
            self.written
        ));
    }
}
