//! The service: submits calls, runs them, and reads, cancels and removes their jobs.

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
use crate::answers::{Answers, Header};
use crate::jobs::ledger::budget::SpendReport;

pub use self::call::{Adopted, Call, Submitted};
pub use self::config::{JobsConfig, MakeClient};
pub use self::job_watch::Watch;

use self::inner::Inner;
use self::job_watch::{OWNER_CHECK_INTERVAL, listen};

/// How long a detached worker may take to start: it starts a process and opens the storage.
const WORKER_START_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a cancellation waits for the end of the job, which should take less than a second.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);
/// Stands for the newest research where an id is expected.
const LATEST: &str = "latest";
/// The fewest characters of the beginning of an id that are looked up: fewer are a typing error.
const MIN_PREFIX: usize = 4;
/// The longest wait. A longer duration could overflow the clock.
const MAX_WAIT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The service. Clones are cheap and share their state.
#[derive(Clone, Debug)]
pub struct Jobs {
    inner: Arc<Inner>,
}

impl Jobs {
    /// Creates the service. Nothing is opened.
    #[must_use]
    pub fn new(config: JobsConfig) -> Self {
        Self {
            inner: Arc::new(Inner::new(config)),
        }
    }

    /// Checks a call, reserves its cost and stores it as a `queued` job that this process owns. Run it with
    /// [`Jobs::run`].
    ///
    /// # Errors
    /// [`JobsError::Invalid`] lists all invalid fields; [`JobsError::OverBudget`] and [`JobsError::OverMax`] if the
    /// call could cost too much; an error of the storage, except that a single answer without a budget is accepted with
    /// a warning.
    pub async fn submit(&self, call: Call) -> Result<Submitted, JobsError> {
        self.inner.config.answers.ready().await?;
        self.blocking(move |inner| inner.submit(&call)).await
    }

    /// Runs a job that this process owns until its end, and sends updates while it runs. A closed receiver of
    /// `updates` does not stop the job.
    ///
    /// # Errors
    /// If this process does not own the job, or the storage cannot be used. Errors of the upstream are part of the
    /// returned end.
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

