//! The store in one SQLite file, shared by all processes of a user.
//!
//! Write-ahead logging lets readers go on while one writes. Writers begin with the write lock
//! (`BEGIN IMMEDIATE`), so none finds out late that it cannot go on, and wait for each other here: a user
//! never sees "busy" unless a process stands still with the lock in its hands.

mod jobs;
mod ledger;
mod migrate;
mod sessions;
mod slots;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};
use uuid::Uuid;

use crate::answers::ResearchProgress;
use crate::jobs::clock::Millis;
use crate::jobs::model::{Job, JobId, Micros, State};
use crate::jobs::storage::error::StoreError;
use crate::jobs::storage::folder::state_dir::{self, private_file};
use crate::jobs::storage::rows::{
    End, Filter, Inserted, JobStore, Lookup, Marked, NewJob, Payload, Rate, Rendered, Slot,
    SpendRow,
};

/// How long SQLite itself waits for a lock before it says "busy".
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a call is tried again after that. No transaction here takes more than some milliseconds, so
/// whoever holds the lock for so long is stopped, not slow.
const RETRY_FOR: Duration = Duration::from_secs(60);
/// The longest pause between two tries, in milliseconds.
const RETRY_PAUSE_MS: u64 = 25;

/// How sure a transaction must be to outlive a power cut. All outlive the death of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Durability {
    /// Synced before it is done: whatever money hangs on.
    Synced,
    /// Synced with the next that is: progress, the limiter.
    Lazy,
}

/// What tells one file from another, whatever they are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    #[cfg(unix)]
    fn of(metadata: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }

    /// Where files have no such number, only one that is gone is noticed.
    #[cfg(not(unix))]
    const fn of(_metadata: &std::fs::Metadata) -> Self {
        Self {
            device: 0,
            inode: 0,
        }
    }
}

/// The store in a SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    /// Which file was opened; none in memory.
    file: Option<FileId>,
    /// The secret of a store in memory; that of a file is kept beside it.
    secret: Uuid,
    connection: Mutex<Connection>,
}

impl SqliteStore {
    /// Opens the database, making it or bringing it up to date where needed.
    ///
    /// # Errors
    /// When it cannot be opened, is damaged, or was written by a later version. It is not touched then.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        // SQLite gives its side files the mode of the database.
        let made = private_file(path).and_then(|file| Ok(FileId::of(&file.metadata()?)));
        let file = made.map_err(|error| StoreError::Unusable {
            store: path.display().to_string(),
            detail: error.to_string(),
        })?;
        let connection = Connection::open(path).map_err(|error| classify(path, &error))?;
        let store = Self::prepare(path, Some(file), connection)?;
        // Between the two it may have been replaced.
        store.in_place()?;
        Ok(store)
    }

    /// A store in memory, for when there is no folder to keep one in: it ends with the process.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn in_memory() -> Result<Self, StoreError> {
        let path = Path::new(":memory:");
        let connection = Connection::open_in_memory().map_err(|error| classify(path, &error))?;
        Self::prepare(path, None, connection)
    }

    fn prepare(
        path: &Path,
        file: Option<FileId>,
        connection: Connection,
    ) -> Result<Self, StoreError> {
        let store = Self {
            path: path.to_owned(),
            file,
            secret: Uuid::new_v4(),
            connection: Mutex::new(connection),
        };
        store.retry(|connection| {
            connection.busy_timeout(BUSY_TIMEOUT)?;
            connection.pragma_update(None, "foreign_keys", true)?;
            connection.pragma_update(None, "synchronous", "NORMAL")
        })?;
        migrate::run(&store)?;
        Ok(store)
    }

    /// Returns the store as messages name it.
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A panic in another thread rolled its transaction back; the connection is sound.
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a call until it is not refused for being busy.
    fn retry<T>(
        &self,
        mut call: impl FnMut(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let begun = Instant::now();
        loop {
            let result = call(&mut self.lock());
            match result {
                Ok(value) => return Ok(value),
                Err(error) if !is_busy(&error) => return Err(classify(&self.path, &error)),
                Err(_) if begun.elapsed() >= RETRY_FOR => {
                    return Err(StoreError::Busy {
                        store: self.name(),
                        waited: begun.elapsed(),
                    });
                }
                Err(_) => thread::sleep(Duration::from_millis(fastrand::u64(1..=RETRY_PAUSE_MS))),
            }
        }
    }

    fn read<T>(
        &self,
        mut call: impl FnMut(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.retry(|connection| {
            let transaction = connection.transaction()?;
            let value = call(&transaction)?;
            transaction.commit()?;
            Ok(value)
        })
    }

    fn write<T>(
        &self,
        durability: Durability,
        mut call: impl FnMut(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.retry(|connection| {
            if durability == Durability::Synced {
                connection.pragma_update(None, "synchronous", "FULL")?;
            }
            let result = immediate(connection, &mut call);
            if durability == Durability::Synced {
                connection.pragma_update(None, "synchronous", "NORMAL")?;
            }
            result
        })
    }
}

fn immediate<T>(
    connection: &mut Connection,
    call: &mut impl FnMut(&Transaction<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let value = call(&transaction)?;
    transaction.commit()?;
    Ok(value)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed
        )
    )
}

fn classify(path: &Path, error: &rusqlite::Error) -> StoreError {
    let store = path.display().to_string();
    let detail = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full { store, detail },
        Some(
            ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::SystemIoFailure
            | ErrorCode::OutOfMemory
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked,
        ) => StoreError::Unusable { store, detail },
        Some(
            ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            // A statement that does not fit the tables: they are not what they should be.
            | ErrorCode::Unknown,
        ) => StoreError::Corrupt { store, detail },
        // A constraint, a size or a type that SQLite refuses, or, without a code, a conversion that rusqlite does.
        _ => StoreError::Value { store, detail },
    }
}

