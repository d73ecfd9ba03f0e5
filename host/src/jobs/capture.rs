//! The raw stream of a call, written as it comes. A capture that cannot be written never costs the answer.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use super::state_dir::private_append;

/// A capture that is being written.
#[derive(Debug)]
pub(super) struct Capture {
    file: Option<File>,
    written: u64,
    lost: Option<String>,
}

impl Capture {
    /// No capture.
    pub(super) const fn none() -> Self {
        Self {
            file: None,
            written: 0,
            lost: None,
        }
    }

    /// Opens the file, where a capture is wanted.
    pub(super) fn open(path: Option<&Path>) -> Self {
        let mut capture = Self::none();
        match path.map(private_append).transpose() {
            Ok(file) => capture.file = file,
            Err(error) => capture.give_up(&error),
        }
        capture
    }

    /// Appends what came. After the first failure nothing more is written: a capture with a hole would be
    /// read as what it is not.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        let Some(file) = &mut self.file else {
            return;
        };
        match file.write_all(bytes) {
            Ok(()) => self.written += bytes.len() as u64,
            Err(error) => self.give_up(&error),
        }
    }

    /// Makes sure that it outlives a power cut. Gives what to know where it is not whole.
    pub(super) fn close(&mut self) -> Option<String> {
        if let Some(Err(error)) = self.file.take().map(|file| file.sync_all()) {
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
