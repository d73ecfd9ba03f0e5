//! The service: submits calls, runs them, and looks up, cancels and removes their jobs.

mod call;
mod config;
mod inner;
mod job_watch;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::error::JobsError;
use super::model::{Job, JobId, State};
use super::recovery;
use super::runner::{Ended, Runner};
use super::storage::Storage;
use super::storage::error::StoreError;
use super::storage::rows::{Filter, Rendered, SessionStore};
use super::stored_request::headers_of;
use super::update::Update;
use crate::answers::Header;
use crate::jobs::ledger::budget::SpendReport;

pub use self::call::{Adopted, Call, Submitted};
pub use self::config::{JobsConfig, MakeClient};
pub use self::job_watch::Watch;

use self::inner::Inner;
use self::job_watch::{OWNER_LOOKED_AT, listen};

/// How long a detached worker may take to own its row: it starts a process and opens the store.
const WORKER_STARTS_WITHIN: Duration = Duration::from_secs(20);
/// How long a cancellation waits to see the end. It should come within a second.
const CANCEL_SEEN_WITHIN: Duration = Duration::from_secs(5);
/// No wait is longer: a length that a person typed may be beyond what a clock can count to.
const LONGEST_WAIT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The service. A clone is cheap and is the same service.
#[derive(Clone, Debug)]
pub struct Jobs {
    inner: Arc<Inner>,
}

impl Jobs {
    /// Makes the service. Nothing is opened.
    #[must_use]
    pub fn new(config: JobsConfig) -> Self {
        Self {
            inner: Arc::new(Inner::new(config)),
        }
    }

    /// Checks a call, reserves its cost and stores it as `queued`. This process owns it then: hand it to
    /// [`Jobs::run`].
    ///
    /// # Errors
    /// Every bad field; a budget that it could pass; a store that cannot be used, except that a single answer
    /// without a budget is taken in all the same, with a warning.
    pub async fn submit(&self, call: Call) -> Result<Submitted, JobsError> {
        self.inner.config.answers.ready().await?;
        self.blocking(move |inner| inner.submit(&call)).await
    }

    /// Runs a job that this process owns, until its end. What happens is told to `updates` as it happens; a
    /// receiver that went away is no reason to stop, `cancel` is.
    ///
    /// # Errors
    /// When this process does not own it, or nothing could be sent. Whatever the upstream did is part of
    /// the end.
    pub async fn run(
        &self,
        id: &JobId,
        cancel: CancellationToken,
        updates: UnboundedSender<Update>,
    ) -> Result<Ended, JobsError> {
        let held = self
            .inner
            .held()
            .remove(id)
            .ok_or_else(|| JobsError::NotOwner(id.clone()))?;
        let runner = Runner {
            id: id.clone(),
            storage: held.storage,
            answers: self.inner.config.answers.clone(),
            rate: self.inner.config.rate,
            budgeted: self.inner.config.budget.is_some(),
            cancel,
            stopping: self.inner.stopping.clone(),
            updates,
        };
        let ended = runner.run(|| self.inner.client()).await?;
        self.inner.config.worker.logs.remove_if_empty(id);
        if ended.stored {
            held.lease.retire();
        }
        Ok(ended)
    }

    /// Hands a call to a worker process that outlives this one, and gives its job once the worker owns it.
    ///
    /// # Errors
    /// As [`Jobs::submit`], and when the worker does not start.
    pub async fn detach(&self, call: Call) -> Result<Submitted, JobsError> {
        let mut submitted = self.submit(call).await?;
        if submitted.already_running {
            return Ok(submitted);
        }
        let id = submitted.job.id.clone();
        let storage = self.storage().await?;
        let mut changes = listen(&storage, &id).await?;
        let worker = self.blocking({
            let id = id.clone();
            move |inner| inner.start_worker(&id)
        });
        let mut worker = worker.await?;
        let until = Instant::now() + WORKER_STARTS_WITHIN;
        loop {
            let job = self.job(&id).await?;
            if job.started.is_some() || job.state.ended() {
                worker.reap();
                if job.started.is_none() && job.state == State::Interrupted {
                    return Err(worker.did_not_start("it ended at once"));
                }
                submitted.job = job;
                return Ok(submitted);
            }
            if Instant::now() >= until {
                // It must not begin later, unseen.
                self.cancel(&id).await?;
                worker.kill();
                worker.reap();
                return Err(worker.did_not_start("it did not begin in time"));
            }
            let look = until.min(Instant::now() + OWNER_LOOKED_AT);
            let _ = timeout_at(look, changes.changed()).await;
        }
    }

