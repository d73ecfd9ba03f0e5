//! How a call's end is told: the outcome, what is odd about it, what was kept, the exit status.

use std::io::{self, IsTerminal as _};
use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;

use super::exit_status::ExitStatus as _;
use super::options::{QuestionOptions, Target};
use super::output;
use super::terminal::{escape_for_terminal, escape_json_for_terminal};
use crate::exit::Exit;
use crate::jobs::{Job, Rendered, State};

/// Gives the outcome where the options want it: as JSON always, as text where there is any.
///
/// # Errors
/// When it cannot be written.
pub fn give(
    asking: &QuestionOptions,
    target: Option<Target>,
    job: &Job,
    rendered: &Rendered,
) -> anyhow::Result<()> {
    if !asking.json && !has_text(rendered) {
        return Ok(());
    }
    match target {
        Some(target) => {
            let text = chosen(asking, rendered, target.is_terminal());
            target.fill(&text).with_context(|| kept(job))
        }
        None => {
            let text = chosen(asking, rendered, io::stdout().is_terminal());
            output::line(&text).map_err(|error| anyhow::anyhow!("{error}; {}", kept(job)))
        }
    }
}

fn has_text(rendered: &Rendered) -> bool {
    let outcome = parsed(rendered);
    let filled = |name: &str| {
        outcome
            .get(name)
            .and_then(Value::as_str)
            .is_some_and(|text| !text.trim().is_empty())
    };
    filled("answer") || filled("draft")
}

fn parsed(rendered: &Rendered) -> Value {
    serde_json::from_str(&rendered.json).unwrap_or_default()
}

fn chosen(asking: &QuestionOptions, rendered: &Rendered, terminal: bool) -> String {
    if asking.json && terminal {
        escape_json_for_terminal(&rendered.json)
    } else if asking.json {
        rendered.json.clone()
    } else if asking.markdown {
        escape_for_terminal(&rendered.markdown)
    } else {
        escape_for_terminal(&rendered.plain)
    }
}

/// The outcome without its answer, for a terminal that has seen the answer grow.
#[must_use]
pub fn rest(rendered: &Rendered, answer: &str) -> String {
    let plain = escape_for_terminal(&rendered.plain);
    let answer = escape_for_terminal(answer);
    match plain.strip_prefix(answer.trim_end()) {
        Some(rest) => rest.trim_start_matches('\n').to_owned(),
        None => plain,
    }
}

/// Says on standard error why a call did not end well, and, where `keeps` says so, what was kept.
pub fn explain(job: &Job, rendered: Option<&Rendered>, warnings: &[String], keeps: bool) {
    let mut lines: Vec<String> = warnings.to_vec();
    if let Some(error) = &job.error {
        lines.push(error.message.clone());
    } else if job.exit() == Exit::Incomplete {
        lines.push(incomplete(rendered).to_owned());
    }
    lines.extend(job.note.clone());
    let keeps = keeps && warnings.is_empty() && job.error.is_some();
    if keeps && (cancelled_midway(job) || rendered.is_some_and(has_text)) {
        lines.push(kept(job));
    }
    for line in lines {
        output::message(&format_args!("glovebox: {line}"));
    }
}

/// Whether it was stopped with something of the reply there, be it only thoughts and queries.
fn cancelled_midway(job: &Job) -> bool {
    let came = |path: &str| {
        Path::new(path)
            .metadata()
            .is_ok_and(|metadata| metadata.len() > 0)
    };
    job.state == State::Cancelled && job.capture.as_deref().is_some_and(came)
}

fn incomplete(rendered: Option<&Rendered>) -> &'static str {
    let outcome = rendered.map(parsed).unwrap_or_default();
    if outcome.get("truncated").and_then(Value::as_bool) == Some(true) {
        "the upstream cut the answer short at its length limit"
    } else {
        "the answer may be incomplete: the reply ended without its mark of an end"
    }
}

fn kept(job: &Job) -> String {
    let id = &job.id;
    let stream = match &job.capture {
        Some(path) if Path::new(path).exists() => format!(", and its raw stream in {path}"),
        _ => String::new(),
    };
    format!("what had come is kept: glovebox jobs result {id}{stream}")
}
