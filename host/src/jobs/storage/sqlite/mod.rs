//! The store in one SQLite file, shared by all processes of a user.
//!
//! Write-ahead logging allows reads during a write. Write transactions take the write lock when they begin (`BEGIN
//! IMMEDIATE`), so they never fail later because another process wrote, and they are retried while the lock is held.
//! Users see [`StoreError::Busy`] only if a process is stopped while it holds the lock.

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

/// How long SQLite waits for a lock before it returns an error.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an operation is retried after that. Transactions take milliseconds, so a process that holds the lock for
/// this long is stopped.
const RETRY_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest delay between two attempts, in milliseconds.
const MAX_RETRY_DELAY_MS: u64 = 25;

/// Whether a transaction survives a power failure. All transactions survive the end of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Durability {
    /// Synced to disk before the call returns. Used for everything that affects money.
    Synced,
    /// Synced together with the next synced transaction. Used for progress and the limiter.
    Lazy,
}

/// Identifies a file independently of its path.
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

    /// Files have no such number on this platform, so only the removal of a file is detected.
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
    /// The opened file. `None` for a store in memory.
    file: Option<FileId>,
    /// The secret of a store in memory. The secret of a file is stored beside it.
    secret: Uuid,
    connection: Mutex<Connection>,
}

impl SqliteStore {
    /// Opens the database. Creates it or applies migrations if needed.
    ///
    /// # Errors
    /// If the database cannot be opened, is damaged, or was written by a newer version. It is not changed then.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        // SQLite creates its other files with the mode of the database.
        let made = private_file(path).and_then(|file| Ok(FileId::of(&file.metadata()?)));
        let file = made.map_err(|error| StoreError::Unusable {
            store: path.display().to_string(),
            detail: error.to_string(),
        })?;
        let connection = Connection::open(path).map_err(|error| classify(path, &error))?;
        let store = Self::prepare(path, Some(file), connection)?;
        // The file may have been replaced in between.
        store.in_place()?;
        Ok(store)
    }

    /// Creates a store in memory.
    ///
    /// # Errors
    /// If the database cannot be created.
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

    /// Returns the name of the store in messages.
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A panic in another thread rolled back its transaction. The connection can still be used.
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a call and retries it while the database is busy.
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
                Err(_) if begun.elapsed() >= RETRY_TIMEOUT => {
                    return Err(StoreError::Busy {
                        store: self.name(),
                        waited: begun.elapsed(),
                    });
                }
                Err(_) => {
                    thread::sleep(Duration::from_millis(fastrand::u64(1..=MAX_RETRY_DELAY_MS)))
                }
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
            // SQL that does not match the tables: the tables are not as expected.
            | ErrorCode::Unknown,
        ) => StoreError::Corrupt { store, detail },
        // A violated constraint, a value that SQLite rejects, or, without a code, a failed conversion in rusqlite.
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

    fn ids_beginning_with(&self, text: &str, limit: usize) -> Result<Vec<JobId>, StoreError> {
        self.read(|tx| jobs::ids_beginning_with(tx, text, limit))
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