    /// Takes over a job that another process made for this one: the lease came as standard input, or is free.
    /// Gives the simulator that it is to run.
    ///
    /// # Errors
    /// When another process owns it, or it has ended.
    pub async fn adopt(&self, id: &JobId) -> Result<Adopted, JobsError> {
        let id = id.clone();
        self.blocking(move |inner| inner.adopt(&id)).await
    }

    /// A job as it is now. Where its owner died it is settled first.
    ///
    /// # Errors
    /// When the id is unknown or has expired.
    pub async fn job(&self, id: &JobId) -> Result<Job, JobsError> {
        let id = id.clone();
        self.blocking(move |inner| inner.job(&id)).await
    }

    /// As [`Jobs::job`], for an id that a person or a program typed.
    ///
    /// # Errors
    /// When it is no id, or is unknown, or has expired.
    pub fn parse_id(text: &str) -> Result<JobId, JobsError> {
        text.parse()
            .map_err(|_| JobsError::Unknown(text.chars().take(64).collect()))
    }

    /// The newest jobs first. Those whose owners died are settled first.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub async fn list(&self, filter: Filter, limit: usize) -> Result<Vec<Job>, JobsError> {
        self.blocking(move |inner| {
            let storage = inner.storage()?;
            recovery::sweep(&storage, &inner.config.answers)?;
            Ok(storage.rows.list(filter, limit)?)
        })
        .await
    }

    /// Returns how many jobs of each state are stored.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub async fn count_by_state(&self) -> Result<Vec<(State, u64)>, JobsError> {
        self.blocking(|inner| Ok(inner.storage()?.rows.count_by_state()?))
            .await
    }

    /// Waits for a job's end, no longer than so long, and gives the job as it is then.
    ///
    /// # Errors
    /// When the id is unknown or has expired.
    pub async fn wait(&self, id: &JobId, longest: Duration) -> Result<Job, JobsError> {
        let until = Instant::now() + longest.min(LONGEST_WAIT);
        let mut watch = self.watch(id).await?;
        loop {
            let job = watch.job().clone();
            if job.state.ended() || Instant::now() >= until {
                return Ok(job);
            }
            watch.changed_before(until).await?;
        }
    }

    /// Follows a job from any process.
    ///
    /// # Errors
    /// When the id is unknown or has expired.
    pub async fn watch(&self, id: &JobId) -> Result<Watch, JobsError> {
        Watch::open(Arc::clone(&self.inner), id).await
    }

    /// The outcome of an ended job: JSON, Markdown and plain text. None where it has not ended or nothing was
    /// sent.
    ///
    /// # Errors
    /// When the id is unknown or has expired.
    pub async fn outcome(&self, id: &JobId) -> Result<Option<Rendered>, JobsError> {
        let id = id.clone();
        self.blocking(move |inner| {
            inner.job(&id)?;
            Ok(inner.storage()?.rows.outcome(&id)?)
        })
        .await
    }

    /// An ended job with its outcome, and the job as it is where it has not ended by then.
    ///
    /// # Errors
    /// When the id is unknown or has expired.
    pub async fn result(
        &self,
        id: &JobId,
        longest: Duration,
    ) -> Result<(Job, Option<Rendered>), JobsError> {
        let job = self.wait(id, longest).await?;
        let outcome = if job.state.ended() {
            self.outcome(id).await?
        } else {
            None
        };
        Ok((job, outcome))
    }

    /// The raw stream so far. None where it is not kept.
    ///
    /// # Errors
    /// When the id is unknown or has expired, or the file cannot be read.
    pub async fn stream_capture(&self, id: &JobId) -> Result<Option<Vec<u8>>, JobsError> {
        let id = id.clone();
        self.blocking(move |inner| {
            let Some(place) = inner.job(&id)?.capture else {
                return Ok(None);
            };
            let read = inner.storage()?.captures.read(&id);
            Ok(read.map_err(|source| StoreError::Folder { place, source })?)
        })
        .await
    }

    /// Returns the headers of the reply that a job's capture holds; none before a reply began.
    ///
    /// # Errors
    /// When the id is unknown or has expired.
    pub async fn reply_headers(&self, id: &JobId) -> Result<Vec<Header>, JobsError> {
        let id = id.clone();
        self.blocking(move |inner| {
            inner.job(&id)?;
            let payload = inner.storage()?.rows.payload(&id)?;
            Ok(headers_of(payload.and_then(|kept| kept.head).as_deref()))
        })
        .await
    }

    /// Asks a job's owner to stop, whichever process it is, and waits a moment for its end. A job that has
    /// ended stays as it is.
    ///
    /// # Errors
    /// When the id is unknown or has expired.
    pub async fn cancel(&self, id: &JobId) -> Result<Job, JobsError> {
        let asked = id.clone();
        self.blocking(move |inner| {
            let job = inner.job(&asked)?;
            if !job.state.ended() {
                let storage = inner.storage()?;
                storage.rows.request_cancel(&asked, storage.clock.now())?;
            }
            Ok(())
        })
        .await?;
        self.wait(id, CANCEL_SEEN_WITHIN).await
    }

    /// Removes an ended job, its result and its capture.
    ///
    /// # Errors
    /// When it has not ended, or the id is unknown or has expired.
    pub async fn delete(&self, id: &JobId) -> Result<(), JobsError> {
        let id = id.clone();
        self.blocking(move |inner| {
            let job = inner.job(&id)?;
            if !job.state.ended() {
                let state = job.state;
                return Err(JobsError::NotEnded { id, state });
            }
            inner.remove(&inner.storage()?, &[id])?;
            Ok(())
        })
        .await
    }

    /// Removes what ended longer ago than it is kept. Gives how many jobs went.
    ///
    /// # Errors
    /// When the store or a file cannot be used.
    pub async fn prune(&self) -> Result<usize, JobsError> {
        self.blocking(|inner| {
            let storage = inner.storage()?;
            let removed = storage.prune(inner.config.keep, usize::MAX)?;
            let orphans = storage.remove_orphans(inner.config.keep)?;
            inner.remove_logs(&removed.ids)?;
            inner.remove_logs(&orphans)?;
            Ok(removed.rows)
        })
        .await
    }

    /// What was spent on the last so many days, and what is left of today's budget.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub async fn spend(&self, days: u32) -> Result<SpendReport, JobsError> {
        self.blocking(move |inner| {
            let storage = inner.storage()?;
            recovery::sweep(&storage, &inner.config.answers)?;
            let today = storage.clock.now().day();
            let since = today - i64::from(days.max(1)) + 1;
            let rows = storage.rows.spend(since)?;
            Ok(SpendReport::new(&rows, today, inner.config.budget))
        })
        .await
    }

    /// Returns the store of HTTP sessions, which is the job store.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub async fn session_store(&self) -> Result<Arc<dyn SessionStore>, JobsError> {
        let storage = self.storage().await?;
        Ok(storage.rows)
    }

    /// Tells every job that runs in this process to stop: each ends as `interrupted`, with what had come.
    pub fn stop(&self) {
        self.inner.stopping.cancel();
    }

    async fn storage(&self) -> Result<Storage, JobsError> {
        self.blocking(Inner::storage).await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Inner) -> Result<T, JobsError> + Send + 'static,
    ) -> Result<T, JobsError> {
        self.inner.blocking(call).await
    }
}