    /// Starts a worker process for a call. The worker survives this process. Returns the job when the worker has taken
    /// it over.
    ///
    /// # Errors
    /// The errors of [`Jobs::submit`], and [`JobsError::Worker`] if the worker does not start.
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
        let until = Instant::now() + WORKER_START_TIMEOUT;
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
                // The worker must not start later without a process that waits for it.
                self.cancel(&id).await?;
                worker.kill();
                worker.reap();
                return Err(worker.did_not_start("it did not begin in time"));
            }
            let next_check = until.min(Instant::now() + OWNER_CHECK_INTERVAL);
            let _ = timeout_at(next_check, changes.changed()).await;
        }
    }

    /// Takes over a job that another process submitted. The lease is inherited as standard input, or must be free.
    /// Returns the simulator to start and the time limit of the call.
    ///
    /// # Errors
    /// If another process owns the job, or the id is unknown.
    pub async fn adopt(&self, id: &JobId) -> Result<Adopted, JobsError> {
        let id = id.clone();
        self.blocking(move |inner| inner.adopt(&id)).await
    }

    /// Returns a job. If its owner died, the job is settled first.
    ///
    /// # Errors
    /// If the id is unknown or expired.
    pub async fn job(&self, id: &JobId) -> Result<Job, JobsError> {
        let id = id.clone();
        self.blocking(move |inner| inner.job(&id)).await
    }

    /// Parses the id of a job.
    ///
    /// # Errors
    /// [`JobsError::Unknown`] if the text is not an id.
    pub fn parse_id(text: &str) -> Result<JobId, JobsError> {
        text.parse()
            .map_err(|_| JobsError::Unknown(text.chars().take(64).collect()))
    }

    /// Finds a job by what a person typed: its id, a unique beginning of it, or `latest` for the newest research.
    ///
    /// # Errors
    /// When no job or more than one is meant.
    pub async fn find(&self, text: &str) -> Result<JobId, JobsError> {
        let text = text.trim().to_ascii_lowercase();
        if let Ok(id) = text.parse() {
            return Ok(id);
        }
        self.blocking(move |inner| {
            let rows = inner.storage()?.rows;
            let mut found = if text == LATEST {
                let newest = rows.list(Filter::default(), 1)?;
                newest.into_iter().map(|job| job.id).collect()
            } else if is_beginning(&text) {
                rows.ids_beginning_with(&text, 2)?
            } else {
                Vec::new()
            };
            match (found.pop(), found.is_empty()) {
                (Some(id), true) => Ok(id),
                (Some(_), false) => Err(JobsError::Ambiguous(text)),
                (None, _) => Err(JobsError::Unknown(text.chars().take(64).collect())),
            }
        })
        .await
    }

    /// Returns at most `limit` jobs, newest first. Jobs whose owners died are settled first.
    ///
    /// # Errors
    /// If the storage cannot be used.
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

    /// Waits for the end of a job, at most for `longest`, and returns the job.
    ///
    /// # Errors
    /// If the id is unknown or expired.
    pub async fn wait(&self, id: &JobId, longest: Duration) -> Result<Job, JobsError> {
        let until = Instant::now() + longest.min(MAX_WAIT);
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
    /// If the id is unknown or expired.
    pub async fn watch(&self, id: &JobId) -> Result<Watch, JobsError> {
        Watch::open(Arc::clone(&self.inner), id).await
    }

    /// Returns the outcome of an ended job as JSON, Markdown and plain text. Returns `None` if the job has not ended or
    /// nothing was sent.
    ///
    /// # Errors
    /// If the id is unknown or expired.
    pub async fn outcome(&self, id: &JobId) -> Result<Option<Rendered>, JobsError> {
        let id = id.clone();
        self.blocking(move |inner| {
            inner.job(&id)?;
            Ok(inner.storage()?.rows.outcome(&id)?)
        })
        .await
    }

    /// Waits for the end of a job, at most for `longest`, and returns the job and, if it ended, its outcome.
    ///
    /// # Errors
    /// If the id is unknown or expired.
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

    /// Returns the captured raw stream so far. Returns `None` if the job has no capture.
    ///
    /// # Errors
    /// If the id is unknown or expired, or the capture cannot be read.
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

    /// Requests the cancellation of a job, whichever process owns it, and waits a few seconds for its end. A job that
    /// has ended does not change.
    ///
    /// # Errors
    /// If the id is unknown or expired.
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
        self.wait(id, CANCEL_TIMEOUT).await
    }

    /// Removes an ended job, its outcome and its capture.
    ///
    /// # Errors
    /// If the job has not ended, or the id is unknown or expired.
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

    /// Removes all expired jobs. Returns how many jobs were removed.
    ///
    /// # Errors
    /// If the store or a file cannot be used.
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

    /// Returns the amounts spent on the last `days` days and the rest of today's budget.
    ///
    /// # Errors
    /// If the storage cannot be used.
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

    /// Returns the store of HTTP sessions. It is the same store as that of the jobs.
    ///
    /// # Errors
    /// If the storage cannot be used.
    pub async fn session_store(&self) -> Result<Arc<dyn SessionStore>, JobsError> {
        let storage = self.storage().await?;
        Ok(storage.rows)
    }

    /// Returns the component that reads replies.
    #[must_use]
    pub fn answers(&self) -> &Answers {
        &self.inner.config.answers
    }

    /// Returns the secret of the storage, which all processes that use it share.
    ///
    /// # Errors
    /// When the storage cannot be used.
    pub async fn secret(&self) -> Result<Vec<u8>, JobsError> {
        self.blocking(|inner| Ok(inner.storage()?.rows.secret()?))
            .await
    }

    /// Stops all jobs that run in this process. Each ends as `interrupted` with the part of the reply that was read.
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

/// Returns whether a text may be the beginning of an id.
fn is_beginning(text: &str) -> bool {
    text.len() >= MIN_PREFIX
        && text
            .chars()
            .all(|letter| letter.is_ascii_hexdigit() || letter == '-')
}
