//! Calls that a sandboxed component makes itself. Like other calls they wait for the limiter, reserve their cost and
//! have a ledger entry. The host does not read their replies, so nothing of a reply is stored.

use tokio::time::{Duration, Instant};

use super::blocking::blocking;
use super::error::JobsError;
use super::ledger::limiter::{Limiter, LimiterError};
use super::ledger::reservation::{Reserved, reserve};
use super::model::{JobId, Micros, State};
use super::storage::Storage;
use super::storage::leases::Lease;
use super::storage::rows::{End, NewJob, Rate, Settlement};
use super::stored_request::StoredRequest;
use crate::answers::{HttpRequest, Mode};
use crate::upstream::NoSlot;

/// Admits and counts external calls.
#[derive(Debug)]
pub struct ExternalCalls {
    storage: Storage,
    limiter: Limiter,
    budget: Option<Micros>,
    simulated: bool,
}

/// A call that may be sent now. If it is dropped before [`ExternalCall::end`], recovery settles it as a call with an
/// unknown cost, which counts as much as its reservation.
#[derive(Debug)]
pub struct ExternalCall {
    id: JobId,
    lease: Lease,
    storage: Storage,
}

impl ExternalCalls {
    /// Creates the admission of external calls for a storage. Simulated calls do not count against the budget.
    #[must_use]
    pub fn new(storage: Storage, budget: Option<Micros>, rate: Rate, simulated: bool) -> Self {
        Self {
            limiter: Limiter::new(storage.clone(), rate),
            storage,
            budget,
            simulated,
        }
    }

    /// Reserves the cost of a call and waits for a slot of the limiter. The returned call may be sent at once.
    ///
    /// # Errors
    /// If the call could exceed the budget, no slot is free before the deadline, or the storage cannot be used.
    pub async fn begin(
        &self,
        tool: &str,
        mode: Mode,
        body: &[u8],
        estimate: Micros,
        deadline: Instant,
    ) -> Result<ExternalCall, JobsError> {
        let job = self.job(tool, mode, body, estimate, deadline)?;
        let (storage, budget) = (self.storage.clone(), self.budget);
        let call = blocking(move || ExternalCall::reserve(storage, &job, budget)).await?;
        let admitted = match self.limiter.wait(&call.id, deadline).await {
            Ok(()) => self.limiter.mark_sent(&call.id).await,
            late => late,
        };
        match admitted {
            Ok(()) => Ok(call),
            Err(error) => {
                call.end(Some(Micros(0)), false).await?;
                Err(match error {
                    LimiterError::Store(error) => error.into(),
                    other => JobsError::Upstream(NoSlot(other.to_string()).into()),
                })
            }
        }
    }

    fn job(
        &self,
        tool: &str,
        mode: Mode,
        body: &[u8],
        estimate: Micros,
        deadline: Instant,
    ) -> Result<NewJob, JobsError> {
        // The body belongs to the component, so it is not stored. The store needs only the mode.
        let request = HttpRequest {
            method: "POST".to_owned(),
            path: "/".to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        };
        let left: Duration = deadline.saturating_duration_since(Instant::now());
        let request = StoredRequest::new(mode, request, left, None, None)?;
        let id = JobId::new();
        Ok(NewJob {
            fingerprint: id.to_string(),
            id,
            tool: tool.to_owned(),
            mode: mode.name().to_owned(),
            query: format!("a request of {} bytes by a component", body.len()),
            dedupe: false,
            listed: false,
            payload: request.to_text()?,
            capture: None,
            reserve: estimate,
            simulated: self.simulated,
            approval: None,
        })
    }
}

impl ExternalCall {
    fn reserve(storage: Storage, job: &NewJob, budget: Option<Micros>) -> Result<Self, JobsError> {
        storage.rows.in_place()?;
        match reserve(&storage, job, budget)? {
            Reserved::New(job, lease) => {
                storage.rows.begin(&job.id, storage.clock.now())?;
                Ok(Self {
                    id: job.id,
                    lease,
                    storage,
                })
            }
            Reserved::Running(job) => Err(JobsError::NotOwner(job.id)),
        }
    }

    /// Settles the call at `cost`, or at an unknown cost, which counts as much as the reservation.
    ///
    /// # Errors
    /// If the storage cannot be used.
    pub async fn end(self, cost: Option<Micros>, succeeded: bool) -> Result<(), JobsError> {
        let end = End {
            state: if succeeded {
                State::Done
            } else {
                State::Failed
            },
            settlement: cost.map_or(Settlement::Unknown, Settlement::Cost),
            outcome: None,
            whole: false,
            captured: false,
            error: None,
            note: Some("made by a component; its reply was not kept".to_owned()),
            progress: None,
        };
        blocking(move || {
            let now = self.storage.clock.now();
            self.storage.rows.finish(&self.id, &end, now)?;
            self.lease.retire();
            Ok::<_, JobsError>(())
        })
        .await
    }
}
