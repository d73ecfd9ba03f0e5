//! What the jobs does on a thread that may block.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::call::{Adopted, Call, Submitted};
use super::config::JobsConfig;
use crate::answers::Mode;
use crate::jobs::clock::Millis;
use crate::jobs::error::JobsError;
use crate::jobs::lease::Lease;
use crate::jobs::model::{Job, JobId, Micros};
use crate::jobs::recovery;
use crate::jobs::storage::Storage;
use crate::jobs::store::{Inserted, Lookup, NewJob, StoreError};
use crate::jobs::stored_request::StoredRequest;
use crate::jobs::worker;
use crate::upstream::Client;

/// Expired jobs are looked for this often.
const PRUNED_EVERY: Duration = Duration::from_secs(300);
/// So many batches of them are removed then, so that nobody waits long for something else.
const PRUNED_IN_PASSING: usize = 2;

/// What all clones of a jobs share.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) config: JobsConfig,
    storage: Mutex<Option<Storage>>,
    pruned: Mutex<Option<Instant>>,
    /// Stands in where the folder cannot be used: single answers need none.
    fallback: OnceLock<Storage>,
    client: OnceLock<Client>,
    held: Mutex<HashMap<JobId, Held>>,
    pub(super) stopping: CancellationToken,
}

/// A job that this process owns and does not run yet.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) lease: Option<Lease>,
    pub(super) storage: Storage,
}

