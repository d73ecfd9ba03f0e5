//! The desk: where calls are handed in, asked about, stopped and picked up.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::clock::Clock;
use super::error::JobsError;
use super::lease::Lease;
use super::model::{Job, JobId, Micros, State};
use super::opened::Opened;
use super::recovery;
use super::runner::{Ended, Runner, Update};
use super::store::{Filter, Inserted, Lookup, NewJob, Rate, Rendered};
use super::work::{Simulate, Work};
use super::worker::{self, WorkerCommand};
use crate::engine::Engine;
use crate::engine::answers::{Mode, Question};
use crate::policy::budget::SpendReport;
use crate::upstream::{Client, UpstreamError};

/// How long a detached worker may take to own its row: it starts a process and opens the store.
const WORKER_STARTS_WITHIN: Duration = Duration::from_secs(20);
/// How long a cancellation waits to see the end. It should come within a second.
const CANCEL_SEEN_WITHIN: Duration = Duration::from_secs(5);
/// A waiting reader looks this often whether the owner still lives: its death changes nothing in the store.
const OWNER_LOOKED_AT: Duration = Duration::from_secs(1);

/// Makes the upstream client, once it is needed.
pub type MakeClient = Box<dyn Fn() -> Result<Client, UpstreamError> + Send + Sync>;

/// What a [`Desk`] is made from. Nothing is opened or connected until it is needed.
pub struct DeskConfig {
    /// The state folder.
    pub state_dir: PathBuf,
    /// How long a job is kept after its end.
    pub keep: Duration,
    /// What may be spent on a UTC day.
    pub budget: Option<Micros>,
    /// How often requests may be sent, over all processes.
    pub rate: Rate,
    /// The sandbox.
    pub engine: Engine,
    /// Makes the client.
    pub client: MakeClient,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// How detached workers are started.
    pub worker: WorkerCommand,
}

impl fmt::Debug for DeskConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeskConfig")
            .field("state_dir", &self.state_dir)
            .field("keep", &self.keep)
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}

/// A call to be made.
#[derive(Clone, Debug)]
pub struct Call {
    /// The tool that asks, as the ledger names it.
    pub tool: String,
    /// How the reply is read.
    pub mode: Mode,
    /// What is asked.
    pub question: Question,
    /// What it could cost; reserved until it ends.
    pub estimate: Micros,
    /// How long it may take, from when it is sent to its last byte.
    pub deadline: Duration,
    /// How long the upstream may be silent; by the mode where absent.
    pub idle: Option<Duration>,
    /// What its caller allows it to cost.
    pub max_usd: Option<f64>,
    /// Whether its raw stream is kept.
    pub capture: bool,
    /// The simulator that a detached worker is to run for itself.
    pub simulate: Option<Simulate>,
}

/// A call that was taken in.
#[derive(Clone, Debug)]
pub struct Submitted {
    /// Its job.
    pub job: Job,
    /// Whether it is an older job that asks for the very same: it is not this caller's to run.
    pub already_running: bool,
    /// What is not as it should be, though the call can be made.
    pub warnings: Vec<String>,
}

/// Where calls are handed in. A clone is cheap and is the same desk.
#[derive(Clone, Debug)]
pub struct Desk {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    config: DeskConfig,
    opened: Mutex<Option<Opened>>,
    /// Stands in where the folder cannot be used: single answers need none.
    fallback: OnceLock<Opened>,
    client: OnceLock<Client>,
    held: Mutex<HashMap<JobId, Held>>,
    stopping: CancellationToken,
}

/// A job that this process owns and does not run yet.
#[derive(Debug)]
struct Held {
    lease: Option<Lease>,
    opened: Opened,
}

impl Desk {
    /// A desk. Opens nothing.
    #[must_use]
    pub fn new(config: DeskConfig) -> Self {
        Self {
            inner: Arc::new(Inner {
                config,
                opened: Mutex::default(),
                fallback: OnceLock::new(),
                client: OnceLock::new(),
                held: Mutex::default(),
                stopping: CancellationToken::new(),
            }),
        }
    }

