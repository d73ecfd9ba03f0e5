//! Why the audit log cannot be used.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why the audit log cannot be used.
#[derive(Debug, Error)]
pub enum AuditError {
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The newest file of the log is written with another key, or with one where none is given here.
    #[error(
        "the audit log {path} is kept with the key {needed}{given}; give that key with --audit-key-file, or move the folder away to begin a new log"
    )]
    Key {
        /// The file.
        path: PathBuf,
        /// The id of the key that the file names.
        needed: String,
        /// What was given, as the end of a phrase.
        given: String,
    },
    /// The key file cannot be used.
    #[error(
        "the audit key file {path} cannot be used: {source}; name a file with 16 bytes or more with --audit-key-file"
    )]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: io::Error,
    },
    /// A defect here.
    #[error("{0}; this is a defect of glovebox, please report it")]
    Defect(String),
}

impl AuditError {
    /// Returns the error of a file.
    #[must_use]
    pub fn file(path: &Path, source: io::Error) -> Self {
        Self::File {
            path: path.to_owned(),
            source,
        }
    }
}
