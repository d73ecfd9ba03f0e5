//! The parts of a storage, opened together.

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

/// Marks of removed jobs are kept so long: an id is `expired` within it, and unknown after it.
const MARKS_KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Ledger entries are kept a little over a year; the sums by day stay.
const LEDGER_KEPT: Duration = Duration::from_secs(400 * 24 * 60 * 60);
/// Jobs removed in one transaction, so that others are not kept waiting.
const PRUNED_AT_ONCE: usize = 200;

/// Where jobs are kept. A clone is cheap and is the same storage.
#[derive(Clone, Debug)]
pub struct Storage {
    /// The rows of jobs, the ledger and the HTTP sessions.
    pub rows: Arc<dyn JobStore>,
    /// Who works on which job.
    pub leases: Arc<dyn Leases>,
    /// The raw streams.
    pub captures: Arc<dyn Captures>,
    /// What changed.
    pub notices: ChangeNotices,
    /// The clock that all of them are given.
    pub clock: Arc<dyn Clock>,
}

/// Opens a storage with a clock.
pub type StorageOpener = Box<dyn Fn(Arc<dyn Clock>) -> Result<Storage, StoreError> + Send + Sync>;

/// What was removed.
#[derive(Clone, Debug, Default)]
pub struct Removed {
    /// The ids of the jobs.
    pub ids: Vec<JobId>,
    /// How many of them had rows.
    pub rows: usize,
}

impl Storage {
    /// Opens the storage in a folder, and makes it where it is missing.
    ///
    /// # Errors
    /// When the folder or the database in it cannot be used.
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

    /// Returns what opens the storage in a folder when it is needed.
    #[must_use]
    pub fn opener(root: PathBuf) -> StorageOpener {
        Box::new(move |clock| Self::in_folder(&root, clock))
    }

    /// Makes a storage that ends with the process, without captures.
    ///
    /// # Errors
    /// When there is no memory for it.
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

    /// Removes jobs that ended longer ago than they are kept, in no more than `batches` batches.
    ///
    /// # Errors
    /// When the store or a file cannot be used.
    pub fn prune(&self, keep: Duration, batches: usize) -> Result<Removed, StoreError> {
        let now = self.clock.now();
        let mut removed = Removed::default();
        for _ in 0..batches {
            let before = now.plus(-ms(keep));
            let ids = self.rows.ended_before(before, PRUNED_AT_ONCE)?;
            if ids.is_empty() {
                break;
            }
            removed.rows += self.remove(&ids)?;
            removed.ids.extend(ids);
        }
        // Where nothing was removed there is little to forget, and a command that only reads should not have to write.
        if removed.rows > 0 || batches == usize::MAX {
            let (marks, ledger) = (now.plus(-ms(MARKS_KEPT)), now.plus(-ms(LEDGER_KEPT)));
            self.rows.forget(marks, ledger)?;
        }
        Ok(removed)
    }

    /// Removes leases and captures that belong to no job and are older than results are kept: what a database that was moved
    /// away left behind. Returns the ids of the jobs that they were of.
    ///
    /// # Errors
    /// When the store or a file cannot be used.
    pub fn remove_orphans(&self, keep: Duration) -> Result<Vec<JobId>, StoreError> {
        // The files that are there now may belong to the jobs of another store.
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

    /// Removes ended jobs, files first: a crash in between leaves a row that is removed next time, never a file that nobody
    /// knows of. Returns how many rows were removed.
    ///
    /// # Errors
    /// When the store or a file cannot be used.
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
