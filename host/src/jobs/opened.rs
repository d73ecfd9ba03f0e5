//! The store and the folder around it, opened on first use.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::JobsError;
use super::clock::Clock;
use super::home::Home;
use super::model::JobId;
use super::sqlite::SqliteStore;
use super::store::{JobStore, Lookup};
use super::watch::Watcher;

/// Marks of removed jobs are kept so long: whoever asks within it hears "expired", later "unknown".
const MARKS_KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Ledger entries are kept a little over a year; the sums by day stay.
const LEDGER_KEPT: Duration = Duration::from_secs(400 * 24 * 60 * 60);
/// Jobs removed in one transaction, so that others are not kept waiting.
const PRUNED_AT_ONCE: usize = 200;

/// A store that is ready, and where its files are.
#[derive(Clone, Debug)]
pub(super) struct Opened {
    pub(super) store: Arc<dyn JobStore>,
    /// The folder; none where the store is in memory.
    pub(super) home: Option<Home>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) watcher: Watcher,
}

impl Opened {
    /// Opens the store in a folder.
    pub(super) fn folder(root: &Path, clock: Arc<dyn Clock>) -> Result<Self, JobsError> {
        let home = Home::create(root).map_err(|source| JobsError::Folder {
            path: root.to_owned(),
            source,
        })?;
        let store: Arc<dyn JobStore> = Arc::new(SqliteStore::open(&home.database())?);
        Ok(Self {
            watcher: Watcher::new(Arc::clone(&store)),
            store,
            home: Some(home),
            clock,
        })
    }

    /// A store that ends with the process.
    pub(super) fn memory(clock: Arc<dyn Clock>) -> Result<Self, JobsError> {
        let store: Arc<dyn JobStore> = Arc::new(SqliteStore::in_memory()?);
        Ok(Self {
            watcher: Watcher::new(Arc::clone(&store)),
            store,
            home: None,
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
        let Some(home) = &self.home else {
            return Ok(());
        };
        // The files that are there now may belong to the jobs of another store.
        self.store.in_place()?;
        for id in home.ids_of_files_older_than(keep) {
            if !matches!(self.store.lookup(&id)?, Lookup::Found(_)) {
                home.remove_files(&id).map_err(|source| JobsError::Folder {
                    path: home.capture(&id),
                    source,
                })?;
            }
        }
        Ok(())
    }

    /// Removes ended jobs, files first: a crash in between leaves a row that is removed next time, never a
    /// file that nobody knows of.
    pub(super) fn remove(&self, ids: &[JobId]) -> Result<usize, JobsError> {
        if let Some(home) = &self.home {
            for id in ids {
                home.remove_files(id).map_err(|source| JobsError::Folder {
                    path: home.capture(id),
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
