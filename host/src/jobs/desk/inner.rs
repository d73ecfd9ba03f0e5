//! What the desk does on a thread that may block.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::call::{Adopted, Call, Submitted};
use super::config::DeskConfig;
use crate::answers::Mode;
use crate::jobs::clock::Millis;
use crate::jobs::error::JobsError;
use crate::jobs::lease::Lease;
use crate::jobs::model::{Job, JobId, Micros};
use crate::jobs::opened::Opened;
use crate::jobs::recovery;
use crate::jobs::store::{Inserted, Lookup, NewJob, StoreError};
use crate::jobs::work::Work;
use crate::jobs::worker;
use crate::upstream::Client;

/// Expired jobs are looked for this often.
const PRUNED_EVERY: Duration = Duration::from_secs(300);
/// So many batches of them are removed then, so that nobody waits long for something else.
const PRUNED_IN_PASSING: usize = 2;

/// What all clones of a desk share.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) config: DeskConfig,
    opened: Mutex<Option<Opened>>,
    pruned: Mutex<Option<Instant>>,
    /// Stands in where the folder cannot be used: single answers need none.
    fallback: OnceLock<Opened>,
    client: OnceLock<Client>,
    held: Mutex<HashMap<JobId, Held>>,
    pub(super) stopping: CancellationToken,
}

/// A job that this process owns and does not run yet.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) lease: Option<Lease>,
    pub(super) opened: Opened,
}

impl Inner {
    pub(super) fn new(config: DeskConfig) -> Self {
        Self {
            config,
            opened: Mutex::default(),
            pruned: Mutex::default(),
            fallback: OnceLock::new(),
            client: OnceLock::new(),
            held: Mutex::default(),
            stopping: CancellationToken::new(),
        }
    }

    /// Runs a function that may block on a thread for blocking work.
    pub(super) async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        call: impl FnOnce(&Self) -> Result<T, JobsError> + Send + 'static,
    ) -> Result<T, JobsError> {
        let inner = Arc::clone(self);
        tokio::task::spawn_blocking(move || call(&inner))
            .await
            .map_err(|error| JobsError::Defect(error.to_string()))?
    }

    pub(super) fn held(&self) -> MutexGuard<'_, HashMap<JobId, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store, opened by the first who needs it. A failure is not kept: the next call tries again.
    pub(super) fn opened(&self) -> Result<Opened, JobsError> {
        let opened = self.open()?;
        self.prune_sometimes(&opened);
        Ok(opened)
    }

    fn open(&self) -> Result<Opened, JobsError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = opened.as_ref() {
            return Ok(opened.clone());
        }
        let fresh = Opened::folder(&self.config.state_dir, Arc::clone(&self.config.clock))?;
        recovery::sweep(&fresh, &self.config.answers)?;
        *opened = Some(fresh.clone());
        Ok(fresh)
    }

    /// Removes some of what has expired, at the start and every few minutes: a process that stays would
    /// otherwise keep for ever what is to be kept for a day.
    fn prune_sometimes(&self, opened: &Opened) {
        {
            let mut pruned = self.pruned.lock().unwrap_or_else(PoisonError::into_inner);
            if pruned.is_some_and(|at| at.elapsed() < PRUNED_EVERY) {
                return;
            }
            *pruned = Some(Instant::now());
        }
        if let Err(error) = opened.prune(self.config.keep, PRUNED_IN_PASSING) {
            tracing::warn!(%error, "expired jobs cannot be removed");
        }
    }

    pub(super) fn client(&self) -> Result<Client, JobsError> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let made = (self.config.client)()?;
        Ok(self.client.get_or_init(|| made).clone())
    }

    pub(super) fn submit(&self, call: &Call) -> Result<Submitted, JobsError> {
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
            .answers
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
        let unusable = matches!(error, JobsError::Store(_) | JobsError::Folder { .. });
        // There is another ledger now, in which this call should be.
        let moved = matches!(error, JobsError::Store(StoreError::Moved { .. }));
        unusable && !moved && call.mode == Mode::Answer && self.config.budget.is_none()
    }

    fn fallback(&self) -> Result<Opened, JobsError> {
        if let Some(opened) = self.fallback.get() {
            return Ok(opened.clone());
        }
        let made = Opened::memory(Arc::clone(&self.config.clock))?;
        Ok(self.fallback.get_or_init(|| made).clone())
    }

    fn insert(&self, call: &Call, work: &Work, opened: &Opened) -> Result<Submitted, JobsError> {
        // Before anything is made in the folder that is there now.
        opened.store.in_place()?;
        // Reservations of the dead would count against the budget, and a dead job must not be taken for a
        // running one that asks the same.
        if self.config.budget.is_some() || call.mode == Mode::Research {
            recovery::sweep(opened, &self.config.answers)?;
        }
        let id = JobId::new();
        let lease = opened.home.as_ref().map(|home| home.lock(&id));
        let lease = lease.map(|path| take(path, &id)).transpose()?;
        let job = NewJob {
            id: id.clone(),
            tool: call.tool.clone(),
            mode: call.mode.name().to_owned(),
            query: call.question.query.clone(),
            fingerprint: self.fingerprint(call, work, opened, &id)?,
            dedupe: call.mode == Mode::Research,
            listed: call.mode == Mode::Research,
            payload: work.to_text()?,
            capture: opened
                .home
                .as_ref()
                .filter(|_| call.capture)
                .map(|home| home.capture(&id)),
            reserve: call.estimate,
            simulated: call.simulate.is_some(),
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

    /// Equal for calls that would be answered and billed alike. Only research is looked for by it.
    fn fingerprint(
        &self,
        call: &Call,
        work: &Work,
        opened: &Opened,
        id: &JobId,
    ) -> Result<String, JobsError> {
        let Some(home) = opened.home.as_ref().filter(|_| call.mode == Mode::Research) else {
            return Ok(id.to_string());
        };
        let secret = home.secret().map_err(|source| JobsError::Folder {
            path: home.root().to_owned(),
            source,
        })?;
        let account = match call.simulate {
            Some(_) => None,
            None => Some(self.client()?),
        };
        work.fingerprint(&secret, account.as_ref())
    }

    pub(super) fn job(&self, id: &JobId) -> Result<Job, JobsError> {
        let opened = self.opened()?;
        let job = found(&opened, id)?;
        if let Some(ended) = job.ended {
            return self.unless_expired(&opened, job, ended);
        }
        recovery::recover(&opened, &self.config.answers, id)?;
        found(&opened, id)
    }

    /// What is kept for a day is gone after it, whether or not somebody came to remove it.
    fn unless_expired(&self, opened: &Opened, job: Job, ended: Millis) -> Result<Job, JobsError> {
        let keep = i64::try_from(self.config.keep.as_millis()).unwrap_or(i64::MAX);
        if ended.plus(keep) >= opened.clock.now() {
            return Ok(job);
        }
        opened.remove(std::slice::from_ref(&job.id))?;
        found(opened, &job.id)
    }

    pub(super) fn start_worker(&self, id: &JobId) -> Result<worker::Started, JobsError> {
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

    pub(super) fn adopt(&self, id: &JobId) -> Result<Adopted, JobsError> {
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