impl JobStore for SqliteStore {
    fn secret(&self) -> Result<Vec<u8>, StoreError> {
        match self.path.parent().filter(|_| self.file.is_some()) {
            None => Ok(self.secret.as_bytes().to_vec()),
            Some(folder) => {
                state_dir::secret(folder).map_err(|source| StoreError::folder(folder, source))
            }
        }
    }

    fn in_place(&self) -> Result<(), StoreError> {
        let Some(opened) = &self.file else {
            return Ok(());
        };
        let there = std::fs::metadata(&self.path).map(|metadata| FileId::of(&metadata));
        match there {
            Ok(there) if there == *opened => Ok(()),
            _ => Err(StoreError::Moved { store: self.name() }),
        }
    }

    fn insert(
        &self,
        job: &NewJob,
        budget: Option<Micros>,
        now: Millis,
    ) -> Result<Inserted, StoreError> {
        self.in_place()?;
        self.write(Durability::Synced, |tx| jobs::insert(tx, job, budget, now))
    }

    fn begin(&self, id: &JobId, now: Millis) -> Result<bool, StoreError> {
        self.write(Durability::Lazy, |tx| jobs::begin(tx, id, now))
    }

    fn mark_sent(&self, id: &JobId, now: Millis) -> Result<Marked, StoreError> {
        self.in_place()?;
        self.write(Durability::Synced, |tx| jobs::mark_sent(tx, id, now))
    }

    fn head(&self, id: &JobId, head: &str) -> Result<(), StoreError> {
        self.write(Durability::Lazy, |tx| jobs::head(tx, id, head))
    }

    fn progress(&self, id: &JobId, progress: &ResearchProgress) -> Result<(), StoreError> {
        self.write(Durability::Lazy, |tx| jobs::progress(tx, id, progress))
    }

    fn finish(&self, id: &JobId, end: &End, now: Millis) -> Result<bool, StoreError> {
        self.write(Durability::Synced, |tx| jobs::finish(tx, id, end, now))
    }

    fn request_cancel(&self, id: &JobId, now: Millis) -> Result<bool, StoreError> {
        self.write(Durability::Lazy, |tx| jobs::request_cancel(tx, id, now))
    }

    fn lookup(&self, id: &JobId) -> Result<Lookup, StoreError> {
        self.read(|tx| jobs::lookup(tx, id))
    }

    fn payload(&self, id: &JobId) -> Result<Option<Payload>, StoreError> {
        self.read(|tx| jobs::payload(tx, id))
    }

    fn outcome(&self, id: &JobId) -> Result<Option<Rendered>, StoreError> {
        self.read(|tx| jobs::outcome(tx, id))
    }

    fn list(&self, filter: Filter, limit: usize) -> Result<Vec<Job>, StoreError> {
        self.read(|tx| jobs::list(tx, filter, limit))
    }

    fn count_by_state(&self) -> Result<Vec<(State, u64)>, StoreError> {
        self.read(jobs::count_by_state)
    }

    fn active(&self) -> Result<Vec<JobId>, StoreError> {
        self.read(jobs::active)
    }

    fn ended_before(&self, before: Millis, limit: usize) -> Result<Vec<JobId>, StoreError> {
        self.read(|tx| jobs::ended_before(tx, before, limit))
    }

    fn remove(&self, ids: &[JobId], now: Millis) -> Result<usize, StoreError> {
        self.write(Durability::Lazy, |tx| jobs::remove(tx, ids, now))
    }

    fn forget(&self, marks: Millis, ledger: Millis) -> Result<(), StoreError> {
        self.write(Durability::Lazy, |tx| {
            jobs::forget(tx, marks)?;
            ledger::forget(tx, ledger.day())
        })
    }

    fn spend(&self, since_day: i64) -> Result<Vec<SpendRow>, StoreError> {
        self.read(|tx| ledger::spend(tx, since_day))
    }

    fn slot(
        &self,
        id: &JobId,
        rate: Rate,
        now: Millis,
        latest: Millis,
    ) -> Result<Slot, StoreError> {
        self.in_place()?;
        self.write(Durability::Lazy, |tx| {
            slots::take(tx, id, rate, now, latest)
        })
    }

    fn revision(&self) -> Result<i64, StoreError> {
        self.read(jobs::last_revision)
    }

    fn changes(&self, since: i64) -> Result<Vec<(JobId, i64)>, StoreError> {
        self.read(|tx| jobs::changes(tx, since))
    }
}
