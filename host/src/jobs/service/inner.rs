//! The operations of the service that may block.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::call::{Adopted, Call, Submitted};
use super::config::JobsConfig;
use crate::answers::Mode;
use crate::jobs::blocking::blocking;
use crate::jobs::clock::Millis;
use crate::jobs::error::JobsError;
use crate::jobs::ledger::reservation::{Reserved, reserve, take};
use crate::jobs::model::{Job, JobId, Micros};
use crate::jobs::recovery;
use crate::jobs::storage::Storage;
use crate::jobs::storage::leases::Lease;
use crate::jobs::storage::rows::{Lookup, NewJob};
use crate::jobs::stored_request::StoredRequest;
use crate::jobs::worker;
use crate::upstream::Client;

/// How often expired jobs are removed.
const PRUNE_INTERVAL: Duration = Duration::from_secs(300);
/// The most batches of expired jobs to remove at once, so that other operations do not wait long.
const PRUNE_BATCHES: usize = 2;

/// The state that all clones of the service share.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) config: JobsConfig,
    storage: Mutex<Option<Storage>>,
    pruned: Mutex<Option<Instant>>,
    /// An in-memory storage for answers that need no storage, used if the storage cannot be opened.
    fallback: OnceLock<Storage>,
    client: OnceLock<Client>,
    held: Mutex<HashMap<JobId, Held>>,
    pub(super) stopping: CancellationToken,
}

