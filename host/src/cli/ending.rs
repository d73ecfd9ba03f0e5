//! How the end of a call is shown: the outcome, what is odd about it, and what was kept.

use std::io::{self, IsTerminal as _};
use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;

use super::exit_status::ExitStatus as _;
use super::options::{QuestionOptions, Target};
use super::output;
use super::render::{Renderer, Terminal};
use super::terminal::{escape_for_terminal, escape_json_for_terminal};
use crate::answers::Answers;
use crate::answers::cost_line::marked_as_simulated;
use crate::exit::Exit;
use crate::jobs::{Job, Rendered, State};

/// Stands where the answer would be, if a reply that was paid for has none.
const NO_ANSWER: &str = "No answer came.";
/// Which form of an outcome is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// JSON.
    Json,
    /// Markdown.
    Markdown,
    /// Text; styled where it goes to a terminal.
    Text,
}

impl Form {
    /// Returns the form that two switches choose.
    #[must_use]
    pub const fn of(json: bool, markdown: bool) -> Self {
        match (json, markdown) {
            (true, _) => Self::Json,
            (false, true) => Self::Markdown,
            (false, false) => Self::Text,
        }
    }
}

/// Writes the outcome of a call to the file that the options name, or to standard output.
///
/// # Errors
/// When it cannot be written.
pub fn write(
    options: &QuestionOptions,
    target: Option<Target>,
    job: &Job,
    rendered: &Rendered,
    answers: &Answers,
) -> anyhow::Result<()> {
    let form = Form::of(options.json, options.markdown);
    if form != Form::Json && !is_worth_showing(job, rendered) {
        return Ok(());
    }
    match target {
        Some(target) => {
            let text = text(job, rendered, form, target.is_terminal());
            target.fill(&text).with_context(|| kept(job))
        }
        None => print(job, rendered, form, answers)
            .map_err(|error| anyhow::anyhow!("{error}; {}", kept(job))),
    }
}

/// Prints an outcome on standard output.
///
/// # Errors
/// When standard output cannot be written.
pub fn print(job: &Job, rendered: &Rendered, form: Form, answers: &Answers) -> io::Result<()> {
    match Terminal::of_stdout().filter(|_| form == Form::Text) {
        None => {
            let text = text(job, rendered, form, io::stdout().is_terminal());
            output::raw_line(&text)
        }
        Some(terminal) => {
            let answer = answer(rendered);
            for line in styled(&answer, terminal, answers) {
                output::raw_line(&line)?;
            }
            output::raw_line(&rest(job, rendered, &answer))
        }
    }
}

/// Returns the lines of a text in Markdown on a terminal. Where the component fails, they are as they came.
#[must_use]
pub fn styled(markdown: &str, terminal: Terminal, answers: &Answers) -> Vec<String> {
    let mut renderer = Renderer::new(terminal);
    let mut lines = Vec::new();
    let mut text = markdown;
    while !text.is_empty() {
        match answers.spans(text, true) {
            Ok(styled) if styled.used > 0 => {
                lines.extend(renderer.lines(&styled.closed));
                text = text.get(styled.used as usize..).unwrap_or_default();
            }
            _ => {
                lines.extend(escape_for_terminal(text).lines().map(str::to_owned));
                break;
            }
        }
    }
    lines
}

/// Returns what follows the answer on a terminal: its sources and its cost.
#[must_use]
pub fn rest(job: &Job, rendered: &Rendered, answer: &str) -> String {
    let plain = escape_for_terminal(&rendered.plain);
    let shown = escape_for_terminal(answer);
    let rest = plain.strip_prefix(shown.trim_end()).unwrap_or(&plain);
    let rest = with_note_of_no_answer(job, rendered, rest.trim_matches('\n'));
    let rest = with_mark(job, &rest);
    if answer.is_empty() {
        rest
    } else {
        format!("\n{rest}")
    }
}

fn text(job: &Job, rendered: &Rendered, form: Form, terminal: bool) -> String {
    match form {
        Form::Json if terminal => escape_json_for_terminal(&rendered.json),
        Form::Json => rendered.json.clone(),
        Form::Markdown | Form::Text => {
            let text = if form == Form::Markdown {
                &rendered.markdown
            } else {
                &rendered.plain
            };
            let text = with_note_of_no_answer(job, rendered, &escape_for_terminal(text));
            with_mark(job, &text)
        }
    }
}

/// Says in the answer's place that there is none, where the reply ended well without one.
fn with_note_of_no_answer(job: &Job, rendered: &Rendered, text: &str) -> String {
    if job.state == State::Done && !has_text(rendered) {
        format!("{NO_ANSWER}\n\n{text}").trim_end().to_owned()
    } else {
        text.to_owned()
    }
}

/// Marks the line about the cost where that is no real money.
fn with_mark(job: &Job, text: &str) -> String {
    if job.simulated {
        marked_as_simulated(text)
    } else {
        text.to_owned()
    }
}

/// Whether an outcome says anything: a reply that ended well does, even if only that no answer came.
fn is_worth_showing(job: &Job, rendered: &Rendered) -> bool {
    job.state == State::Done || has_text(rendered)
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

/// Returns the answer of an outcome, with its `[n]` marks.
#[must_use]
pub fn answer(rendered: &Rendered) -> String {
    let outcome = parsed(rendered);
    let answer = outcome.get("answer").and_then(Value::as_str);
    answer.unwrap_or_default().to_owned()
}

fn parsed(rendered: &Rendered) -> Value {
    serde_json::from_str(&rendered.json).unwrap_or_default()
}

/// Prints on standard error why a call did not end well, and, where `keeps` is set, what was kept.
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

/// Whether it was stopped after something of the reply had come, be it only thoughts and queries.
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
    } else if !rendered.is_some_and(has_text) {
        "the reply ended well, but without an answer; it was billed as shown"
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
