//! Why a storage could not do what it was asked. Stores are named as people know them: by a path, or by an address without
//! its password.

use std::io;
use std::path::Path;
use std::time::Duration;

use thiserror::Error;

/// Why the store could not do what it was asked.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Written by a later version.
    #[error(
        "the job store {store} was written by a newer glovebox (schema {found}, this one knows {known}); nothing was changed. Use that version, or set GLOVEBOX_STATE_DIR to another folder"
    )]
    Newer {
        /// The store.
        store: String,
        /// Its schema.
        found: i64,
        /// The newest schema this version knows.
        known: i64,
    },
    /// Damaged, or not a database at all.
    #[error(
        "the job store {store} is damaged ({detail}); nothing was overwritten and the captures beside it are kept. Move the file away to begin a new store; `glovebox replay` reads the captures"
    )]
    Corrupt {
        /// The store.
        store: String,
        /// What the database reported.
        detail: String,
    },
    /// No room left.
    #[error(
        "no room left for the job store {store} ({detail}); what was stored before is kept, and so are captures. Free some space and try again"
    )]
    Full {
        /// The store.
        store: String,
        /// What the database reported.
        detail: String,
    },
    /// Cannot be opened, read or written.
    #[error(
        "the job store {store} cannot be used ({detail}); nothing was changed. Make the folder writable, or set GLOVEBOX_STATE_DIR to one that is"
    )]
    Unusable {
        /// The store.
        store: String,
        /// What the system reported.
        detail: String,
    },
    /// A value that the tables do not take, or that cannot be read as what it should be. Nothing is wrong with the file.
    #[error(
        "the job store {store} and this glovebox disagree about a value ({detail}); nothing was changed, and what was stored before is kept. This is a defect of glovebox, please report it"
    )]
    Value {
        /// The store.
        store: String,
        /// What the database reported.
        detail: String,
    },
    /// The file is no longer where it was opened.
    #[error(
        "the job store {store} was moved, replaced or removed while this process had it open; nothing was sent, since its budget and its rate limit no longer count for other processes. Restart this process to use the store that is there now"
    )]
    Moved {
        /// The store.
        store: String,
    },
    /// Held by others for longer than anybody should hold it.
    #[error(
        "the job store {store} was held by another process for {waited:?}; nothing was changed. Try again, and look for a process that is stopped"
    )]
    Busy {
        /// The store.
        store: String,
        /// How long was waited.
        waited: Duration,
    },
    /// A file of the storage beside the rows cannot be used: a lease, a capture, a secret.
    #[error(
        "the state folder {place} cannot be used ({source}); nothing was changed. Make it writable, or set GLOVEBOX_STATE_DIR to a folder that is"
    )]
    Folder {
        /// The folder or file.
        place: String,
        /// What the system reported.
        source: io::Error,
    },
}

impl StoreError {
    /// Returns the error of a file or folder of the storage.
    #[must_use]
    pub fn folder(path: &Path, source: io::Error) -> Self {
        Self::Folder {
            place: path.display().to_string(),
            source,
        }
    }

    /// Returns whether the store is another one now than the one that was opened.
    #[must_use]
    pub const fn is_moved(&self) -> bool {
        matches!(self, Self::Moved { .. })
    }

    /// Returns a stable, hyphenated name.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Newer { .. } => "store-newer",
            Self::Corrupt { .. } => "store-corrupt",
            Self::Full { .. } => "store-full",
            Self::Unusable { .. } => "store-unusable",
            Self::Value { .. } => "store-value",
            Self::Moved { .. } => "store-moved",
            Self::Busy { .. } => "store-busy",
            Self::Folder { .. } => "state-folder",
        }
    }
}
