//! What becomes of a job whose owner died. Looked for at every start and every read; whoever looks holds the
//! job's lease meanwhile, so that one alone decides. Nothing is ever sent again.

use std::fs;
use std::io;
use std::path::Path;

use super::JobsError;
use super::lease::Lease;
use super::model::{Job, JobFault, JobId, Micros, State};
use super::opened::Opened;
use super::result::{bare, frame, render, settle, unknown_note, whole};
use super::store::{End, Lookup, Rendered, Settlement};
use super::work::{Work, headers_of};
use crate::answers::{Answers, Outcome, OutcomeError, empty};
use crate::sandbox::{CHUNK_BYTES, SandboxError};

/// Settles every job whose owner is gone. One that cannot be settled does not keep the others from it.
pub(super) fn sweep(opened: &Opened, answers: &Answers) -> Result<(), JobsError> {
    for id in opened.store.active()? {
        if let Err(error) = recover(opened, answers, &id) {
            tracing::warn!(%id, %error, "a job whose owner died cannot be settled yet");
        }
    }
    Ok(())
}

/// Settles one job, if it has not ended and its owner is gone.
pub(super) fn recover(opened: &Opened, answers: &Answers, id: &JobId) -> Result<(), JobsError> {
    let Some(home) = &opened.home else {
        // A store in memory has no other owners.
        return Ok(());
    };
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
        let end = verdict(opened, answers, &job)?;
        let state = end.state;
        if opened.store.finish(id, &end, opened.clock.now())? {
            tracing::info!(%id, %state, "settled a job whose owner died");
        }
    }
    lease.retire();
    Ok(())
}

fn verdict(opened: &Opened, answers: &Answers, job: &Job) -> Result<End, JobsError> {
    if job.sent.is_none() {
        return Ok(never_sent());
    }
    let Some(payload) = opened.store.payload(&job.id)? else {
        return Err(JobsError::Defect(format!("job {} has no payload", job.id)));
    };
    let work = Work::parse(&payload.payload)?;
    let mut outcome = match job.capture.as_deref().map(read).transpose() {
        Ok(Some(bytes)) if !bytes.is_empty() => {
            let headers = headers_of(payload.head.as_deref());
            answers
                .read(work.mode(), headers, &bytes, CHUNK_BYTES)?
                .outcome
        }
        Ok(_) => empty(work.mode()),
        Err(error) => {
            tracing::warn!(id = %job.id, %error, "a capture cannot be read");
            empty(work.mode())
        }
    };
    if outcome.complete && outcome.error.is_none() {
        return done(answers, &outcome);
    }
    let captured = job.capture.as_deref().is_some_and(Path::exists);
    interrupted(answers, &mut outcome, captured)
}

/// A capture that is not there is an empty one: nothing had come.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        other => other,
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

/// The outcome as it is kept. A component that cannot be used at all is no reason to settle anything: the next
/// process may have another one.
fn rendered(answers: &Answers, outcome: &Outcome) -> Result<Rendered, JobsError> {
    match render(answers, outcome) {
        Ok(rendered) => Ok(rendered),
        Err(error @ SandboxError::Component { .. }) => Err(error.into()),
        Err(error) => Ok(bare(outcome, &error)),
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
        progress: outcome.progress.last().map(frame),
    })
}

fn interrupted(answers: &Answers, outcome: &mut Outcome, captured: bool) -> Result<End, JobsError> {
    let message = "the process that worked on it died; what its capture holds is the result, incomplete. It is not started again by itself";
    outcome.error.get_or_insert_with(|| OutcomeError {
        kind: "interrupted".to_owned(),
        message: message.to_owned(),
    });
    let settlement = settle(outcome, false);
    Ok(End {
        state: State::Interrupted,
        settlement,
        outcome: Some(rendered(answers, outcome)?),
        whole: false,
        captured,
        error: Some(JobFault::new("interrupted", message)),
        note: unknown_note(settlement),
        progress: outcome.progress.last().map(frame),
    })
}
