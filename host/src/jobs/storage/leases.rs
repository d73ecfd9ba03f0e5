//! The right to work on a job.
//!
//! A job is worked on by whoever holds its lease, and is alive as long as somebody does. Nothing else says that its owner
//! lives: no process id, no heartbeat of the job itself.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io;
use std::time::Duration;

use super::error::StoreError;
use crate::jobs::model::JobId;

/// The leases of a storage. The methods block, for well under a millisecond.
pub trait Leases: Send + Sync + fmt::Debug {
    /// Takes the lease of a job. Returns `None` where somebody holds it.
    ///
    /// # Errors
    /// When it cannot be found out.
    fn take(&self, id: &JobId) -> Result<Option<Lease>, StoreError>;

    /// Takes over the lease that this process was started with. Returns `None` where it was started without.
    ///
    /// # Errors
    /// When it cannot be found out.
    fn inherited(&self, id: &JobId) -> Result<Option<Lease>, StoreError>;

    /// Removes what is left of the lease of a job that was removed.
    ///
    /// # Errors
    /// When something is there and cannot be removed.
    fn remove(&self, id: &JobId) -> Result<(), StoreError>;

    /// Returns the jobs of which something is left that nobody has touched for so long.
    fn older_than(&self, age: Duration) -> BTreeSet<JobId>;
}

/// A lease that is held, until it is dropped.
pub trait HeldLease: Send + Sync + fmt::Debug {
    /// Returns a handle for the standard input of a child process, which then holds the lease as well. Returns `None`
    /// where this lease cannot leave its process.
    ///
    /// # Errors
    /// When the process has no handles left.
    fn share(&self) -> io::Result<Option<File>>;

    /// Gives the lease up for good: the job has ended, and nobody will ask for it again.
    fn retire(self: Box<Self>);
}

/// The right to work on one job, held until dropped (and by a worker that it was shared with, until that ends).
pub type Lease = Box<dyn HeldLease>;
