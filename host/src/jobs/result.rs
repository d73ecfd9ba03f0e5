//! The result of a call: the outcome, its rendered forms, and the end state and cost of the job.

use super::model::{INCOMPLETE, JobFault, Micros, State};
use super::storage::rows::{Rendered, Settlement};
use crate::answers::{Answers, Format, Outcome, OutcomeError, ResearchProgress, unrendered};
use crate::sandbox::SandboxError;
use crate::upstream::UpstreamError;

/// Renders the outcome in all stored forms.
pub(super) fn render(answers: &Answers, outcome: &Outcome) -> Result<Rendered, SandboxError> {
    Ok(Rendered {
        json: answers.render(outcome, Format::Json)?,
        markdown: answers.render(outcome, Format::Markdown)?,
        plain: answers.render(outcome, Format::Plain)?,
    })
}

/// Renders the outcome when the component failed to do so.
pub(super) fn render_without_component(outcome: &Outcome, error: &SandboxError) -> Rendered {
    let text = |format: Format| unrendered(outcome, format, error);
    Rendered {
        json: text(Format::Json),
        markdown: text(Format::Markdown),
        plain: text(Format::Plain),
    }
}

/// Why reading a reply ended.
#[derive(Clone, Debug)]
pub(super) enum Cause {
    /// The reply ended.
    End,
    /// The call failed.
    Fault {
        /// What happened.
        fault: JobFault,
        /// Whether nothing can have been billed.
        free: bool,
    },
    /// The call was cancelled.
    Cancelled {
        /// Whether nothing can have been billed.
        free: bool,
    },
    /// The process that runs the call was asked to stop.
    Stopped,
}

/// How a job ends.
pub(super) struct JobEnd {
    /// The end state.
    pub(super) state: State,
    /// The reason why the job did not complete.
    pub(super) error: Option<JobFault>,
    /// The settlement of the reservation.
    pub(super) settlement: Settlement,
    /// A note on an unknown cost.
    pub(super) note: Option<String>,
}

/// Decides how a job ends while its owner is alive. A job with a complete reply is done, even if an error followed the
/// reply.
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

/// Returns the cost: the cost that the reply states; zero if nothing can have been billed; otherwise unknown. A stated
/// cost that is not a valid amount is unknown as well.
pub(super) fn settle(outcome: &Outcome, free: bool) -> Settlement {
    match outcome.cost_usd() {
        Some(usd) => Micros::from_reply(usd).map_or(Settlement::Unknown, Settlement::Cost),
        None if free => Settlement::Cost(Micros(0)),
        None => Settlement::Unknown,
    }
}

/// Returns the note for an unknown cost.
pub(super) fn unknown_note(settlement: Settlement) -> Option<String> {
    (settlement == Settlement::Unknown).then(|| {
        "its cost is unknown and is counted at its reservation; the upstream may have billed it"
            .to_owned()
    })
}

/// Returns whether an outcome is complete, not cut short, and has an answer.
pub(super) fn whole(outcome: &Outcome) -> bool {
    outcome.complete && !outcome.truncated && !outcome.answer.trim().is_empty()
}

/// Returns the last progress of an outcome.
pub(super) fn last_progress(outcome: &Outcome) -> Option<ResearchProgress> {
    outcome.progress.last().map(ResearchProgress::from)
}

/// Creates a fault.
pub(super) fn fault(kind: &str, message: &str, free: bool) -> Cause {
    Cause::Fault {
        fault: JobFault::new(kind, message),
        free,
    }
}

/// Converts an error of the upstream client. Only successful replies are billed.
pub(super) fn upstream_fault(error: &UpstreamError) -> Cause {
    let free = error.never_sent() || matches!(error, UpstreamError::Refused(_));
    fault(error.kind(), &error.to_string(), free)
}

/// Converts an error of the sandbox. The request was sent before.
pub(super) fn sandbox_fault(error: &SandboxError) -> Cause {
    fault(error.kind(), &error.to_string(), false)
}