/// A job that this process owns and does not run yet.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) lease: Lease,
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

    /// Runs a function on a thread for blocking work.
    pub(super) async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        call: impl FnOnce(&Self) -> Result<T, JobsError> + Send + 'static,
    ) -> Result<T, JobsError> {
        let inner = Arc::clone(self);
        blocking(move || call(&inner)).await
    }

    pub(super) fn held(&self) -> MutexGuard<'_, HashMap<JobId, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the storage and opens it if needed. A failure is not cached: the next call tries again.
    pub(super) fn storage(&self) -> Result<Storage, JobsError> {
        let storage = self.open()?;
        self.prune_if_due(&storage);
        Ok(storage)
    }

    fn open(&self) -> Result<Storage, JobsError> {
        let mut storage = self.storage.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(storage) = storage.as_ref() {
            return Ok(storage.clone());
        }
        let opened = (self.config.storage)(Arc::clone(&self.config.clock))?;
        recovery::sweep(&opened, &self.config.answers)?;
        *storage = Some(opened.clone());
        Ok(opened)
    }

    /// Removes some expired jobs at the start and every [`PRUNE_INTERVAL`], so that a long-running process does not keep
    /// them forever.
    fn prune_if_due(&self, storage: &Storage) {
        {
            let mut pruned = self.pruned.lock().unwrap_or_else(PoisonError::into_inner);
            if pruned.is_some_and(|at| at.elapsed() < PRUNE_INTERVAL) {
                return;
            }
            *pruned = Some(Instant::now());
        }
        let pruned = storage
            .prune(self.config.keep, PRUNE_BATCHES)
            .map_err(JobsError::from)
            .and_then(|removed| self.remove_logs(&removed.ids));
        if let Err(error) = pruned {
            tracing::warn!(%error, "expired jobs cannot be removed");
        }
    }

    /// Removes ended jobs with their files and logs.
    pub(super) fn remove(&self, storage: &Storage, ids: &[JobId]) -> Result<(), JobsError> {
        storage.remove(ids)?;
        self.remove_logs(ids)
    }

    pub(super) fn remove_logs(&self, ids: &[JobId]) -> Result<(), JobsError> {
        for id in ids {
            self.config.worker.logs.remove(id)?;
        }
        Ok(())
    }

    pub(super) fn client(&self) -> Result<Client, JobsError> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let made = (self.config.client)()?;
        Ok(self.client.get_or_init(|| made).clone())
    }

    pub(super) fn submit(&self, call: &Call) -> Result<Submitted, JobsError> {
        let request = self.checked(call)?;
        match self
            .storage()
            .and_then(|storage| self.insert(call, &request, &storage))
        {
            Err(error) if self.can_run_without_storage(call, &error) => {
                let mut submitted = self.insert(call, &request, &self.fallback()?)?;
                submitted.warnings.push(format!(
                    "{error}. This answer is given all the same, but it is not stored and not in `spend`"
                ));
                Ok(submitted)
            }
            other => other,
        }
    }

    /// Builds the request with the component and checks the caller's limit on the cost.
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

    /// Returns whether a call may be made although the storage cannot be used. It may not if the storage was moved,
    /// because the call belongs in the ledger of the new storage.
    fn can_run_without_storage(&self, call: &Call, error: &JobsError) -> bool {
        let unusable = matches!(error, JobsError::Store(error) if !error.is_moved());
        // A permission that another storage does not know of could be used twice.
        let is_free = self.config.budget.is_none() && call.approval.is_none();
        unusable && call.mode == Mode::Answer && is_free
    }

    fn fallback(&self) -> Result<Storage, JobsError> {
        if let Some(storage) = self.fallback.get() {
            return Ok(storage.clone());
        }
        let made = Storage::in_memory(Arc::clone(&self.config.clock))?;
        Ok(self.fallback.get_or_init(|| made).clone())
    }

    fn insert(
        &self,
        call: &Call,
        request: &StoredRequest,
        storage: &Storage,
    ) -> Result<Submitted, JobsError> {
        // Check before anything is created in the folder that is at this path now.
        storage.rows.in_place()?;
        // Reservations of dead jobs would count against the budget, and a dead job must not be taken for a running job
        // with the same request.
        if self.config.budget.is_some() || call.mode == Mode::Research {
            recovery::sweep(storage, &self.config.answers)?;
        }
        let new = self.new_job(call, request, storage)?;
        let (job, already_running) = match reserve(storage, &new, self.config.budget)? {
            Reserved::Running(job) => (job, true),
            Reserved::New(job, lease) => {
                let storage = storage.clone();
                self.held().insert(new.id, Held { lease, storage });
                (job, false)
            }
        };
        Ok(Submitted {
            job: *job,
            already_running,
            warnings: Vec::new(),
        })
    }

    fn new_job(
        &self,
        call: &Call,
        request: &StoredRequest,
        storage: &Storage,
    ) -> Result<NewJob, JobsError> {
        let id = JobId::new();
        let research = call.mode == Mode::Research;
        // Only research calls are deduplicated.
        let fingerprint = if research {
            self.fingerprint(call, request, storage)?
        } else {
            id.to_string()
        };
        Ok(NewJob {
            capture: storage.captures.place(&id).filter(|_| call.capture),
            id,
            tool: call.tool.clone(),
            mode: call.mode.name().to_owned(),
            query: call.question.query.clone(),
            fingerprint,
            dedupe: research,
            listed: research,
            payload: request.to_text()?,
            reserve: call.estimate,
            simulated: call.simulate.is_some(),
            approval: call.approval.clone(),
        })
    }

    /// Returns a value that is equal for calls with the same request, origin and key.
    fn fingerprint(
        &self,
        call: &Call,
        request: &StoredRequest,
        storage: &Storage,
    ) -> Result<String, JobsError> {
        let account = match call.simulate {
            Some(_) => None,
            None => Some(self.client()?),
        };
        request.fingerprint(&storage.rows.secret()?, account.as_ref())
    }

    pub(super) fn job(&self, id: &JobId) -> Result<Job, JobsError> {
        let storage = self.storage()?;
        let job = found(&storage, id)?;
        if let Some(ended) = job.ended {
            return self.check_not_expired(&storage, job, ended);
        }
        recovery::recover(&storage, &self.config.answers, id)?;
        found(&storage, id)
    }

    /// Returns the job if it has not expired. An expired job is removed here if pruning has not removed it yet.
    fn check_not_expired(
        &self,
        storage: &Storage,
        job: Job,
        ended: Millis,
    ) -> Result<Job, JobsError> {
        let keep = i64::try_from(self.config.keep.as_millis()).unwrap_or(i64::MAX);
        if ended.plus(keep) >= storage.clock.now() {
            return Ok(job);
        }
        self.remove(storage, std::slice::from_ref(&job.id))?;
        found(storage, &job.id)
    }

    pub(super) fn start_worker(&self, id: &JobId) -> Result<worker::Started, JobsError> {
        let held = self.held().remove(id);
        let held = held.ok_or_else(|| JobsError::NotOwner(id.clone()))?;
        // The worker holds the lease from its start. This process drops its own share at the end of this function, so
        // that only the worker holds it.
        worker::start(&self.config.worker, id, &*held.lease)
    }

    pub(super) fn adopt(&self, id: &JobId) -> Result<Adopted, JobsError> {
        let storage = self.storage()?;
        let lease = match storage.leases.inherited(id)? {
            Some(lease) => lease,
            None => take(&storage, id)?,
        };
        found(&storage, id)?;
        let payload = storage.rows.payload(id)?;
        let payload = payload.ok_or_else(|| JobsError::Unknown(id.to_string()))?;
        let request = StoredRequest::parse(&payload.payload)?;
        self.held().insert(id.clone(), Held { lease, storage });
        Ok(Adopted {
            simulate: request.simulate().cloned(),
            deadline: request.deadline(),
        })
    }
}

fn found(storage: &Storage, id: &JobId) -> Result<Job, JobsError> {
    match storage.rows.lookup(id)? {
        Lookup::Found(job) => Ok(*job),
        Lookup::Expired(at) => Err(JobsError::Expired { id: id.clone(), at }),
        Lookup::Unknown => Err(JobsError::Unknown(id.to_string())),
    }
}
