//! The storage of the raw streams of replies.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::time::Duration;

use crate::jobs::model::JobId;

/// The captures of a storage. The methods block for disk I/O.
pub trait Captures: Send + Sync + fmt::Debug {
    /// Returns the location of the capture of a job as displayed to users. Returns `None` if the storage keeps no
    /// captures.
    fn place(&self, id: &JobId) -> Option<String>;

    /// Opens the capture of a job for appending.
    ///
    /// # Errors
    /// If it cannot be opened.
    fn append_to(&self, id: &JobId) -> io::Result<Box<dyn CaptureFile>>;

    /// Returns the captured bytes so far. Returns `None` if the job has no capture, which is created when a reply
    /// begins.
    ///
    /// # Errors
    /// If the capture exists and cannot be read.
    fn read(&self, id: &JobId) -> io::Result<Option<Vec<u8>>>;

    /// Returns whether the job has a capture.
    fn exists(&self, id: &JobId) -> bool;

    /// Removes the capture of a job. A missing capture is not an error.
    ///
    /// # Errors
    /// If the capture exists and cannot be removed.
    fn remove(&self, id: &JobId) -> io::Result<()>;

    /// Returns the jobs whose captures were not written to for longer than `age`.
    fn older_than(&self, age: Duration) -> BTreeSet<JobId>;
}

/// A capture that is being written.
pub trait CaptureFile: Send + fmt::Debug {
    /// Appends bytes.
    ///
    /// # Errors
    /// If not all bytes could be written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Syncs the written bytes to disk.
    ///
    /// # Errors
    /// If the sync fails.
    fn sync(&mut self) -> io::Result<()>;
}
