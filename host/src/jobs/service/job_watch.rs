//! Follows the changes of a job from any process.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::inner::Inner;
use crate::jobs::blocking::blocking;
use crate::jobs::error::JobsError;
use crate::jobs::model::{Job, JobId};
use crate::jobs::storage::Storage;

/// How often a waiting reader checks whether the owner of a job is alive. The death of an owner changes nothing in the
/// store, so no notice reports it.
pub(super) const OWNER_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Follows one job.
#[derive(Debug)]
pub struct Watch {
    inner: Arc<Inner>,
    changes: watch::Receiver<i64>,
    job: Job,
}

impl Watch {
    /// Starts to follow a job. All later changes are seen.
    pub(super) async fn open(inner: Arc<Inner>, id: &JobId) -> Result<Self, JobsError> {
        let storage = inner.blocking(Inner::storage).await?;
        let changes = listen(&storage, id).await?;
        let job = job_now(&inner, id).await?;
        Ok(Self {
            inner,
            changes,
            job,
        })
    }

    /// Returns the job as it was last read.
    #[must_use]
    pub const fn job(&self) -> &Job {
        &self.job
    }

    /// Waits for the next change and returns the job. Returns `None` after the end was returned.
    ///
    /// # Errors
    /// If the job was removed, or the storage cannot be used.
    pub async fn next(&mut self) -> Result<Option<Job>, JobsError> {
        while !self.job.state.ended() {
            let seen = self.job.revision;
            self.changed_before(Instant::now() + OWNER_CHECK_INTERVAL)
                .await?;
            if self.job.revision != seen {
                return Ok(Some(self.job.clone()));
            }
        }
        Ok(None)
    }

    /// Waits for a change, the next check of the owner or `until`, then reads the job.
    pub(super) async fn changed_before(&mut self, until: Instant) -> Result<(), JobsError> {
        let next_check = until.min(Instant::now() + OWNER_CHECK_INTERVAL);
        let _ = timeout_at(next_check, self.changes.changed()).await;
        self.job = job_now(&self.inner, &self.job.id).await?;
        Ok(())
    }
}

async fn job_now(inner: &Arc<Inner>, id: &JobId) -> Result<Job, JobsError> {
    let id = id.clone();
    inner.blocking(move |inner| inner.job(&id)).await
}

/// Returns a receiver that is notified of all later changes of a job.
pub(super) async fn listen(
    storage: &Storage,
    id: &JobId,
) -> Result<watch::Receiver<i64>, JobsError> {
    let (notices, id) = (storage.notices.clone(), id.clone());
    blocking(move || notices.listen(&id)).await
}
