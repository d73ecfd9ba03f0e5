//! The leases and captures of a storage in memory.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::captures::{CaptureFile, Captures};
use super::error::StoreError;
use super::leases::{HeldLease, Lease, Leases};
use crate::jobs::model::JobId;

/// The ids of the jobs whose leases are held in this process.
#[derive(Clone, Debug, Default)]
pub struct MemoryLeases(Arc<Mutex<BTreeSet<JobId>>>);

impl MemoryLeases {
    fn held(&self) -> MutexGuard<'_, BTreeSet<JobId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Leases for MemoryLeases {
    fn take(&self, id: &JobId) -> Result<Option<Lease>, StoreError> {
        if !self.held().insert(id.clone()) {
            return Ok(None);
        }
        let lease = MemoryLease {
            leases: self.clone(),
            id: id.clone(),
        };
        Ok(Some(Box::new(lease)))
    }

    fn inherited(&self, _id: &JobId) -> Result<Option<Lease>, StoreError> {
        Ok(None)
    }

    fn remove(&self, _id: &JobId) -> Result<(), StoreError> {
        Ok(())
    }

    fn older_than(&self, _age: Duration) -> BTreeSet<JobId> {
        BTreeSet::new()
    }
}

#[derive(Debug)]
struct MemoryLease {
    leases: MemoryLeases,
    id: JobId,
}

impl HeldLease for MemoryLease {
    fn share(&self) -> io::Result<Option<File>> {
        Ok(None)
    }

    fn retire(self: Box<Self>) {}
}

impl Drop for MemoryLease {
    fn drop(&mut self) {
        self.leases.held().remove(&self.id);
    }
}

/// Captures that discard everything.
#[derive(Clone, Copy, Debug)]
pub struct NoCaptures;

impl Captures for NoCaptures {
    fn place(&self, _id: &JobId) -> Option<String> {
        None
    }

    fn append_to(&self, _id: &JobId) -> io::Result<Box<dyn CaptureFile>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn read(&self, _id: &JobId) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn exists(&self, _id: &JobId) -> bool {
        false
    }

    fn remove(&self, _id: &JobId) -> io::Result<()> {
        Ok(())
    }

    fn older_than(&self, _age: Duration) -> BTreeSet<JobId> {
        BTreeSet::new()
    }
}
