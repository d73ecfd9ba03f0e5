//! Captures as files that only their owner can read.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::time::Duration;

use super::state_dir::{StateDir, ids_of_old_files, ignore_not_found, private_append};
use crate::jobs::model::JobId;
use crate::jobs::storage::captures::{CaptureFile, Captures};

/// The captures in the state folder.
#[derive(Debug)]
pub struct FileCaptures(pub StateDir);

impl Captures for FileCaptures {
    fn place(&self, id: &JobId) -> Option<String> {
        Some(self.0.capture(id).to_string_lossy().into_owned())
    }

    fn append_to(&self, id: &JobId) -> io::Result<Box<dyn CaptureFile>> {
        Ok(Box::new(private_append(&self.0.capture(id))?))
    }

    fn read(&self, id: &JobId) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.0.capture(id)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn exists(&self, id: &JobId) -> bool {
        self.0.capture(id).exists()
    }

    fn remove(&self, id: &JobId) -> io::Result<()> {
        ignore_not_found(fs::remove_file(self.0.capture(id)))
    }

    fn older_than(&self, age: Duration) -> BTreeSet<JobId> {
        ids_of_old_files(&self.0.captures(), age)
    }
}

impl CaptureFile for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}
