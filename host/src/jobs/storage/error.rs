//! The errors of a storage. A store is named in messages by its path, or by its address without the password.

use std::io;
use std::path::Path;
use std::time::Duration;

use thiserror::Error;

/// The reason why an operation of the storage failed.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The store was written by a newer version of glovebox.
    #[error(
        "the job store {store} was written by a newer glovebox (schema {found}, this one knows {known}); nothing was changed. Use that version, or set GLOVEBOX_STATE_DIR to another folder"
    )]
    Newer {
        /// The store.
        store: String,
        /// The version of its schema.
        found: i64,
        /// The newest schema version that this program supports.
        known: i64,
    },
    /// The store is damaged or is not a database.
    #[error(
        "the job store {store} is damaged ({detail}); nothing was overwritten and the captures beside it are kept. Move the file away to begin a new store; `glovebox replay` reads the captures"
    )]
    Corrupt {
        /// The store.
        store: String,
        /// The message of the database.
        detail: String,
    },
    /// The disk is full.
    #[error(
        "no room left for the job store {store} ({detail}); what was stored before is kept, and so are captures. Free some space and try again"
    )]
    Full {
        /// The store.
        store: String,
        /// The message of the database.
        detail: String,
    },
    /// The store cannot be opened, read or written.
    #[error(
        "the job store {store} cannot be used ({detail}); nothing was changed. Make the folder writable, or set GLOVEBOX_STATE_DIR to one that is"
    )]
    Unusable {
        /// The store.
        store: String,
        /// The message of the system.
        detail: String,
    },
    /// A value does not fit the tables or cannot be read from them. The file is not damaged.
    #[error(
        "the job store {store} and this glovebox disagree about a value ({detail}); nothing was changed, and what was stored before is kept. This is a defect of glovebox, please report it"
    )]
    Value {
        /// The store.
        store: String,
        /// The message of the database.
        detail: String,
    },
    /// The store was moved, replaced or removed since it was opened.
    #[error(
        "the job store {store} was moved, replaced or removed while this process had it open; nothing was sent, since its budget and its rate limit no longer count for other processes. Restart this process to use the store that is there now"
    )]
    Moved {
        /// The store.
        store: String,
    },
    /// Another process held the lock of the store for too long.
    #[error(
        "the job store {store} was held by another process for {waited:?}; nothing was changed. Try again, and look for a process that is stopped"
    )]
    Busy {
        /// The store.
        store: String,
        /// How long the operation waited.
        waited: Duration,
    },
    /// A file beside the database cannot be used: a lease, a capture or the secret.
    #[error(
        "the state folder {place} cannot be used ({source}); nothing was changed. Make it writable, or set GLOVEBOX_STATE_DIR to a folder that is"
    )]
    Folder {
        /// The folder or file.
        place: String,
        /// The error of the system.
        source: io::Error,
    },
}

impl StoreError {
    /// Creates the error of a file or folder of the storage.
    #[must_use]
    pub fn folder(path: &Path, source: io::Error) -> Self {
        Self::Folder {
            place: path.display().to_string(),
            source,
        }
    }

    /// Returns whether the store was moved, replaced or removed.
    #[must_use]
    pub const fn is_moved(&self) -> bool {
        matches!(self, Self::Moved { .. })
    }

    /// Returns the stable, hyphenated name of the error.
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
