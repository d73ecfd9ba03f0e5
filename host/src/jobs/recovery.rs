//! What becomes of a job whose owner died. Looked for at every start and every read; whoever looks holds the
//! job's lease meanwhile, so that one alone decides. Nothing is ever sent again.

use std::path::Path;

use super::JobsError;
use super::lease::Lease;
use super::model::{Job, JobFault, JobId, Micros, State};
use super::opened::Opened;
use super::reread::{Reread, reread};
use super::result::{empty, frame, render, settle, unknown_note, whole};
use super::store::{End, Lookup, Settlement};
use super::work::headers_of;
use crate::engine::answers::{Mode, Outcome, OutcomeError};
use crate::engine::{Engine, SandboxError};

/// Settles every job whose owner is gone. One that cannot be settled does not keep the others from it.
pub(super) fn sweep(opened: &Opened, engine: &Engine) -> Result<(), JobsError> {
    for id in opened.store.active()? {
        if let Err(error) = recover(opened, engine, &id) {
            tracing::warn!(%id, %error, "a job whose owner died cannot be settled yet");
        }
    }
    Ok(())
}

/// Settles one job, if it has not ended and its owner is gone.
pub(super) fn recover(opened: &Opened, engine: &Engine, id: &JobId) -> Result<(), JobsError> {
    let Some(home) = &opened.home else {
        // A store in memory has no other owners.
        return Ok(());
    };
    if opened.store.in_place().is_err() {
        // The locks that are in the folder now say nothing about the jobs of this store.
        return Ok(());
    }
    let path = home.lock(id);
    let taken = Lease::take(&path).map_err(|source| JobsError::Folder { path, source })?;
    let Some(lease) = taken else {
        return Ok(());
    };
    // Looked up again under the lease: its owner may have ended it just before it let go.
    let Lookup::Found(job) = opened.store.lookup(id)? else {
        lease.retire();
        return Ok(());
    };
    if !job.state.ended() {
        let end = verdict(opened, engine, &job)?;
        let state = end.state;
        if opened.store.finish(id, &end, opened.clock.now())? {
            tracing::info!(%id, %state, "settled a job whose owner died");
        }
    }
    lease.retire();
    Ok(())
}

fn verdict(opened: &Opened, engine: &Engine, job: &Job) -> Result<End, JobsError> {
    if job.sent.is_none() {
        return Ok(never_sent());
    }
    let mode = if job.mode == Mode::Research.name() {
        Mode::Research
    } else {
        Mode::Answer
    };
    let head = opened.store.payload(&job.id)?.and_then(|kept| kept.head);
    let read = match &job.capture {
        Some(capture) => reread(
            engine,
            mode,
            &headers_of(head.as_deref()),
            capture,
            u64::MAX,
        )?,
        None => Reread {
            outcome: empty(mode),
            unread: None,
        },
    };
    let captured = job.capture.as_deref().is_some_and(Path::exists);
    let Reread { outcome, unread } = read;
    let rendered = match &unread {
        None if outcome.complete && outcome.error.is_none() => done(engine, &outcome),
        _ => interrupted(engine, outcome.clone(), unread.as_deref(), captured),
    };
    // An outcome that cannot be rendered is as good as none.
    Ok(rendered.unwrap_or_else(|error| {
        let why = error.to_string();
        interrupted(engine, empty(mode), Some(&why), captured)
            .unwrap_or_else(|_| bare(&why, captured))
    }))
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

fn done(engine: &Engine, outcome: &Outcome) -> Result<End, SandboxError> {
    let settlement = settle(outcome, false);
    Ok(End {
        state: State::Done,
        settlement,
        outcome: Some(render(engine, outcome)?),
        whole: whole(outcome),
        captured: true,
        error: None,
        note: unknown_note(settlement),
        progress: outcome.progress.last().map(frame),
    })
}

fn interrupted(
    engine: &Engine,
    mut outcome: Outcome,
    unread: Option<&str>,
    captured: bool,
) -> Result<End, SandboxError> {
    let mut end = bare_of(unread, captured, &outcome);
    if let Some(error) = &end.error {
        outcome.error.get_or_insert_with(|| OutcomeError {
            kind: error.kind.clone(),
            message: error.message.clone(),
        });
    }
    end.outcome = Some(render(engine, &outcome)?);
    Ok(end)
}

/// The end of a job whose outcome cannot even be rendered.
fn bare(why: &str, captured: bool) -> End {
    bare_of(Some(why), captured, &empty(Mode::Answer))
}

fn bare_of(unread: Option<&str>, captured: bool, outcome: &Outcome) -> End {
    let message = match unread {
        None => "the process that worked on it died; what its capture holds is the result, incomplete. It is not started again by itself".to_owned(),
        Some(why) => format!(
            "the process that worked on it died, and the sandbox cannot read all of its capture ({why}); what could be read is the result, and the capture is kept as it is. It is not started again by itself"
        ),
    };
    // What a capture that could not be read to its end says of the cost is not the last word.
    let settlement = match unread {
        None => settle(outcome, false),
        Some(_) => Settlement::Unknown,
    };
    End {
        state: State::Interrupted,
        settlement,
        outcome: None,
        whole: false,
        captured,
        error: Some(JobFault::new("interrupted", message)),
        note: unknown_note(settlement),
        progress: outcome.progress.last().map(frame),
    }
}
