//! Settles jobs whose owner died. This runs at every start and every read. The process that settles a job holds its
//! lease, so only one process decides. No request is sent again.

use super::JobsError;
use super::model::{Job, JobFault, JobId, Micros, State};
use super::result::{last_progress, render, render_without_component, settle, unknown_note, whole};
use super::storage::Storage;
use super::storage::rows::{End, Lookup, Rendered, Settlement};
use super::stored_request::headers_of;
use crate::answers::{Answers, Mode, Outcome, OutcomeError, empty};
use crate::sandbox::{CHUNK_BYTES, SandboxError};

/// Settles every job whose owner died. An error in one job does not prevent the recovery of the others.
pub(super) fn sweep(storage: &Storage, answers: &Answers) -> Result<(), JobsError> {
    for id in storage.rows.active()? {
        if let Err(error) = recover(storage, answers, &id) {
            tracing::warn!(%id, %error, "a job whose owner died cannot be settled yet");
        }
    }
    Ok(())
}

/// Settles a job if it has not ended and its owner died.
pub(super) fn recover(storage: &Storage, answers: &Answers, id: &JobId) -> Result<(), JobsError> {
    if storage.rows.in_place().is_err() {
        // The store was moved: the leases in the state folder belong to another store.
        return Ok(());
    }
    let Some(lease) = storage.leases.take(id)? else {
        return Ok(());
    };
    // Read again while the lease is held, because the owner may have ended the job just before.
    let Lookup::Found(job) = storage.rows.lookup(id)? else {
        lease.retire();
        return Ok(());
    };
    if !job.state.ended() {
        let end = end_of(storage, answers, &job)?;
        let state = end.state;
        if storage.rows.finish(id, &end, storage.clock.now())? {
            tracing::info!(%id, %state, "settled a job whose owner died");
        }
    }
    lease.retire();
    Ok(())
}

fn end_of(storage: &Storage, answers: &Answers, job: &Job) -> Result<End, JobsError> {
    if job.sent.is_none() {
        return Ok(never_sent());
    }
    let mode = if job.mode == Mode::Research.name() {
        Mode::Research
    } else {
        Mode::Answer
    };
    let head = storage.rows.payload(&job.id)?.and_then(|kept| kept.head);
    let (outcome, unread) = match captured(storage, job) {
        Ok(Some(bytes)) if !bytes.is_empty() => {
            let read = answers.read(mode, headers_of(head.as_deref()), &bytes, CHUNK_BYTES)?;
            (read.outcome, read.broken.map(|error| error.to_string()))
        }
        Ok(_) => (empty(mode), None),
        Err(error) => (empty(mode), Some(error.to_string())),
    };
    if unread.is_none() && outcome.complete && outcome.error.is_none() {
        return done(answers, &outcome);
    }
    let captured = job.capture.is_some() && storage.captures.exists(&job.id);
    interrupted(answers, outcome, unread.as_deref(), captured)
}

/// Returns the bytes of the capture of a job. Returns `None` if the job has no capture or no reply began.
fn captured(storage: &Storage, job: &Job) -> std::io::Result<Option<Vec<u8>>> {
    match job.capture {
        Some(_) => storage.captures.read(&job.id),
        None => Ok(None),
    }
}

fn never_sent() -> End {
    let message = "the process that was to work on it died before the request was sent; nothing was billed. Ask again";
    End {
        state: State::Interrupted,
        settlement: Settlement::Cost(Micros(0)),
        outcome: None,
        whole: false,
        captured: false,
        error: Some(JobFault::new("interrupted", message)),
        note: None,
        progress: None,
    }
}

/// Renders the outcome. If no component can be loaded at all, nothing is settled, because another process may have a
/// component that works.
fn rendered(answers: &Answers, outcome: &Outcome) -> Result<Rendered, JobsError> {
    match render(answers, outcome) {
        Ok(rendered) => Ok(rendered),
        Err(error @ SandboxError::Component { .. }) => Err(error.into()),
        Err(error) => Ok(render_without_component(outcome, &error)),
    }
}

fn done(answers: &Answers, outcome: &Outcome) -> Result<End, JobsError> {
    let settlement = settle(outcome, false);
    Ok(End {
        state: State::Done,
        settlement,
        outcome: Some(rendered(answers, outcome)?),
        whole: whole(outcome),
        captured: true,
        error: None,
        note: unknown_note(settlement),
        progress: last_progress(outcome),
    })
}

fn interrupted(
    answers: &Answers,
    mut outcome: Outcome,
    unread: Option<&str>,
    captured: bool,
) -> Result<End, JobsError> {
    let message = match unread {
        None => "the process that worked on it died; what its capture holds is the result, incomplete. It is not started again by itself".to_owned(),
        Some(why) => format!(
            "the process that worked on it died, and the sandbox cannot read all of its capture ({why}); what could be read is the result, and the capture is kept as it is. It is not started again by itself"
        ),
    };
    // A capture that could not be read to its end may contain a later cost.
    let settlement = match unread {
        None => settle(&outcome, false),
        Some(_) => Settlement::Unknown,
    };
    outcome.error.get_or_insert_with(|| OutcomeError {
        kind: "interrupted".to_owned(),
        message: message.clone(),
    });
    Ok(End {
        state: State::Interrupted,
        settlement,
        outcome: Some(rendered(answers, &outcome)?),
        whole: false,
        captured,
        error: Some(JobFault::new("interrupted", message)),
        note: unknown_note(settlement),
        progress: last_progress(&outcome),
    })
}
