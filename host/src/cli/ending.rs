//! How a call's end is told: the outcome, what is odd about it, what was kept, the exit status.

use std::io::{self, IsTerminal as _};

use super::display::{harmless, harmless_json};
use super::options::{Asking, Target};
use super::output;
use crate::jobs::{Job, Rendered, State};

/// Gives the outcome where the options want it.
///
/// # Errors
/// When it cannot be written.
pub fn give(asking: &Asking, target: Option<Target>, rendered: &Rendered) -> anyhow::Result<()> {
    let text = chosen(asking, rendered);
    match target {
        Some(target) => target.fill(&text)?,
        None => output::line(&text)?,
    }
    Ok(())
}

fn chosen(asking: &Asking, rendered: &Rendered) -> String {
    if asking.json && io::stdout().is_terminal() && asking.output.is_none() {
        harmless_json(&rendered.json)
    } else if asking.json {
        rendered.json.clone()
    } else if asking.markdown {
        harmless(&rendered.markdown)
    } else {
        harmless(&rendered.plain)
    }
}

/// The outcome without its answer, for a terminal that has seen the answer grow.
#[must_use]
pub fn rest(rendered: &Rendered, answer: &str) -> String {
    let plain = harmless(&rendered.plain);
    let answer = harmless(answer);
    match plain.strip_prefix(answer.trim_end()) {
        Some(rest) => rest.trim_start_matches('\n').to_owned(),
        None => plain,
    }
}

/// Says on standard error why a call did not end well, and what was kept.
pub fn explain(job: &Job, warnings: &[String]) {
    for warning in warnings {
        eprintln!("glovebox: {}", harmless(warning));
    }
    if let Some(error) = &job.error {
        eprintln!("glovebox: {}", harmless(&error.message));
    }
    if let Some(note) = &job.note {
        eprintln!("glovebox: {}", harmless(note));
    }
    if matches!(job.state, State::Cancelled | State::Interrupted)
        || job
            .error
            .as_ref()
            .is_some_and(|error| error.kind == "incomplete")
    {
        eprintln!("glovebox: {}", kept(job));
    }
}

fn kept(job: &Job) -> String {
    let id = &job.id;
    match &job.capture {
        Some(path) if path.exists() => {
            format!(
                "kept: the result under the id {id} (glovebox jobs result {id}), the raw stream in {}",
                path.display()
            )
        }
        _ => format!("kept: the result under the id {id} (glovebox jobs result {id})"),
    }
}
