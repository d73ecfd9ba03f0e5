//! Leases as file locks. The kernel releases a lock when the process that holds it dies for any reason. A reused
//! process id, a reboot or a suspended machine cannot cause a wrong result.
//!
//! A lease is taken before the row of the job is stored, and passed to the worker as standard input. The lock belongs
//! to the open file, which both processes share, so the lease is held at all times.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::state_dir::{StateDir, ids_of_old_files, ignore_not_found, private_file};
use crate::jobs::model::JobId;
use crate::jobs::storage::error::StoreError;
use crate::jobs::storage::leases::{HeldLease, Lease, Leases};

/// The locks in the state folder.
#[derive(Debug)]
pub struct FileLeases(pub StateDir);

impl Leases for FileLeases {
    fn take(&self, id: &JobId) -> Result<Option<Lease>, StoreError> {
        let path = self.0.lock(id);
        boxed(FileLease::take(&path), &path)
    }

    fn inherited(&self, id: &JobId) -> Result<Option<Lease>, StoreError> {
        let path = self.0.lock(id);
        boxed(FileLease::inherited(&path), &path)
    }

    fn remove(&self, id: &JobId) -> Result<(), StoreError> {
        let path = self.0.lock(id);
        ignore_not_found(fs::remove_file(&path)).map_err(|source| StoreError::folder(&path, source))
    }

    fn older_than(&self, age: Duration) -> BTreeSet<JobId> {
        ids_of_old_files(&self.0.locks(), age)
    }
}

fn boxed(taken: io::Result<Option<FileLease>>, path: &Path) -> Result<Option<Lease>, StoreError> {
    match taken {
        Ok(lease) => Ok(lease.map(|lease| Box::new(lease) as Lease)),
        Err(source) => Err(StoreError::folder(path, source)),
    }
}

/// A lock that is held.
#[derive(Debug)]
struct FileLease {
    file: File,
    path: PathBuf,
}

impl FileLease {
    /// Takes the lock. Returns `None` if it is held already.
    fn take(path: &Path) -> io::Result<Option<Self>> {
        Self::lock(private_file(path)?, path)
    }

    /// Takes over the lock on the standard input of this process, if it is the lock of this lease.
    #[cfg(unix)]
    fn inherited(path: &Path) -> io::Result<Option<Self>> {
        use std::os::fd::AsFd;
        use std::os::unix::fs::MetadataExt;
        let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let (ours, theirs) = match fs::metadata(path) {
            Ok(named) => (file.metadata()?, named),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if (ours.dev(), ours.ino()) != (theirs.dev(), theirs.ino()) {
            return Ok(None);
        }
        // The shared open file holds the lock already. Locking it again proves this.
        Self::lock(file, path)
    }

    fn lock(file: File, path: &Path) -> io::Result<Option<Self>> {
        match file.try_lock() {
            Ok(()) => Ok(Some(Self {
                file,
                path: path.to_owned(),
            })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl HeldLease for FileLease {
    fn share(&self) -> io::Result<Option<File>> {
        self.file.try_clone().map(Some)
    }

    fn retire(self: Box<Self>) {
        // A lock file that remains is harmless and is removed by pruning.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn one_holds_it_until_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.lock");
        let first = FileLease::take(&path).unwrap().unwrap();
        assert!(FileLease::take(&path).unwrap().is_none());
        let shared = first.share().unwrap();
        drop(first);
        assert!(
            FileLease::take(&path).unwrap().is_none(),
            "the shared handle still holds it"
        );
        drop(shared);
        assert!(FileLease::take(&path).unwrap().is_some());
    }
}
