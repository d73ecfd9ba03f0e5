//! `glovebox jobs`: what was asked, how far it is, what came of it.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::Value;

use super::exit_status::ExitStatus as _;
use super::terminal::{escape_for_terminal, one_line};
use super::{ending, jobs_setup, output};
use crate::answers::ResearchProgress;
use crate::exit::Exit;
use crate::jobs::clock::{self, Millis};
use crate::jobs::{Filter, Job, Jobs, JobsError, Micros, Rendered, State};
use crate::settings::Settings;

/// Jobs shown where `--limit` says nothing: a screenful.
const SHOWN: usize = 30;
/// Characters of a question in a list.
const QUERY_SHOWN: usize = 60;

/// Lists jobs, shows one, picks up its result, stops it, removes it.
#[derive(Args, Debug)]
pub struct JobsArguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    list: List,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Research jobs, the newest first
    List(List),
    /// Where a job is, and how far
    Status(Status),
    /// What came of a job
    Result(Fetch),
    /// Stops a job, upstream too
    Cancel(One),
    /// Removes an ended job, its result and its capture
    Delete(One),
    /// Removes what ended longer ago than it is kept
    Prune(Prune),
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("give a whole number, 1 or more".to_owned()),
        Ok(number) => Ok(number),
    }
}

#[derive(Args, Debug)]
struct List {
    /// Every call, not only research
    #[arg(long)]
    all: bool,
    /// Only those in this state: queued, running, done, failed, cancelled or interrupted
    #[arg(long, value_name = "STATE")]
    state: Option<State>,
    /// How many at most
    #[arg(long, value_name = "NUMBER", default_value_t = SHOWN, value_parser = at_least_one)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
struct Status {
    /// The job's id
    id: String,
    /// Wait for its end, so many seconds at most
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    wait: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
struct Fetch {
    /// The job's id
    id: String,
    /// Wait for its end, so many seconds at most
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    wait: f64,
    /// Print the outcome as JSON
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print Markdown
    #[arg(long)]
    markdown: bool,
}

#[derive(Args, Debug)]
struct One {
    /// The job's id
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
struct Prune {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl JobsArguments {
    /// Runs the command.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub async fn run(self, settings: &Settings) -> anyhow::Result<Exit> {
        let jobs = jobs_setup::stored(settings);
        let action = self.action.unwrap_or(Action::List(self.list));
        let done = match action {
            Action::List(list) => list.run(&jobs).await,
            Action::Status(status) => status.run(&jobs).await,
            Action::Result(fetch) => fetch.run(&jobs).await,
            Action::Cancel(one) => one.cancel(&jobs).await,
            Action::Delete(one) => one.delete(&jobs).await,
            Action::Prune(prune) => prune.run(&jobs).await,
        };
        report_error(done)
    }
}

/// Prints the error of a command on jobs, and returns its exit status.
pub(super) fn report_error(done: anyhow::Result<Exit>) -> anyhow::Result<Exit> {
    match done.map_err(anyhow::Error::downcast::<JobsError>) {
        Ok(exit) => Ok(exit),
        Err(Ok(error)) => {
            output::message(&format_args!("glovebox: {error}"));
            Ok(error.exit())
        }
        Err(Err(other)) => Err(other),
    }
}

impl List {
    async fn run(self, jobs: &Jobs) -> anyhow::Result<Exit> {
        let filter = Filter {
            all: self.all,
            state: self.state,
        };
        let jobs = jobs.list(filter, self.limit).await?;
        if self.json {
            let jobs: Vec<Value> = jobs.iter().map(Job::to_json).collect();
            output::json(&format_args!("{:#}", Value::Array(jobs)))?;
        } else if jobs.is_empty() {
            output::line(&self.nothing())?;
        } else {
            for line in table(&jobs) {
                output::line(&line)?;
            }
        }
        Ok(Exit::Done)
    }

