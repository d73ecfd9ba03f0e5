//! The raw streams of replies.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::time::Duration;

use crate::jobs::model::JobId;

/// The captures of a storage. The methods block as a disk does.
pub trait Captures: Send + Sync + fmt::Debug {
    /// Returns where the capture of a job is, for people. Returns `None` where no captures are kept.
    fn place(&self, id: &JobId) -> Option<String>;

    /// Opens the capture of a job, to append to it.
    ///
    /// # Errors
    /// When it cannot be opened.
    fn append_to(&self, id: &JobId) -> io::Result<Box<dyn CaptureFile>>;

    /// Returns what was captured so far. Returns `None` where the job has no capture: none is made before a reply begins.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    fn read(&self, id: &JobId) -> io::Result<Option<Vec<u8>>>;

    /// Returns whether the job has a capture.
    fn exists(&self, id: &JobId) -> bool;

    /// Removes the capture of a job. One that is not there is no error.
    ///
    /// # Errors
    /// When it is there and cannot be removed.
    fn remove(&self, id: &JobId) -> io::Result<()>;

    /// Returns the jobs whose captures nobody has written to for so long.
    fn older_than(&self, age: Duration) -> BTreeSet<JobId>;
}

/// A capture that is being written.
pub trait CaptureFile: Send + fmt::Debug {
    /// Appends bytes.
    ///
    /// # Errors
    /// When not all of them could be written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Makes what was written outlive a power cut.
    ///
    /// # Errors
    /// When that cannot be done.
    fn sync(&mut self) -> io::Result<()>;
}
