//! Opens the parts of a storage together, and removes what has expired.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::captures::Captures;
use super::error::StoreError;
use super::folder::captures::FileCaptures;
use super::folder::leases::FileLeases;
use super::folder::state_dir::StateDir;
use super::leases::Leases;
use super::memory::{MemoryLeases, NoCaptures};
use super::notices::ChangeNotices;
use super::rows::{JobStore, Lookup};
use super::sqlite::SqliteStore;
use crate::jobs::clock::Clock;
use crate::jobs::model::JobId;

/// How long the mark of a removed job is kept. Within this time its id is reported as expired, later as unknown.
const REMOVED_MARK_RETENTION: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How long ledger entries are kept. The sums of each day are kept forever.
const LEDGER_RETENTION: Duration = Duration::from_secs(400 * 24 * 60 * 60);
/// The most jobs to remove in one transaction, so that other writers do not wait long.
const PRUNE_BATCH_SIZE: usize = 200;

/// Everything that the jobs store. Clones are cheap and share their state.
#[derive(Clone, Debug)]
pub struct Storage {
    /// The rows of jobs, the ledger and the HTTP sessions.
    pub rows: Arc<dyn JobStore>,
    /// The leases of the jobs.
    pub leases: Arc<dyn Leases>,
    /// The captures of raw streams.
    pub captures: Arc<dyn Captures>,
    /// The notices of changes.
    pub notices: ChangeNotices,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}

/// Opens a storage with a clock.
pub type StorageOpener = Box<dyn Fn(Arc<dyn Clock>) -> Result<Storage, StoreError> + Send + Sync>;

/// The result of removing expired jobs.
#[derive(Clone, Debug, Default)]
pub struct Removed {
    /// The ids of the removed jobs.
    pub ids: Vec<JobId>,
    /// How many of them had rows.
    pub rows: usize,
}

impl Storage {
    /// Opens the storage in a folder. Creates the folder and the database if they are missing.
    ///
    /// # Errors
    /// If the folder or the database cannot be used.
    pub fn in_folder(root: &Path, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let dir = StateDir::create(root).map_err(|source| StoreError::folder(root, source))?;
        let rows: Arc<dyn JobStore> = Arc::new(SqliteStore::open(&dir.database())?);
        Ok(Self {
            notices: ChangeNotices::new(Arc::clone(&rows)),
            rows,
            leases: Arc::new(FileLeases(dir.clone())),
            captures: Arc::new(FileCaptures(dir)),
            clock,
        })
    }

    /// Returns a function that opens the storage in a folder.
    #[must_use]
    pub fn opener(root: PathBuf) -> StorageOpener {
        Box::new(move |clock| Self::in_folder(&root, clock))
    }

    /// Creates a storage in memory, without captures.
    ///
    /// # Errors
    /// If the database cannot be created.
    pub fn in_memory(clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let rows: Arc<dyn JobStore> = Arc::new(SqliteStore::in_memory()?);
        Ok(Self {
            notices: ChangeNotices::new(Arc::clone(&rows)),
            rows,
            leases: Arc::new(MemoryLeases::default()),
            captures: Arc::new(NoCaptures),
            clock,
        })
    }

    /// Removes jobs that ended longer than `keep` ago, in at most `batches` batches.
    ///
    /// # Errors
    /// If the store or a file cannot be used.
    pub fn prune(&self, keep: Duration, batches: usize) -> Result<Removed, StoreError> {
        let now = self.clock.now();
        let mut removed = Removed::default();
        for _ in 0..batches {
            let before = now.plus(-ms(keep));
            let ids = self.rows.ended_before(before, PRUNE_BATCH_SIZE)?;
            if ids.is_empty() {
                break;
            }
            removed.rows += self.remove(&ids)?;
            removed.ids.extend(ids);
        }
        // If nothing was removed, few marks can have expired, and commands that only read should not have to write.
        if removed.rows > 0 || batches == usize::MAX {
            let (marks, ledger) = (
                now.plus(-ms(REMOVED_MARK_RETENTION)),
                now.plus(-ms(LEDGER_RETENTION)),
            );
            self.rows.forget(marks, ledger)?;
        }
        Ok(removed)
    }

    /// Removes leases and captures that belong to no job and are older than `keep`. They remain if a database was moved
    /// away. Returns the ids in their names.
    ///
    /// # Errors
    /// If the store or a file cannot be used.
    pub fn remove_orphans(&self, keep: Duration) -> Result<Vec<JobId>, StoreError> {
        // If the store was moved, the files may belong to the jobs of another store.
        self.rows.in_place()?;
        let mut old = self.captures.older_than(keep);
        old.extend(self.leases.older_than(keep));
        let mut orphans = Vec::new();
        for id in old {
            if !matches!(self.rows.lookup(&id)?, Lookup::Found(_)) {
                self.remove_files(&id)?;
                orphans.push(id);
            }
        }
        Ok(orphans)
    }

    /// Removes ended jobs, files first. A crash in between leaves a row that is removed the next time, and never a file
    /// without a row. Returns how many rows were removed.
    ///
    /// # Errors
    /// If the store or a file cannot be used.
    pub fn remove(&self, ids: &[JobId]) -> Result<usize, StoreError> {
        for id in ids {
            self.remove_files(id)?;
        }
        self.rows.remove(ids, self.clock.now())
    }

    fn remove_files(&self, id: &JobId) -> Result<(), StoreError> {
        self.captures
            .remove(id)
            .map_err(|source| StoreError::Folder {
                place: self.captures.place(id).unwrap_or_default(),
                source,
            })?;
        self.leases.remove(id)
    }
}

fn ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
