//! Following a job from any process.

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::{Desk, OWNER_LOOKED_AT};
use crate::jobs::error::JobsError;
use crate::jobs::model::{Job, JobId};
use crate::jobs::opened::Opened;

/// A job that is followed.
#[derive(Debug)]
pub struct Watch {
    pub(super) desk: Desk,
    pub(super) changes: watch::Receiver<i64>,
    pub(super) job: Job,
}

impl Watch {
    /// The job as it was last seen.
    #[must_use]
    pub const fn job(&self) -> &Job {
        &self.job
    }

    /// The job once it changed; none once its end was given.
    ///
    /// # Errors
    /// When it was removed meanwhile, or the store cannot be used.
    pub async fn next(&mut self) -> Result<Option<Job>, JobsError> {
        while !self.job.state.ended() {
            let seen = self.job.revision;
            self.changed_before(Instant::now() + OWNER_LOOKED_AT)
                .await?;
            if self.job.revision != seen {
                return Ok(Some(self.job.clone()));
            }
        }
        Ok(None)
    }

    /// Waits for a change, for a look at the owner, or for the moment given; then looks.
    pub(super) async fn changed_before(&mut self, until: Instant) -> Result<(), JobsError> {
        let look = until.min(Instant::now() + OWNER_LOOKED_AT);
        let _ = timeout_at(look, self.changes.changed()).await;
        self.job = self.desk.job(&self.job.id).await?;
        Ok(())
    }
}

/// Hears of every change of a job from now on.
pub(super) async fn listen(opened: &Opened, id: &JobId) -> Result<watch::Receiver<i64>, JobsError> {
    let (watcher, id) = (opened.watcher.clone(), id.clone());
    tokio::task::spawn_blocking(move || watcher.listen(&id))
        .await
        .map_err(|error| JobsError::Defect(error.to_string()))?
        .map_err(JobsError::Store)
}
