//! The state folder: what lies where, and that only its owner can read it.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use uuid::Uuid;

use crate::jobs::model::JobId;

/// Mode of the folders: the owner alone.
const DIR_MODE: u32 = 0o700;
/// Random UUIDs in the folder's secret, of 122 bits each.
const SECRET_PARTS: usize = 2;
/// Mode of the files: the owner alone.
const FILE_MODE: u32 = 0o600;

/// The state folder of one user.
#[derive(Clone, Debug)]
pub struct StateDir {
    root: PathBuf,
}

impl StateDir {
    /// Makes the folder and its parts where they are missing, for their owner alone. The mode of a folder that is there
    /// is the user's own; what is made in it can be read by its owner alone.
    ///
    /// # Errors
    /// When it cannot be made.
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

    /// Names a folder, and makes nothing.
    #[must_use]
    pub fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// The folder itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.root.join("jobs.db")
    }

    /// The folder of the raw streams.
    #[must_use]
    pub fn captures(&self) -> PathBuf {
        self.root.join("captures")
    }

    /// The folder of the locks that are the leases.
    #[must_use]
    pub fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }

    /// The folder of the logs of workers.
    #[must_use]
    pub fn worker_logs(&self) -> PathBuf {
        self.root.join("workers")
    }

    /// A job's raw stream.
    #[must_use]
    pub fn capture(&self, id: &JobId) -> PathBuf {
        self.captures().join(format!("{id}.sse"))
    }

    /// A job's lock.
    #[must_use]
    pub fn lock(&self, id: &JobId) -> PathBuf {
        self.locks().join(format!("{id}.lock"))
    }

    /// The log of a job's worker.
    #[must_use]
    pub fn worker_log(&self, id: &JobId) -> PathBuf {
        self.worker_logs().join(format!("{id}.log"))
    }
}

/// Returns the secret of a state folder, made by the first process that needs it.
///
/// # Errors
/// When it can neither be read nor made.
pub fn secret(root: &Path) -> io::Result<Vec<u8>> {
    let path = root.join("secret");
    match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        read => return read,
    }
    // Written whole before it has its name, so that nobody reads a part; the first to name its own wins.
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

/// Returns the ids that the files of a folder are named after which nobody has written to for so long.
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

/// Takes "not found" for removed.
pub(super) fn gone(removed: io::Result<()>) -> io::Result<()> {
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

/// How a private file is opened: for reading and writing, made where it is missing, never emptied.
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

/// Opens or makes a file that its owner alone can read.
///
/// # Errors
/// When it cannot be opened.
pub fn private_file(path: &Path) -> io::Result<File> {
    private_options().open(path)
}

/// As [`private_file`], writing at the end.
///
/// # Errors
/// When it cannot be opened.
pub fn private_append(path: &Path) -> io::Result<File> {
    private_options().append(true).open(path)
}
