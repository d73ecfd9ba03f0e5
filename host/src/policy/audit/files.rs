//! What lies where in the folder of the audit log.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::error::AuditError;

/// Older files that are kept beside the one that is written.
pub(super) const FILES_KEPT: usize = 8;
/// What the name of an older file begins with. The number of its last line follows, so that names sort by age.
const OLDER: &str = "audit-";
/// What the name of a file of the log ends with.
const EXTENSION: &str = ".jsonl";

/// The folder of an audit log.
#[derive(Clone, Debug)]
pub struct AuditDir(PathBuf);

impl AuditDir {
    /// The folder in a state folder. Nothing is made.
    #[must_use]
    pub fn of_state(state: &Path) -> Self {
        Self(state.join("audit"))
    }

    /// Returns the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the file that is written.
    #[must_use]
    pub fn current(&self) -> PathBuf {
        self.0.join("audit.jsonl")
    }

    /// Returns the file that names the newest line.
    #[must_use]
    pub fn head(&self) -> PathBuf {
        self.0.join("head.json")
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    pub(super) fn secret(&self) -> PathBuf {
        self.0.join("secret")
    }

    /// Returns the name that the written file gets once its last line has this number.
    pub(super) fn older(&self, last: u64) -> PathBuf {
        self.0.join(format!("{OLDER}{last:020}{EXTENSION}"))
    }

    /// Makes the folder for its owner alone.
    pub(super) fn create(&self) -> Result<(), AuditError> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
            .create(&self.0)
            .map_err(|error| AuditError::file(&self.0, error))
    }

    /// Returns the older files, oldest first.
    pub(super) fn older_files(&self) -> Result<Vec<PathBuf>, AuditError> {
        let failed = |error| AuditError::file(&self.0, error);
        let mut files = Vec::new();
        let entries = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
            entries => entries.map_err(failed)?,
        };
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(OLDER) && name.ends_with(EXTENSION) {
                files.push(self.0.join(&*name));
            }
        }
        files.sort();
        Ok(files)
    }
}

/// Opens a file of the log for its owner alone, and makes it where it is missing.
pub(super) fn private(path: &Path, append: bool) -> Result<File, AuditError> {
    let mut options = OpenOptions::new();
    options.read(true).create(true);
    if append {
        options.append(true);
    } else {
        options.write(true).truncate(false);
    }
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
        .open(path)
        .map_err(|error| AuditError::file(path, error))
}
