//! The leases of jobs: the right to work on a job.
//!
//! The holder of the lease works on the job. The job is alive while its lease is held. No process id and no heartbeat
//! is used to detect that its owner is alive.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io;
use std::time::Duration;

use super::error::StoreError;
use crate::jobs::model::JobId;

/// The leases of a storage. The methods block for less than a millisecond.
pub trait Leases: Send + Sync + fmt::Debug {
    /// Takes the lease of a job. Returns `None` if it is held already.
    ///
    /// # Errors
    /// If the state of the lease cannot be determined.
    fn take(&self, id: &JobId) -> Result<Option<Lease>, StoreError>;

    /// Takes over the lease that this process inherited from its parent. Returns `None` if it inherited none.
    ///
    /// # Errors
    /// If the state of the lease cannot be determined.
    fn inherited(&self, id: &JobId) -> Result<Option<Lease>, StoreError>;

    /// Removes the remains of the lease of a removed job.
    ///
    /// # Errors
    /// If they exist and cannot be removed.
    fn remove(&self, id: &JobId) -> Result<(), StoreError>;

    /// Returns the jobs with remains of leases that were not used for longer than `age`.
    fn older_than(&self, age: Duration) -> BTreeSet<JobId>;
}

/// A lease that is held until it is dropped.
pub trait HeldLease: Send + Sync + fmt::Debug {
    /// Returns a handle to use as standard input of a child process, which then holds the lease as well. Returns `None`
    /// if this kind of lease cannot be shared with another process.
    ///
    /// # Errors
    /// If the handle cannot be duplicated.
    fn share(&self) -> io::Result<Option<File>>;

    /// Releases the lease and removes its remains, because the job has ended.
    fn retire(self: Box<Self>);
}

/// The right to work on one job. It is held until it is dropped by this process and by the worker that it was shared
/// with.
pub type Lease = Box<dyn HeldLease>;
