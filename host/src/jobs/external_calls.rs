//! Calls that somebody else makes, such as a component in a sandbox of its own: they take a slot of the shared
//! limiter, reserve what they could cost and leave a ledger entry like any other call. Their replies are
//! not read here, so nothing of them is kept.

use std::path::Path;
use std::sync::Arc;

use tokio::time::{Duration, Instant};

use super::clock::Clock;
use super::error::JobsError;
use super::lease::Lease;
use super::model::{JobId, Micros, State};
use super::storage::Storage;
use super::store::{End, Inserted, Marked, NewJob, Rate, Settlement};
use super::stored_request::StoredRequest;
use crate::answers::{HttpRequest, Mode};
use crate::jobs::ledger::limiter::{SharedLimiter, SlotError};
use crate::upstream::NoSlot;

/// Where such calls are counted. Storage when it is made.
#[derive(Debug)]
pub struct ExternalCalls {
    storage: Storage,
    budget: Option<Micros>,
    rate: Rate,
    simulated: bool,
}

/// A call that may be sent now. Dropped without an end, it is settled like that of an owner who died: it may
/// have been billed, and counts as much as was reserved.
#[derive(Debug)]
pub struct ExternalCall {
    id: JobId,
    lease: Option<Lease>,
    storage: Storage,
}

impl ExternalCalls {
    /// Opens the store of this folder. Without a budget, a folder that cannot be used is no obstacle: then the
    /// calls are counted in this process alone. Simulated calls count in no budget.
    ///
    /// # Errors
    /// When there is a budget and the store cannot be used.
    pub fn open(
        folder: &Path,
        budget: Option<Micros>,
        rate: Rate,
        simulated: bool,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, JobsError> {
        let storage = match Storage::folder(folder, Arc::clone(&clock)) {
            Err(error) if budget.is_some() => return Err(error),
            Err(_) => Storage::memory(clock)?,
            Ok(storage) => storage,
        };
        Ok(Self {
            storage,
            budget,
            rate,
            simulated,
        })
    }

    /// Reserves what a call could cost and waits for its slot. What comes back may be sent at once.
    ///
    /// # Errors
    /// When it could pass the budget, there is no slot before the deadline, or the store cannot be used.
    pub async fn begin(
        &self,
        tool: &str,
        mode: Mode,
        body: &[u8],
        estimate: Micros,
        deadline: Instant,
    ) -> Result<ExternalCall, JobsError> {
        let call = self.insert(tool, mode, body, estimate, deadline)?;
        let clock = Arc::clone(&self.storage.clock);
        let limiter = SharedLimiter::new(Arc::clone(&self.storage.store), clock, self.rate);
        if let Err(error) = limiter.wait(&call.id, deadline).await {
            call.end(Some(Micros(0)), false)?;
            return Err(match error {
                SlotError::Store(error) => error.into(),
                other => JobsError::Upstream(NoSlot(other.to_string()).into()),
            });
        }
        let now = self.storage.clock.now();
        match self.storage.store.mark_sent(&call.id, now)? {
            Marked::Sent => Ok(call),
            Marked::Cancelled | Marked::Ended => {
                call.end(Some(Micros(0)), false)?;
                let why = "the call was cancelled; nothing was sent".to_owned();
                Err(JobsError::Upstream(NoSlot(why).into()))
            }
        }
    }

    fn insert(
        &self,
        tool: &str,
        mode: Mode,
        body: &[u8],
        estimate: Micros,
        deadline: Instant,
    ) -> Result<ExternalCall, JobsError> {
        self.storage.store.in_place()?;
        let id = JobId::new();
        let lease = match self.storage.dir.as_ref().map(|dir| dir.lock(&id)) {
            None => None,
            Some(path) => {
                Lease::take(&path).map_err(|source| JobsError::Folder { path, source })?
            }
        };
        // The body is the guest's own: it stays out of the store, which needs to know the mode alone.
        let request = HttpRequest {
            method: "POST".to_owned(),
            path: "/".to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        };
        let left: Duration = deadline.saturating_duration_since(Instant::now());
        let work = StoredRequest::new(mode, request, left, None, None)?;
        let job = NewJob {
            id: id.clone(),
            tool: tool.to_owned(),
            mode: mode.name().to_owned(),
            query: format!("a request of {} bytes by a component", body.len()),
            fingerprint: id.to_string(),
            dedupe: false,
            listed: false,
            payload: work.to_text()?,
            capture: None,
            reserve: estimate,
            simulated: self.simulated,
        };
        let call = ExternalCall {
            id,
            lease,
            storage: self.storage.clone(),
        };
        let now = self.storage.clock.now();
        match self.storage.store.insert(&job, self.budget, now)? {
            Inserted::New(_) | Inserted::Running(_) => {
                self.storage.store.begin(&call.id, now)?;
                Ok(call)
            }
            Inserted::OverBudget { spent, reserved } => {
                call.retire();
                Err(JobsError::OverBudget {
                    estimate,
                    budget: self.budget.unwrap_or_default(),
                    spent,
                    reserved,
                })
            }
        }
    }
}

impl ExternalCall {
    /// The call has ended: at this cost, or at one that is unknown and counts as much as was reserved.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub fn end(self, cost: Option<Micros>, well: bool) -> Result<(), JobsError> {
        let end = End {
            state: if well { State::Done } else { State::Failed },
            settlement: cost.map_or(Settlement::Unknown, Settlement::Cost),
            outcome: None,
            whole: false,
            captured: false,
            error: None,
            note: Some("made by a component; its reply was not kept".to_owned()),
            progress: None,
        };
        let now = self.storage.clock.now();
        self.storage.store.finish(&self.id, &end, now)?;
        self.retire();
        Ok(())
    }

    fn retire(self) {
        if let Some(lease) = self.lease {
            lease.retire();
        }
    }
}