impl Inner {
    pub(super) fn new(config: JobsConfig) -> Self {
        Self {
            config,
            storage: Mutex::default(),
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

    /// The store, storage by the first who needs it. A failure is not kept: the next call tries again.
    pub(super) fn storage(&self) -> Result<Storage, JobsError> {
        let storage = self.open()?;
        self.prune_sometimes(&storage);
        Ok(storage)
    }

    fn open(&self) -> Result<Storage, JobsError> {
        let mut storage = self.storage.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(storage) = storage.as_ref() {
            return Ok(storage.clone());
        }
        let fresh = Storage::folder(&self.config.state_dir, Arc::clone(&self.config.clock))?;
        recovery::sweep(&fresh, &self.config.answers)?;
        *storage = Some(fresh.clone());
        Ok(fresh)
    }

    /// Removes some of what has expired, at the start and every few minutes: a process that stays would
    /// otherwise keep for ever what is to be kept for a day.
    fn prune_sometimes(&self, storage: &Storage) {
        {
            let mut pruned = self.pruned.lock().unwrap_or_else(PoisonError::into_inner);
            if pruned.is_some_and(|at| at.elapsed() < PRUNED_EVERY) {
                return;
            }
            *pruned = Some(Instant::now());
        }
        if let Err(error) = storage.prune(self.config.keep, PRUNED_IN_PASSING) {
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
            .storage()
            .and_then(|storage| self.insert(call, &work, &storage))
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
    fn checked(&self, call: &Call) -> Result<StoredRequest, JobsError> {
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
        StoredRequest::new(
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

    fn fallback(&self) -> Result<Storage, JobsError> {
        if let Some(storage) = self.fallback.get() {
            return Ok(storage.clone());
        }
        let made = Storage::memory(Arc::clone(&self.config.clock))?;
        Ok(self.fallback.get_or_init(|| made).clone())
    }

    fn insert(
        &self,
        call: &Call,
        work: &StoredRequest,
        storage: &Storage,
    ) -> Result<Submitted, JobsError> {
        // Before anything is made in the folder that is there now.
        storage.store.in_place()?;
        // Reservations of the dead would count against the budget, and a dead job must not be taken for a
        // running one that asks the same.
        if self.config.budget.is_some() || call.mode == Mode::Research {
            recovery::sweep(storage, &self.config.answers)?;
        }
        let id = JobId::new();
        let lease = storage.dir.as_ref().map(|dir| dir.lock(&id));
        let lease = lease.map(|path| take(path, &id)).transpose()?;
        let job = NewJob {
            id: id.clone(),
            tool: call.tool.clone(),
            mode: call.mode.name().to_owned(),
            query: call.question.query.clone(),
            fingerprint: self.fingerprint(call, work, storage, &id)?,
            dedupe: call.mode == Mode::Research,
            listed: call.mode == Mode::Research,
            payload: work.to_text()?,
            capture: storage
                .dir
                .as_ref()
                .filter(|_| call.capture)
                .map(|dir| dir.capture(&id)),
            reserve: call.estimate,
            simulated: call.simulate.is_some(),
        };
        let inserted = storage
            .store
            .insert(&job, self.config.budget, storage.clock.now());
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
            let storage = storage.clone();
            self.held().insert(id, Held { lease, storage });
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
        work: &StoredRequest,
        storage: &Storage,
        id: &JobId,
    ) -> Result<String, JobsError> {
        let Some(dir) = storage.dir.as_ref().filter(|_| call.mode == Mode::Research) else {
            return Ok(id.to_string());
        };
        let secret = dir.secret().map_err(|source| JobsError::Folder {
            path: dir.root().to_owned(),
            source,
        })?;
        let account = match call.simulate {
            Some(_) => None,
            None => Some(self.client()?),
        };
        work.fingerprint(&secret, account.as_ref())
    }

    pub(super) fn job(&self, id: &JobId) -> Result<Job, JobsError> {
        let storage = self.storage()?;
        let job = found(&storage, id)?;
        if let Some(ended) = job.ended {
            return self.unless_expired(&storage, job, ended);
        }
        recovery::recover(&storage, &self.config.answers, id)?;
        found(&storage, id)
    }

    /// What is kept for a day is gone after it, whether or not somebody came to remove it.
    fn unless_expired(&self, storage: &Storage, job: Job, ended: Millis) -> Result<Job, JobsError> {
        let keep = i64::try_from(self.config.keep.as_millis()).unwrap_or(i64::MAX);
        if ended.plus(keep) >= storage.clock.now() {
            return Ok(job);
        }
        storage.remove(std::slice::from_ref(&job.id))?;
        found(storage, &job.id)
    }

    pub(super) fn start_worker(&self, id: &JobId) -> Result<worker::Started, JobsError> {
        let held = self
            .held()
            .remove(id)
            .ok_or_else(|| JobsError::NotOwner(id.clone()))?;
        let (Some(lease), Some(dir)) = (&held.lease, &held.storage.dir) else {
            return Err(JobsError::NotOwner(id.clone()));
        };
        // The worker shares the lease from its first instruction; this process lets go of it at the end of
        // this function, so that the lease is the worker's alone.
        worker::start(&self.config.worker, id, lease, dir)
    }

    pub(super) fn adopt(&self, id: &JobId) -> Result<Adopted, JobsError> {
        let storage = self.storage()?;
        let Some(dir) = &storage.dir else {
            return Err(JobsError::NotOwner(id.clone()));
        };
        let path = dir.lock(id);
        let failed = |source| JobsError::Folder {
            path: path.clone(),
            source,
        };
        let lease = match Lease::inherited(&path).map_err(failed)? {
            Some(lease) => lease,
            None => take(path.clone(), id)?,
        };
        found(&storage, id)?;
        let payload = storage
            .store
            .payload(id)?
            .ok_or_else(|| JobsError::Unknown(id.to_string()))?;
        let work = StoredRequest::parse(&payload.payload)?;
        let lease = Some(lease);
        self.held().insert(id.clone(), Held { lease, storage });
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

fn found(storage: &Storage, id: &JobId) -> Result<Job, JobsError> {
    match storage.store.lookup(id)? {
        Lookup::Found(job) => Ok(*job),
        Lookup::Expired(at) => Err(JobsError::Expired { id: id.clone(), at }),
        Lookup::Unknown => Err(JobsError::Unknown(id.to_string())),
    }
}
