//! The layout of the state folder and the permissions of its files.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use uuid::Uuid;

use crate::jobs::model::JobId;

/// The mode of created folders: access for the owner only.
const DIR_MODE: u32 = 0o700;
/// The number of random UUIDs in the secret, with 122 random bits each.
const SECRET_PARTS: usize = 2;
/// The mode of created files: access for the owner only.
const FILE_MODE: u32 = 0o600;

/// The state folder of a user.
#[derive(Clone, Debug)]
pub struct StateDir {
    root: PathBuf,
}

impl StateDir {
    /// Creates the folder and its subfolders if they are missing, with access for their owner only. The mode of a
    /// folder that exists is not changed.
    ///
    /// # Errors
    /// If a folder cannot be created.
    pub fn create(root: &Path) -> io::Result<Self> {
        let state_dir = Self {
            root: root.to_owned(),
        };
        for dir in [
            root.to_owned(),
            state_dir.captures(),
            state_dir.locks(),
            state_dir.worker_logs(),
        ] {
            private_dir(&dir)?;
        }
        Ok(state_dir)
    }

    /// Returns the layout of a folder without creating anything.
    #[must_use]
    pub fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of the database.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.root.join("jobs.db")
    }

    /// Returns the folder of the captures.
    #[must_use]
    pub fn captures(&self) -> PathBuf {
        self.root.join("captures")
    }

    /// Returns the folder of the lease locks.
    #[must_use]
    pub fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }

    /// Returns the folder of the worker logs.
    #[must_use]
    pub fn worker_logs(&self) -> PathBuf {
        self.root.join("workers")
    }

    /// Returns the path of the capture of a job.
    #[must_use]
    pub fn capture(&self, id: &JobId) -> PathBuf {
        self.captures().join(format!("{id}.sse"))
    }

    /// Returns the path of the lock of a job.
    #[must_use]
    pub fn lock(&self, id: &JobId) -> PathBuf {
        self.locks().join(format!("{id}.lock"))
    }

    /// Returns the path of the worker log of a job.
    #[must_use]
    pub fn worker_log(&self, id: &JobId) -> PathBuf {
        self.worker_logs().join(format!("{id}.log"))
    }
}

/// Returns the secret of a state folder. The first call creates it.
///
/// # Errors
/// If it can neither be read nor created.
pub fn secret(root: &Path) -> io::Result<Vec<u8>> {
    let path = root.join("secret");
    match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        read => return read,
    }
    // Write the file under another name first, so that no process reads a part of it. The first process to rename its
    // file wins.
    let mut file = tempfile::NamedTempFile::new_in(root)?;
    for _ in 0..SECRET_PARTS {
        file.write_all(Uuid::new_v4().as_bytes())?;
    }
    file.as_file().sync_all()?;
    match file.persist_noclobber(&path) {
        Ok(_) => {}
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error.error),
    }
    fs::read(path)
}

/// Returns the ids of the files in a folder that were not written to for longer than `age`.
pub(super) fn ids_of_old_files(folder: &Path, age: Duration) -> BTreeSet<JobId> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| written_longer_ago_than(entry, age))
        .filter_map(|entry| entry.path().file_stem()?.to_str()?.parse().ok())
        .collect()
}

fn written_longer_ago_than(entry: &DirEntry, age: Duration) -> bool {
    let written = entry.metadata().and_then(|metadata| metadata.modified());
    written.is_ok_and(|at| at.elapsed().is_ok_and(|elapsed| elapsed > age))
}

/// Converts "not found" to success.
pub(super) fn ignore_not_found(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(unix)]
fn private_dir(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(DIR_MODE)
        .create(dir)
}

#[cfg(not(unix))]
fn private_dir(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)
}

/// Returns options that open a file for reading and writing and create it, with access for its owner only, without
/// truncating it.
fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(FILE_MODE);
    }
    options
}

/// Opens or creates a file that only its owner can read.
///
/// # Errors
/// If it cannot be opened.
pub fn private_file(path: &Path) -> io::Result<File> {
    private_options().open(path)
}

/// Opens or creates a file for appending that only its owner can read.
///
/// # Errors
/// If it cannot be opened.
pub fn private_append(path: &Path) -> io::Result<File> {
    private_options().append(true).open(path)
}