    /// Checks a call, reserves its cost and stores it as `queued`. This process owns it then: hand it to
    /// [`Desk::run`].
    ///
    /// # Errors
    /// Every bad field; a budget that it could pass; a store that cannot be used, except that a single answer
    /// without a budget is taken in all the same, with a warning.
    pub async fn submit(&self, call: Call) -> Result<Submitted, JobsError> {
        self.inner.config.engine.ready().await?;
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
            opened: held.opened,
            engine: self.inner.config.engine.clone(),
            rate: self.inner.config.rate,
            cancel,
            stopping: self.inner.stopping.clone(),
            updates,
        };
        let ended = runner.run(|| self.inner.client()).await?;
        if let Some(lease) = held.lease
            && ended.stored
        {
            lease.retire();
        }
        Ok(ended)
    }

    /// Hands a call to a worker process that outlives this one, and gives its job once the worker owns it.
    ///
    /// # Errors
    /// As [`Desk::submit`], and when the worker does not start.
    pub async fn detach(&self, call: Call) -> Result<Submitted, JobsError> {
        let mut submitted = self.submit(call).await?;
        if submitted.already_running {
            return Ok(submitted);
        }
        let id = submitted.job.id.clone();
        let opened = self.opened().await?;
        let mut changes = listen(&opened, &id).await?;
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

    /// As [`Desk::job`], for an id that a person or a program typed.
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
            let opened = inner.opened()?;
            recovery::sweep(&opened, &inner.config.engine)?;
            Ok(opened.store.list(filter, limit)?)
        })
        .await
    }

    /// Waits for a job's end, no longer than so long, and gives the job as it is then.
    ///
    /// # Errors
    /// When the id is unknown or has expired.
    pub async fn wait(&self, id: &JobId, longest: Duration) -> Result<Job, JobsError> {
        let until = Instant::now() + longest;
        let mut watch = self.watch(id).await?;
        loop {
            let job = watch.job.clone();
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
        let opened = self.opened().await?;
        let changes = listen(&opened, id).await?;
        let job = self.job(id).await?;
        Ok(Watch {
            desk: self.clone(),
            changes,
            job,
        })
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
            Ok(inner.opened()?.store.outcome(&id)?)
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
            let Some(path) = inner.job(&id)?.capture else {
                return Ok(None);
            };
            match std::fs::read(&path) {
                Ok(bytes) => Ok(Some(bytes)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                Err(source) => Err(JobsError::Folder { path, source }),
            }
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
                let opened = inner.opened()?;
                opened.store.request_cancel(&asked, opened.clock.now())?;
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
            inner.opened()?.remove(&[id])?;
            Ok(())
        })
        .await
    }

    /// Removes what ended longer ago than it is kept. Gives how many jobs went.
    ///
    /// # Errors
    /// When the store or a file cannot be used.
    pub async fn prune(&self) -> Result<usize, JobsError> {
        self.blocking(|inner| inner.opened()?.prune(inner.config.keep))
            .await
    }

    /// What was spent on the last so many days, and what is left of today's budget.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub async fn spend(&self, days: u32) -> Result<SpendReport, JobsError> {
        self.blocking(move |inner| {
            let opened = inner.opened()?;
            recovery::sweep(&opened, &inner.config.engine)?;
            let today = opened.clock.now().day();
            let since = today - i64::from(days.max(1)) + 1;
            let rows = opened.store.spend(since)?;
            Ok(SpendReport::new(&rows, today, inner.config.budget))
        })
        .await
    }

    /// Tells every job that runs in this process to stop: each ends as `interrupted`, with what had come.
    pub fn stop(&self) {
        self.inner.stopping.cancel();
    }

    async fn opened(&self) -> Result<Opened, JobsError> {
        self.blocking(Inner::opened).await
    }

    /// Runs a call that may block on a thread where it may.
    async fn blocking<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Inner) -> Result<T, JobsError> + Send + 'static,
    ) -> Result<T, JobsError> {
        let inner = Arc::clone(&self.inner);
        tokio::task::spawn_blocking(move || call(&inner))
            .await
            .map_err(|error| JobsError::Defect(error.to_string()))?
    }
}

