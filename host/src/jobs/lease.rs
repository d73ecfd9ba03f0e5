//! Who works on a job: whoever holds the lock on its file. The kernel lets go of it when the owner dies,
//! however it dies, so a reused pid, a reboot or a machine that slept fools nobody.
//!
//! A lease is made before the job's row is, and handed to a worker as its standard input: the lock belongs to
//! the open file, which both processes share, so there is no moment at which nobody holds it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::state_dir::private_file;

/// The right to work on one job, held until dropped (and by a worker it was handed to, until that ends).
#[derive(Debug)]
pub struct Lease {
    file: File,
    path: PathBuf,
}

impl Lease {
    /// Takes the lock, or says that somebody holds it.
    ///
    /// # Errors
    /// When the lock file cannot be storage or locked at all.
    pub fn take(path: &Path) -> io::Result<Option<Self>> {
        let file = private_file(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self {
                file,
                path: path.to_owned(),
            })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Takes over the lease that this process was started with as its standard input, if that is what it is.
    ///
    /// # Errors
    /// When the lock file cannot be looked at.
    #[cfg(unix)]
    pub fn inherited(path: &Path) -> io::Result<Option<Self>> {
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
        // The lock is on the shared open file already; taking it again proves it.
        match file.try_lock() {
            Ok(()) => Ok(Some(Self {
                file,
                path: path.to_owned(),
            })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// A handle to give to a child, which then holds the lease as well.
    ///
    /// # Errors
    /// When the process has no handles left.
    pub fn share(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Lets go after the job has ended: nobody will ask for this lock again, so the file goes too.
    pub fn retire(self) {
        // A file that stays behind is harmless, and pruning removes it.
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
        let first = Lease::take(&path).unwrap().unwrap();
        assert!(Lease::take(&path).unwrap().is_none());
        let shared = first.share().unwrap();
        drop(first);
        assert!(
            Lease::take(&path).unwrap().is_none(),
            "the shared handle still holds it"
        );
        drop(shared);
        assert!(Lease::take(&path).unwrap().is_some());
    }
}
