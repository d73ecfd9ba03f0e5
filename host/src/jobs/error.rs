//! What can go wrong when a job is asked for: what happened, what was kept, what to do next.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

use super::clock::Millis;
use super::model::{JobId, Micros, State};
use super::storage::error::StoreError;
use crate::answers::InvalidField;
use crate::sandbox::SandboxError;
use crate::upstream::UpstreamError;

/// Why a job could not be made, found, run or removed.
#[derive(Debug, Error)]
pub enum JobsError {
    /// The question cannot be asked like this; every bad field is named.
    #[error("{}", Fields(.0))]
    Invalid(Vec<InvalidField>),
    /// It could pass the day's budget.
    #[error(
        "this call could cost {estimate}, and today's budget of {budget} has {spent} spent and {reserved} reserved by running calls; nothing was sent. Raise --budget-usd-per-day, or wait for the day to end (UTC)"
    )]
    OverBudget {
        /// What the call could cost.
        estimate: Micros,
        /// The budget.
        budget: Micros,
        /// Spent today.
        spent: Micros,
        /// Reserved by calls that have not ended.
        reserved: Micros,
    },
    /// It could cost more than the caller allows.
    #[error(
        "this call could cost {estimate}, more than the {max} that --max-usd allows; nothing was sent. Allow more, or ask for less (fewer research queries)"
    )]
    OverMax {
        /// What the call could cost.
        estimate: Micros,
        /// What is allowed.
        max: Micros,
    },
    /// An id that nobody knows.
    #[error("no job has the id `{0}`; `glovebox jobs list --all` shows those there are")]
    Unknown(String),
    /// An id whose job was removed.
    #[error(
        "the job {id} has expired: it and its result were removed at {}. Ask again; `--keep` sets how long results are kept", .at.rfc3339()
    )]
    Expired {
        /// The id.
        id: JobId,
        /// When it was removed.
        at: Millis,
    },
    /// Only an ended job can be removed.
    #[error(
        "the job {id} is {state}; nothing was removed. Cancel it first: `glovebox jobs cancel {id}`"
    )]
    NotEnded {
        /// The id.
        id: JobId,
        /// Its state.
        state: State,
    },
    /// Somebody else works on it.
    #[error(
        "the job {0} is another process's work; wait for its end with `glovebox jobs result {0} --wait 60`"
    )]
    NotOwner(JobId),
    /// The worker process did not begin.
    #[error("the worker for job {id} did not start ({reason}); nothing was sent. Its log, if any: {}", .log.display())]
    Worker {
        /// The id.
        id: JobId,
        /// What happened.
        reason: String,
        /// Where it would have said more.
        log: PathBuf,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The component could not be used.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The upstream client could not be set up.
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    /// A defect here.
    #[error("{0}; this is a defect of glovebox, please report it")]
    Defect(String),
}

/// All bad fields in one sentence each.
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
    /// A stable, hyphenated name.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "invalid-request",
            Self::OverBudget { .. } => "budget",
            Self::OverMax { .. } => "max-usd",
            Self::Unknown(_) => "unknown-id",
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
