//! What came of a call: the outcome, its texts, and what it means for the job.

use super::model::{INCOMPLETE, JobFault, Micros, State};
use super::storage::rows::{Rendered, Settlement};
use crate::answers::{Answers, Format, Outcome, OutcomeError, ResearchProgress, unrendered};
use crate::sandbox::SandboxError;
use crate::upstream::UpstreamError;

/// The outcome in every form that is kept.
pub(super) fn render(answers: &Answers, outcome: &Outcome) -> Result<Rendered, SandboxError> {
    Ok(Rendered {
        json: answers.render(outcome, Format::Json)?,
        markdown: answers.render(outcome, Format::Markdown)?,
        plain: answers.render(outcome, Format::Plain)?,
    })
}

/// The outcome in every form that is kept, for a component that failed to write it.
pub(super) fn render_without_component(outcome: &Outcome, error: &SandboxError) -> Rendered {
    let text = |format: Format| unrendered(outcome, format, error);
    Rendered {
        json: text(Format::Json),
        markdown: text(Format::Markdown),
        plain: text(Format::Plain),
    }
}

/// Why a reply is over.
#[derive(Clone, Debug)]
pub(super) enum Cause {
    /// It ended by itself.
    End,
    /// The call failed, and whether it cannot have been billed.
    Fault {
        /// What happened.
        fault: JobFault,
        /// Whether nothing can have been billed.
        free: bool,
    },
    /// Somebody asked for it to stop.
    Cancelled {
        /// Whether nothing can have been billed.
        free: bool,
    },
    /// The owner was told to stop.
    Stopped,
}

/// How a job ends, by the cause and the outcome together.
pub(super) struct JobEnd {
    /// The state that the job ends in.
    pub(super) state: State,
    /// Why it did not end well.
    pub(super) error: Option<JobFault>,
    /// What it cost.
    pub(super) settlement: Settlement,
    /// What the bill may hold.
    pub(super) note: Option<String>,
}

/// Decides how a job ends whose owner lives. A complete reply is done, whatever happened after its last word.
pub(super) fn decide_end(cause: &Cause, outcome: &mut Outcome, sent: bool) -> JobEnd {
    let (state, error) = state_of(cause, outcome);
    if let Some(error) = &error
        && error.kind != INCOMPLETE
        && outcome.error.is_none()
    {
        outcome.error = Some(OutcomeError {
            kind: error.kind.clone(),
            message: error.message.clone(),
        });
    }
    let free = !sent
        || matches!(
            cause,
            Cause::Fault { free: true, .. } | Cause::Cancelled { free: true }
        );
    let settlement = settle(outcome, free);
    JobEnd {
        state,
        error,
        settlement,
        note: unknown_note(settlement),
    }
}

fn state_of(cause: &Cause, outcome: &Outcome) -> (State, Option<JobFault>) {
    if let Some(error) = &outcome.error {
        let fault = JobFault::new(error.kind.clone(), error.message.clone());
        return (State::Failed, Some(fault));
    }
    if outcome.complete {
        return (State::Done, None);
    }
    match cause {
        Cause::End => {
            let message = "the reply ended before its end; what had come is kept as the result";
            (State::Failed, Some(JobFault::new(INCOMPLETE, message)))
        }
        Cause::Fault { fault, .. } => (State::Failed, Some(fault.clone())),
        Cause::Cancelled { .. } => {
            let message = "cancelled; what had come is kept as the result";
            (State::Cancelled, Some(JobFault::new("cancelled", message)))
        }
        Cause::Stopped => {
            let message = "the process that worked on it was told to stop; what had come is kept as the result";
            (
                State::Interrupted,
                Some(JobFault::new("interrupted", message)),
            )
        }
    }
}

/// The cost: as the reply states it, nothing where nothing can have been billed, else unknown. What the reply states and no
/// call can cost is unknown.
pub(super) fn settle(outcome: &Outcome, free: bool) -> Settlement {
    match outcome.cost_usd() {
        Some(usd) => Micros::from_reply(usd).map_or(Settlement::Unknown, Settlement::Cost),
        None if free => Settlement::Cost(Micros(0)),
        None => Settlement::Unknown,
    }
}

/// What to know about an unknown cost.
pub(super) fn unknown_note(settlement: Settlement) -> Option<String> {
    (settlement == Settlement::Unknown).then(|| {
        "its cost is unknown and is counted at its reservation; the upstream may have billed it"
            .to_owned()
    })
}

/// Whether an outcome is complete and not cut short.
pub(super) const fn whole(outcome: &Outcome) -> bool {
    outcome.complete && !outcome.truncated
}

/// Returns the last progress of an outcome.
pub(super) fn last_progress(outcome: &Outcome) -> Option<ResearchProgress> {
    outcome.progress.last().map(ResearchProgress::from)
}

/// A fault of a kind.
pub(super) fn fault(kind: &str, message: &str, free: bool) -> Cause {
    Cause::Fault {
        fault: JobFault::new(kind, message),
        free,
    }
}

/// Only successful replies are billed.
pub(super) fn upstream_fault(error: &UpstreamError) -> Cause {
    let free = error.never_sent() || matches!(error, UpstreamError::Refused(_));
    fault(error.kind(), &error.to_string(), free)
}

/// What the sandbox ended with; the request was sent by then.
pub(super) fn sandbox_fault(error: &SandboxError) -> Cause {
    fault(error.kind(), &error.to_string(), false)
}
