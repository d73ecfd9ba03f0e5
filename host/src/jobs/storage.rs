//! The store and the folder around it, storage on first use.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::JobsError;
use super::change_notices::ChangeNotices;
use super::clock::Clock;
use super::model::JobId;
use super::sqlite::SqliteStore;
use super::state_dir::StateDir;
use super::store::{JobStore, Lookup};

/// Marks of removed jobs are kept so long: whoever asks within it hears "expired", later "unknown".
const MARKS_KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Ledger entries are kept a little over a year; the sums by day stay.
const LEDGER_KEPT: Duration = Duration::from_secs(400 * 24 * 60 * 60);
/// Jobs removed in one transaction, so that others are not kept waiting.
const PRUNED_AT_ONCE: usize = 200;

/// A store that is ready, and where its files are.
#[derive(Clone, Debug)]
pub(super) struct Storage {
    pub(super) store: Arc<dyn JobStore>,
    /// The folder; none where the store is in memory.
    pub(super) dir: Option<StateDir>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) notices: ChangeNotices,
}

impl Storage {
    /// Opens the store in a folder.
    pub(super) fn folder(root: &Path, clock: Arc<dyn Clock>) -> Result<Self, JobsError> {
        let dir = StateDir::create(root).map_err(|source| JobsError::Folder {
            path: root.to_owned(),
            source,
        })?;
        let store: Arc<dyn JobStore> = Arc::new(SqliteStore::open(&dir.database())?);
        Ok(Self {
            notices: ChangeNotices::new(Arc::clone(&store)),
            store,
            dir: Some(dir),
            clock,
        })
    }

    /// A store that ends with the process.
    pub(super) fn memory(clock: Arc<dyn Clock>) -> Result<Self, JobsError> {
        let store: Arc<dyn JobStore> = Arc::new(SqliteStore::in_memory()?);
        Ok(Self {
            notices: ChangeNotices::new(Arc::clone(&store)),
            store,
            dir: None,
            clock,
        })
    }

    /// Removes jobs and their files that ended longer ago than they are kept, so many batches at most. Gives
    /// how many went.
    pub(super) fn prune(&self, keep: Duration, batches: usize) -> Result<usize, JobsError> {
        let now = self.clock.now();
        let mut removed = 0;
        for _ in 0..batches {
            let ids = self
                .store
                .ended_before(now.plus(-ms(keep)), PRUNED_AT_ONCE)?;
            if ids.is_empty() {
                break;
            }
            removed += self.remove(&ids)?;
        }
        // Where nothing went there is little to forget, and a command that only reads should not have to write.
        if removed > 0 || batches == usize::MAX {
            self.store
                .forget(now.plus(-ms(MARKS_KEPT)), now.plus(-ms(LEDGER_KEPT)))?;
        }
        Ok(removed)
    }

    /// Removes files that belong to no job and are older than results are kept: what a database that was
    /// moved away left behind.
    pub(super) fn remove_orphans(&self, keep: Duration) -> Result<(), JobsError> {
        let Some(dir) = &self.dir else {
            return Ok(());
        };
        // The files that are there now may belong to the jobs of another store.
        self.store.in_place()?;
        for id in dir.ids_of_files_older_than(keep) {
            if !matches!(self.store.lookup(&id)?, Lookup::Found(_)) {
                dir.remove_files(&id).map_err(|source| JobsError::Folder {
                    path: dir.capture(&id),
                    source,
                })?;
            }
        }
        Ok(())
    }

    /// Removes ended jobs, files first: a crash in between leaves a row that is removed next time, never a
    /// file that nobody knows of.
    pub(super) fn remove(&self, ids: &[JobId]) -> Result<usize, JobsError> {
        if let Some(dir) = &self.dir {
            for id in ids {
                dir.remove_files(id).map_err(|source| JobsError::Folder {
                    path: dir.capture(id),
                    source,
                })?;
            }
        }
        Ok(self.store.remove(ids, self.clock.now())?)
    }
}

fn ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