/// What a worker took over.
#[derive(Clone, Debug)]
pub struct Adopted {
    /// The simulator it is to run, if any.
    pub simulate: Option<Simulate>,
    /// How long the call may take.
    pub deadline: Duration,
}

/// A job that is followed.
#[derive(Debug)]
pub struct Watch {
    desk: Desk,
    changes: watch::Receiver<i64>,
    job: Job,
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
    async fn changed_before(&mut self, until: Instant) -> Result<(), JobsError> {
        let look = until.min(Instant::now() + OWNER_LOOKED_AT);
        let _ = timeout_at(look, self.changes.changed()).await;
        self.job = self.desk.job(&self.job.id).await?;
        Ok(())
    }
}

async fn listen(opened: &Opened, id: &JobId) -> Result<watch::Receiver<i64>, JobsError> {
    let (watcher, id) = (opened.watcher.clone(), id.clone());
    tokio::task::spawn_blocking(move || watcher.listen(&id))
        .await
        .map_err(|error| JobsError::Defect(error.to_string()))?
        .map_err(JobsError::Store)
}

impl Inner {
    fn held(&self) -> MutexGuard<'_, HashMap<JobId, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store, opened by the first who needs it. A failure is not kept: the next call tries again.
    fn opened(&self) -> Result<Opened, JobsError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = opened.as_ref() {
            return Ok(opened.clone());
        }
        let fresh = Opened::folder(&self.config.state_dir, Arc::clone(&self.config.clock))?;
        recovery::sweep(&fresh, &self.config.engine)?;
        if let Err(error) = fresh.prune(self.config.keep) {
            tracing::warn!(%error, "expired jobs cannot be removed");
        }
        *opened = Some(fresh.clone());
        Ok(fresh)
    }

    fn client(&self) -> Result<Client, JobsError> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let made = (self.config.client)()?;
        Ok(self.client.get_or_init(|| made).clone())
    }

    fn submit(&self, call: &Call) -> Result<Submitted, JobsError> {
        let work = self.checked(call)?;
        match self
            .opened()
            .and_then(|opened| self.insert(call, &work, &opened))
        {
            Err(error) if self.can_do_without(call, &error) => {
                let mut submitted = self.insert(call, &work, &self.fallback()?)?;
                submitted.warnings.push(format!(
                    "{error}. This answer is given all the same, but it is not stored and not in `spend`"
                ));
                Ok(submitted)
            }
            other => other,
        }
    }

    /// Validates through the component, and against what the caller allows.
    fn checked(&self, call: &Call) -> Result<Work, JobsError> {
        let request = self
            .config
            .engine
            .build(&call.question)?
            .map_err(JobsError::Invalid)?;
        if let Some(max) = call.max_usd {
            let max = Micros::from_usd(max);
            if call.estimate > max {
                let estimate = call.estimate;
                return Err(JobsError::OverMax { estimate, max });
            }
        }
        Work::new(
            call.mode,
            request,
            call.deadline,
            call.idle,
            call.simulate.clone(),
        )
    }

    /// Whether a call may be made though the store cannot be used.
    fn can_do_without(&self, call: &Call, error: &JobsError) -> bool {
        matches!(error, JobsError::Store(_) | JobsError::Folder { .. })
            && call.mode == Mode::Answer
            && self.config.budget.is_none()
    }

    fn fallback(&self) -> Result<Opened, JobsError> {
        if let Some(opened) = self.fallback.get() {
            return Ok(opened.clone());
        }
        let made = Opened::memory(Arc::clone(&self.config.clock))?;
        Ok(self.fallback.get_or_init(|| made).clone())
    }

    fn insert(&self, call: &Call, work: &Work, opened: &Opened) -> Result<Submitted, JobsError> {
        if self.config.budget.is_some() {
            // Reservations of the dead would count against the budget.
            recovery::sweep(opened, &self.config.engine)?;
        } else if call.mode == Mode::Research {
            // A dead job must not be taken for a running one that asks the same.
            recovery::sweep(opened, &self.config.engine)?;
        }
        let id = JobId::new();
        let lease = opened.home.as_ref().map(|home| home.lock(&id));
        let lease = lease.map(|path| take(path, &id)).transpose()?;
        let job = NewJob {
            id: id.clone(),
            tool: call.tool.clone(),
            mode: call.mode.name().to_owned(),
            query: call.question.query.clone(),
            fingerprint: work.fingerprint(),
            dedupe: call.mode == Mode::Research,
            listed: call.mode == Mode::Research,
            payload: work.to_text()?,
            capture: opened
                .home
                .as_ref()
                .filter(|_| call.capture)
                .map(|home| home.capture(&id)),
            reserve: call.estimate,
        };
        let inserted = opened
            .store
            .insert(&job, self.config.budget, opened.clock.now());
        let (job, already_running) = match inserted {
            Ok(Inserted::New(job)) => (job, false),
            Ok(Inserted::Running(job)) => (job, true),
            Ok(Inserted::OverBudget { spent, reserved }) => {
                retire(lease);
                return Err(JobsError::OverBudget {
                    estimate: call.estimate,
                    budget: self.config.budget.unwrap_or_default(),
                    spent,
                    reserved,
                });
            }
            Err(error) => {
                retire(lease);
                return Err(error.into());
            }
        };
        if already_running {
            retire(lease);
        } else {
            let opened = opened.clone();
            self.held().insert(id, Held { lease, opened });
        }
        Ok(Submitted {
            job,
            already_running,
            warnings: Vec::new(),
        })
    }

    fn job(&self, id: &JobId) -> Result<Job, JobsError> {
        let opened = self.opened()?;
        let job = found(&opened, id)?;
        if job.state.ended() {
            return Ok(job);
        }
        recovery::recover(&opened, &self.config.engine, id)?;
        found(&opened, id)
    }

    fn start_worker(&self, id: &JobId) -> Result<worker::Started, JobsError> {
        let held = self
            .held()
            .remove(id)
            .ok_or_else(|| JobsError::NotOwner(id.clone()))?;
        let (Some(lease), Some(home)) = (&held.lease, &held.opened.home) else {
            return Err(JobsError::NotOwner(id.clone()));
        };
        // The worker shares the lease from its first instruction; this process lets go of it at the end of
        // this function, so that the lease is the worker's alone.
        worker::start(&self.config.worker, id, lease, home)
    }

    fn adopt(&self, id: &JobId) -> Result<Adopted, JobsError> {
        let opened = self.opened()?;
        let Some(home) = &opened.home else {
            return Err(JobsError::NotOwner(id.clone()));
        };
        let path = home.lock(id);
        let failed = |source| JobsError::Folder {
            path: path.clone(),
            source,
        };
        let lease = match Lease::inherited(&path).map_err(failed)? {
            Some(lease) => lease,
            None => take(path.clone(), id)?,
        };
        found(&opened, id)?;
        let payload = opened
            .store
            .payload(id)?
            .ok_or_else(|| JobsError::Unknown(id.to_string()))?;
        let work = Work::parse(&payload.payload)?;
        let lease = Some(lease);
        self.held().insert(id.clone(), Held { lease, opened });
        Ok(Adopted {
            simulate: work.simulate().cloned(),
            deadline: work.deadline(),
        })
    }
}

fn retire(lease: Option<Lease>) {
    if let Some(lease) = lease {
        lease.retire();
    }
}

fn take(path: PathBuf, id: &JobId) -> Result<Lease, JobsError> {
    match Lease::take(&path) {
        Ok(Some(lease)) => Ok(lease),
        Ok(None) => Err(JobsError::NotOwner(id.clone())),
        Err(source) => Err(JobsError::Folder { path, source }),
    }
}

fn found(opened: &Opened, id: &JobId) -> Result<Job, JobsError> {
    match opened.store.lookup(id)? {
        Lookup::Found(job) => Ok(*job),
        Lookup::Expired(at) => Err(JobsError::Expired { id: id.clone(), at }),
        Lookup::Unknown => Err(JobsError::Unknown(id.to_string())),
    }
}