    fn nothing(&self) -> String {
        let what = if self.all { "call" } else { "research" };
        let state = self
            .state
            .map(|state| format!(" is {state}"))
            .unwrap_or_else(|| " is stored".to_owned());
        let hint = if self.state.is_some() {
            "Without --state, all are shown."
        } else if self.all {
            "Results are kept for a day by default (--keep)."
        } else {
            "`glovebox research --detach QUESTION` starts one; --all shows every call."
        };
        format!("No {what}{state}. {hint}")
    }
}

/// Columns as wide as their widest cell; the question last.
fn table(jobs: &[Job]) -> Vec<String> {
    let head = ["ID", "STATE", "AGE", "TOOK", "COST", "QUESTION"].map(str::to_owned);
    let now = clock::now();
    let rows: Vec<[String; 6]> = std::iter::once(head)
        .chain(jobs.iter().map(|job| row(job, now)))
        .collect();
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..5).map(width).collect();
    rows.iter()
        .map(|row| {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(&format!("{cell:<width$}  "));
            }
            line.push_str(row.last().map_or("", String::as_str));
            line
        })
        .collect()
}

fn row(job: &Job, now: Millis) -> [String; 6] {
    [
        job.id.to_string(),
        job.state.to_string(),
        length((now.0 - job.created.0) / 1000),
        length(job.elapsed_ms(now) / 1000),
        cost(job),
        shortened(&job.query),
    ]
}

/// What a job cost, in a word.
fn cost(job: &Job) -> String {
    match (job.cost, job.state.ended()) {
        (Some(cost), _) => job.amount(cost),
        (None, true) => "unknown".to_owned(),
        (None, false) => "-".to_owned(),
    }
}

/// Seconds as a person says them.
fn length(seconds: i64) -> String {
    match seconds {
        ..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// A question in one line.
fn shortened(query: &str) -> String {
    let line = one_line(query).replace('\t', " ");
    if line.chars().count() <= QUERY_SHOWN {
        return line;
    }
    let start: String = line.chars().take(QUERY_SHOWN - 1).collect();
    format!("{start}…")
}

impl Status {
    async fn run(self, jobs: &Jobs) -> anyhow::Result<Exit> {
        let id = Jobs::parse_id(&self.id)?;
        let job = jobs.wait(&id, seconds(self.wait)).await?;
        if self.json {
            output::json(&format_args!("{:#}", job.to_json()))?;
        } else {
            for line in sheet(&job) {
                output::line(&line)?;
            }
        }
        Ok(Exit::Done)
    }
}

/// A wait as a person types it; what is no length of time is none.
fn seconds(wait: f64) -> Duration {
    Duration::try_from_secs_f64(wait).unwrap_or_default()
}

/// A job, a line a fact.
fn sheet(job: &Job) -> Vec<String> {
    let now = clock::now();
    let mut facts = vec![
        ("id", job.id.to_string()),
        ("question", shortened(&job.query)),
        ("tool", job.tool.clone()),
        ("state", job.state.to_string()),
        ("created", job.created.rfc3339()),
    ];
    if job.started.is_some() {
        facts.push(("took", length(job.elapsed_ms(now) / 1000)));
    }
    if let Some(progress) = &job.progress {
        facts.push(("progress", progress_text(job, progress)));
    }
    facts.push(("cost", cost(job)));
    if !job.state.ended() || job.cost.is_none() {
        facts.push(("reserved", job.amount(job.reserved)));
    }
    if let Some(error) = &job.error {
        facts.push(("error", format!("{} ({})", error.message, error.kind)));
    }
    if let Some(note) = &job.note {
        facts.push(("note", note.clone()));
    }
    if let Some(capture) = &job.capture {
        facts.push(("capture", capture.clone()));
    }
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    facts
        .into_iter()
        .map(|(name, fact)| format!("{name:<width$}  {}", one_line(&fact)))
        .collect()
}

fn progress_text(job: &Job, progress: &ResearchProgress) -> String {
    let done = progress.done_so_far();
    if job.state.ended() {
        return done;
    }
    let cost = job.amount(progress.cost_so_far());
    format!("{done}, about {cost} so far")
}

impl Fetch {
    async fn run(self, jobs: &Jobs) -> anyhow::Result<Exit> {
        let id = Jobs::parse_id(&self.id)?;
        let (job, outcome) = jobs.result(&id, seconds(self.wait)).await?;
        if !job.state.ended() {
            output::message(&format_args!(
                "glovebox: the job {id} is {}; wait for its end with --wait SECONDS",
                job.state
            ));
            return Ok(Exit::Running);
        }
        self.give(&job, outcome.as_ref())?;
        ending::explain(&job, outcome.as_ref(), &[], false);
        Ok(job.exit())
    }

    fn give(&self, job: &Job, outcome: Option<&Rendered>) -> std::io::Result<()> {
        match outcome {
            Some(outcome) if self.json => output::json(&outcome.json),
            Some(outcome) if self.markdown => output::line(&escape_for_terminal(&outcome.markdown)),
            Some(outcome) => output::line(&escape_for_terminal(&outcome.plain)),
            // Nothing was sent, so there is no outcome; what there is to know is the job.
            None if self.json => output::json(&format_args!("{:#}", job.to_json())),
            None => Ok(()),
        }
    }
}

impl One {
    async fn cancel(self, jobs: &Jobs) -> anyhow::Result<Exit> {
        let id = Jobs::parse_id(&self.id)?;
        let before = jobs.job(&id).await?;
        let job = jobs.cancel(&id).await?;
        let words = if before.state.ended() {
            format!("had ended before: {}", job.state)
        } else if job.state.ended() {
            let kept = "what had come is kept; `glovebox jobs result` shows it";
            format!("{}; {kept}", job.state)
        } else {
            "was asked to stop and will in a moment".to_owned()
        };
        self.say(&format!("{id} {words}"), &job.to_json())
    }

    async fn delete(self, jobs: &Jobs) -> anyhow::Result<Exit> {
        let id = Jobs::parse_id(&self.id)?;
        jobs.delete(&id).await?;
        let words = format!("{id} and its result were removed");
        self.say(&words, &serde_json::json!({ "deleted": id }))
    }

    fn say(&self, words: &str, json: &Value) -> anyhow::Result<Exit> {
        if self.json {
            output::json(&format_args!("{json:#}"))?;
        } else {
            output::line(&words)?;
        }
        Ok(Exit::Done)
    }
}

impl Prune {
    async fn run(self, jobs: &Jobs) -> anyhow::Result<Exit> {
        let removed = jobs.prune().await?;
        if self.json {
            output::json(&serde_json::json!({ "removed": removed }))?;
        } else {
            let jobs = if removed == 1 { "job" } else { "jobs" };
            output::line(&format!("{removed} expired {jobs} removed."))?;
        }
        Ok(Exit::Done)
    }
}

/// A bar of a part of a whole, so many characters wide.
pub(super) fn bar(part: Micros, whole: Micros, width: usize) -> String {
    let share = if whole.0 <= 0 {
        1.0
    } else {
        (part.usd() / whole.usd()).clamp(0.0, 1.0)
    };
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )]
    let full = (share * width as f64).round() as usize;
    format!("{}{}", "█".repeat(full), "░".repeat(width - full))
}
