//! Texts about a job for a model or a person.

use serde_json::Value;

use crate::answers::cost_line::marked_as_simulated;

use super::super::agent_text::without_flags;
use super::super::reply::ToolResult;
use super::super::structured_part::Part;
use crate::jobs::{Job, JobFault, Rendered, State};

/// Returns the address of a job's resource.
#[must_use]
pub fn uri(job: &Job) -> String {
    format!("research://{}", job.id)
}

/// Returns the result about a job that has not ended: its progress and what to do next.
#[must_use]
pub fn unfinished(job: &Job, elapsed_seconds: u64) -> ToolResult {
    let id = &job.id;
    let progress = progress(job, elapsed_seconds);
    let next = format!(
        "Not finished yet. Call research_result with research_id \"{id}\" and wait_seconds 50 until it is; it goes on \
         by itself meanwhile."
    );
    let text = format!("Research {id} is {}: {progress}.\n{next}", job.state);
    let part = Part {
        next: Some(next),
        progress: Some(progress),
        ..Part::of(job)
    };
    ToolResult::new(text, part)
}

/// Returns the progress of a job in one line.
#[must_use]
pub fn progress(job: &Job, elapsed_seconds: u64) -> String {
    let Some(progress) = &job.progress else {
        return format!("{elapsed_seconds} s, no iteration finished yet");
    };
    let cost = job.cost.unwrap_or_else(|| progress.cost_so_far());
    let (done, cost) = (progress.done_so_far(), job.amount(cost));
    format!("{elapsed_seconds} s, {done} read, about {cost} so far")
}

/// Returns the result about an ended job, with its outcome where there is one.
#[must_use]
pub fn ended(job: &Job, outcome: Option<&Rendered>, warnings: &[String]) -> ToolResult {
    let answered = outcome.is_some_and(has_answer);
    let mut text = String::new();
    let opening = opening(job, answered);
    if let Some(opening) = &opening {
        text.push_str(opening);
        text.push_str("\n\n");
    }
    if let Some(outcome) = outcome.filter(|_| answered || job.state == State::Done) {
        if job.simulated {
            text.push_str(&marked_as_simulated(&outcome.markdown));
        } else {
            text.push_str(&outcome.markdown);
        }
        text.push_str("\n\n");
    }
    let notes = job.note.iter().chain(warnings);
    let notes: Vec<String> = notes.map(|note| without_flags(note)).collect();
    for note in &notes {
        text.push_str("Note: ");
        text.push_str(note);
        text.push_str(".\n");
    }
    text.push_str(&format!(
        "(research_id {}; everything: {})",
        job.id,
        uri(job)
    ));
    let mut part = Part::ended(job, outcome, uri(job));
    let sentences = notes.iter().map(|note| format!("{note}."));
    let said: Vec<String> = opening.into_iter().chain(sentences).collect();
    part.note = (!said.is_empty()).then(|| said.join(" "));
    ToolResult {
        text,
        structured: Some(part.into()),
        is_error: match job.state {
            State::Failed => true,
            State::Interrupted => !answered,
            _ => false,
        },
        resource: Some(uri(job)),
        cost: job.cost,
    }
}

/// Returns the text before the result of a job that failed or was stopped.
fn opening(job: &Job, answered: bool) -> Option<String> {
    let what = match job.state {
        State::Failed => "Failed",
        State::Cancelled => "Cancelled",
        State::Interrupted => "Interrupted",
        State::Done | State::Queued | State::Running => return None,
    };
    let why = job
        .error
        .as_ref()
        .map_or_else(String::new, |JobFault { message, .. }| {
            // The message of a cancelled job begins with that word too.
            let message = message.strip_prefix("cancelled; ").unwrap_or(message);
            format!(": {}", without_flags(message))
        });
    let kept = if answered {
        " What had come follows; it is incomplete."
    } else {
        " No part of an answer had come."
    };
    let stop = if why.ends_with(['.', '!', '?']) {
        ""
    } else {
        "."
    };
    Some(format!("{what}{why}{stop}{kept}"))
}

fn has_answer(outcome: &Rendered) -> bool {
    serde_json::from_str::<Value>(&outcome.json)
        .ok()
        .and_then(|outcome| {
            outcome
                .get("answer")?
                .as_str()
                .map(|answer| !answer.is_empty())
        })
        .unwrap_or_default()
}
