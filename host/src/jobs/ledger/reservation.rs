//! Reserves the cost of a call and creates its job and lease. All calls are reserved here.

use crate::jobs::error::JobsError;
use crate::jobs::model::{Job, JobId, Micros};
use crate::jobs::storage::Storage;
use crate::jobs::storage::leases::Lease;
use crate::jobs::storage::rows::{Inserted, NewJob};

/// The result of a reservation.
#[derive(Debug)]
pub enum Reserved {
    /// The job is stored as `queued`, its cost is reserved and its lease is held.
    New(Box<Job>, Lease),
    /// The same job is already running. Nothing was reserved.
    Running(Box<Job>),
}

/// Takes the lease of a new job, then stores the job and reserves its cost in one transaction.
///
/// # Errors
/// If the call could exceed the budget, or the storage cannot be used.
pub fn reserve(
    storage: &Storage,
    job: &NewJob,
    budget: Option<Micros>,
) -> Result<Reserved, JobsError> {
    let lease = take(storage, &job.id)?;
    match storage.rows.insert(job, budget, storage.clock.now()) {
        Ok(Inserted::New(job)) => Ok(Reserved::New(Box::new(job), lease)),
        Ok(Inserted::Running(job)) => {
            lease.retire();
            Ok(Reserved::Running(Box::new(job)))
        }
        Ok(Inserted::ApprovalSpent) => {
            lease.retire();
            Err(JobsError::ApprovalSpent)
        }
        Ok(Inserted::OverBudget { spent, reserved }) => {
            lease.retire();
            Err(JobsError::OverBudget {
                estimate: job.reserve,
                budget: budget.unwrap_or_default(),
                spent,
                reserved,
            })
        }
        Err(error) => {
            lease.retire();
            Err(error.into())
        }
    }
}

/// Takes the lease of a job.
///
/// # Errors
/// [`JobsError::NotOwner`] if the lease is held elsewhere, or an error of the storage.
pub fn take(storage: &Storage, id: &JobId) -> Result<Lease, JobsError> {
    let lease = storage.leases.take(id)?;
    lease.ok_or_else(|| JobsError::NotOwner(id.clone()))
}
