//! The errors of the jobs. Each message says what happened, what was kept and what to do next.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

use super::clock::Millis;
use super::model::{JobId, Micros, State};
use super::storage::error::StoreError;
use crate::answers::InvalidField;
use crate::sandbox::SandboxError;
use crate::upstream::UpstreamError;

/// The reason why a job could not be created, found, run or removed.
#[derive(Debug, Error)]
pub enum JobsError {
    /// The question has invalid fields. All of them are listed.
    #[error("{}", Fields(.0))]
    Invalid(Vec<InvalidField>),
    /// The call could exceed the budget of the day.
    #[error(
        "this call could cost {estimate}, and today's budget of {budget} has {spent} spent and {reserved} reserved by running calls; nothing was sent. Raise --budget-usd-per-day, or wait for the day to end (UTC)"
    )]
    OverBudget {
        /// The most that the call may cost.
        estimate: Micros,
        /// The budget of the day.
        budget: Micros,
        /// The amount spent today.
        spent: Micros,
        /// The amount reserved by calls that have not ended.
        reserved: Micros,
    },
    /// The call could cost more than the caller allows.
    #[error(
        "this call could cost {estimate}, more than the {max} that --max-usd allows; nothing was sent"
    )]
    OverMax {
        /// The most that the call may cost.
        estimate: Micros,
        /// The limit that the caller set.
        max: Micros,
    },
    /// The approval of the call was used before, or is too old.
    #[error(
        "the approval of this call was used before or is older than 2 minutes; nothing was sent. Make the call again to be asked again"
    )]
    ApprovalSpent,
    /// No job has this id.
    #[error("no job has the id `{0}`; `glovebox jobs list --all` shows those there are")]
    Unknown(String),
    /// The beginning of more than one id.
    #[error("more than one job has an id that begins with `{0}`; give more of it")]
    Ambiguous(String),
    /// The job with this id was removed.
    #[error(
        "the job {id} and its result were removed at {}: it was deleted, or it expired (`--keep` sets how long results are kept). Ask again", .at.rfc3339()
    )]
    Expired {
        /// The id of the job.
        id: JobId,
        /// When the job was removed.
        at: Millis,
    },
    /// The job cannot be removed, because it has not ended.
    #[error(
        "the job {id} is {state}; nothing was removed. Cancel it first: `glovebox jobs cancel {id}`"
    )]
    NotEnded {
        /// The id of the job.
        id: JobId,
        /// The state of the job.
        state: State,
    },
    /// Another process holds the lease of the job.
    #[error(
        "the job {0} is another process's work; wait for its end with `glovebox jobs result {0} --wait 60`"
    )]
    NotOwner(JobId),
    /// The worker process did not start.
    #[error("the worker for job {id} did not start ({reason}); nothing was sent. Its log, if any: {}", .log.display())]
    Worker {
        /// The id of the job.
        id: JobId,
        /// The reason.
        reason: String,
        /// The log file of the worker.
        log: PathBuf,
    },
    /// The storage cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The component could not be used.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The upstream client could not be created.
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    /// A defect of glovebox.
    #[error("{0}; this is a defect of glovebox, please report it")]
    Defect(String),
}

/// Displays all invalid fields, separated by semicolons.
struct Fields<'a>(&'a [InvalidField]);

impl fmt::Display for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, bad) in self.0.iter().enumerate() {
            if number > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{}: {}", bad.field, bad.problem)?;
        }
        Ok(())
    }
}

impl JobsError {
    /// Returns the stable, hyphenated name of the error.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "invalid-request",
            Self::OverBudget { .. } => "budget",
            Self::OverMax { .. } => "max-usd",
            Self::ApprovalSpent => "approval",
            Self::Unknown(_) => "unknown-id",
            Self::Ambiguous(_) => "ambiguous-id",
            Self::Expired { .. } => "expired-id",
            Self::NotEnded { .. } => "not-ended",
            Self::NotOwner(_) => "not-owner",
            Self::Worker { .. } => "worker",
            Self::Store(error) => error.kind(),
            Self::Sandbox(_) => "sandbox",
            Self::Upstream(error) => error.kind(),
            Self::Defect(_) => "defect",
        }
    }
}
