//! Which exit status a command has that ends with a job, an outcome or an error: the one table.

use crate::answers::{FailureKind, Outcome};
use crate::exit::Exit;
use crate::jobs::{INCOMPLETE, Job, JobsError, State};
use crate::upstream::UpstreamError;

/// A result that a command can end with.
pub trait ExitStatus {
    /// Returns the exit status of a command that ends with this.
    fn exit(&self) -> Exit;
}

impl ExitStatus for Job {
    fn exit(&self) -> Exit {
        match (self.state, &self.error) {
            (State::Queued | State::Running, _) => Exit::Running,
            (State::Cancelled, _) => Exit::Interrupted,
            (State::Interrupted, _) => Exit::Incomplete,
            (_, Some(error)) if error.kind == INCOMPLETE => Exit::Incomplete,
            (_, Some(error)) => of_kind(&error.kind),
            (_, None) if self.whole => Exit::Done,
            (_, None) => Exit::Incomplete,
        }
    }
}

impl ExitStatus for Outcome {
    fn exit(&self) -> Exit {
        match &self.error {
            Some(error) if is_own_limit(&error.kind) => Exit::Failed,
            Some(_) => Exit::Upstream,
            None if !self.complete || self.truncated => Exit::Incomplete,
            None if self.answer.trim().is_empty() => Exit::Incomplete,
            None => Exit::Done,
        }
    }
}

impl ExitStatus for JobsError {
    fn exit(&self) -> Exit {
        match self {
            Self::Invalid(_) => Exit::Usage,
            Self::OverBudget { .. } | Self::OverMax { .. } | Self::ApprovalSpent => Exit::Money,
            Self::NotEnded { .. } => Exit::Running,
            Self::Upstream(error) => error.exit(),
            Self::Unknown(_)
            | Self::Ambiguous(_)
            | Self::Expired { .. }
            | Self::NotOwner(_)
            | Self::Worker { .. }
            | Self::Store(_)
            | Self::Sandbox(_)
            | Self::Defect(_) => Exit::Failed,
        }
    }
}

impl ExitStatus for UpstreamError {
    fn exit(&self) -> Exit {
        of_kind(self.kind())
    }
}

/// Returns the exit status of an error by its name, for errors that are at hand and for those that were stored as text. An
/// unknown name is a failure of our own.
fn of_kind(kind: &str) -> Exit {
    if let Some(failure) = FailureKind::ALL.into_iter().find(|one| one.name() == kind) {
        return of_failure(failure);
    }
    match kind {
        "dns" | "unreachable" | "certificate" | "tls" | "proxy" | "time-out"
        | "connection-broken" | "bad-framing" | "damaged-reply" | "upstream-error"
        | "not-a-reply" => Exit::Upstream,
        "budget" | "max-usd" => Exit::Money,
        "cancelled" => Exit::Interrupted,
        _ => Exit::Failed,
    }
}

const fn of_failure(failure: FailureKind) -> Exit {
    match failure {
        FailureKind::NoPlan
        | FailureKind::NotAllowed
        | FailureKind::NotFound
        | FailureKind::BadKey
        | FailureKind::NoKey => Exit::Key,
        FailureKind::SpendCap | FailureKind::RateLimited | FailureKind::Quota => Exit::Money,
        FailureKind::InvalidRequest => Exit::Failed,
        FailureKind::ServerError | FailureKind::Redirect | FailureKind::Unexpected => {
            Exit::Upstream
        }
    }
}

/// Whether an outcome's error is one of our own limits, and not the upstream's doing.
fn is_own_limit(kind: &str) -> bool {
    kind.ends_with("-limit") || kind.starts_with("sandbox-")
}
