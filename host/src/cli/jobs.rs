//! `glovebox jobs`: lists jobs, shows one, prints its result, cancels and deletes it.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::Value;

use super::ending::{self, Form};
use super::exit_status::ExitStatus as _;
use super::table::{self, Column};
use super::terminal::one_line;
use super::{jobs_setup, output};
use crate::answers::ResearchProgress;
use crate::exit::Exit;
use crate::jobs::clock::{self, Millis};
use crate::jobs::{Filter, Job, Jobs, JobsError, Micros, Rendered, State};
use crate::settings::Settings;

/// Jobs shown where `--limit` says nothing: a screenful.
const SHOWN: usize = 30;
/// Characters of a question in a list.
const QUERY_SHOWN: usize = 60;

/// List research jobs, show one, print its result, cancel or delete it
///
/// JOB is a job's id, a unique beginning of it, or `latest` for the newest research.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  glovebox jobs                             list the latest researches
  glovebox jobs result latest --wait 300    wait for the newest and print it
  glovebox jobs cancel 0192f0c1")]
pub struct JobsArguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    list: List,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List research jobs, the newest first
    #[command(visible_alias = "ls")]
    List(List),
    /// Show the state, the progress and the cost of a job
    #[command(visible_alias = "show")]
    Status(Status),
    /// Print the result of a job
    Result(Fetch),
    /// Wait for the end of a job and print its result
    Wait(Wait),
    /// Cancel a job, upstream too; what had come is kept
    #[command(visible_alias = "stop")]
    Cancel(One),
    /// Delete an ended job, its result and its capture
    #[command(visible_alias = "rm")]
    Delete(One),
    /// Delete the jobs that ended longer ago than results are kept
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
    /// List every call, not only research
    #[arg(long)]
    all: bool,
    /// List only jobs in this state: queued, running, done, failed, cancelled or interrupted
    #[arg(long, value_name = "STATE")]
    state: Option<State>,
    /// List this many jobs at most
    #[arg(long, value_name = "NUMBER", default_value_t = SHOWN, value_parser = at_least_one)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
struct Status {
    /// The job's id, a unique beginning of it, or `latest`
    #[arg(value_name = "JOB")]
    id: String,
    /// Wait this many seconds for its end
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    wait: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
struct Fetch {
    /// The job's id, a unique beginning of it, or `latest`
    #[arg(value_name = "JOB")]
    id: String,
    /// Wait this many seconds for its end
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
struct Wait {
    #[command(flatten)]
    fetch: Fetch,
}

/// How long `jobs wait` waits where `--wait` says nothing: longer than a research can take.
const WAIT_SECONDS: f64 = 3_600.0;

#[derive(Args, Debug)]
struct One {
    /// The job's id, a unique beginning of it, or `latest`
    #[arg(value_name = "JOB")]
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
            Action::Wait(Wait { mut fetch }) => {
                if fetch.wait <= 0.0 {
                    fetch.wait = WAIT_SECONDS;
                }
                fetch.run(&jobs).await
            }
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
            let now = clock::now();
            let width = table::width();
            let rows: Vec<[String; 6]> = jobs.iter().map(|job| row(job, now, width)).collect();
            for line in table::lines(&COLUMNS, &rows, width) {
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

/// The columns of the list. Where there is no room for all, the cost is kept longest after the id.
const COLUMNS: [Column; 6] = [
    column("ID", 0, false),
    column("STATE", 2, false),
    column("AGE", 4, false),
    column("TOOK", 5, false),
    column("COST", 1, false),
    column("QUESTION", 3, true),
];
/// Characters of an id on a terminal: they hold the time to the millisecond, and are accepted in its place.
const ID_SHOWN: usize = 13;

const fn column(name: &'static str, rank: u8, text: bool) -> Column {
    Column { name, rank, text }
}

fn row(job: &Job, now: Millis, width: Option<usize>) -> [String; 6] {
    let id = job.id.as_str();
    [
        match width {
            Some(_) => id.get(..ID_SHOWN).unwrap_or(id).to_owned(),
            None => id.to_owned(),
        },
        job.state.to_string(),
        length((now.0 - job.created.0) / 1000),
        length(job.elapsed_ms(now) / 1000),
        cost(job),
        match width {
            Some(_) => one_line(&job.query).replace('\t', " "),
            None => shortened(&job.query),
        },
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

/// Returns a question on one line, cut where it is long.
fn shortened(query: &str) -> String {
    table::cut(&one_line(query).replace('\t', " "), QUERY_SHOWN)
}

impl Status {
    async fn run(self, jobs: &Jobs) -> anyhow::Result<Exit> {
        let id = jobs.find(&self.id).await?;
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
        let id = jobs.find(&self.id).await?;
        let (job, outcome) = jobs.result(&id, seconds(self.wait)).await?;
        if !job.state.ended() {
            let after = if self.wait > 0.0 {
                format!(" after {} s", self.wait)
            } else {
                String::new()
            };
            output::message(&format_args!(
                "glovebox: the job {id} is still {}{after}; `glovebox jobs wait {id}` waits for its end",
                job.state
            ));
            return Ok(Exit::Running);
        }
        self.print(jobs, &job, outcome.as_ref())?;
        ending::explain(&job, outcome.as_ref(), &[], false);
        Ok(job.exit())
    }

    fn print(&self, jobs: &Jobs, job: &Job, outcome: Option<&Rendered>) -> std::io::Result<()> {
        match outcome {
            Some(outcome) => {
                let form = Form::of(self.json, self.markdown);
                ending::print(job, outcome, form, jobs.answers())
            }
            // Nothing was sent, so there is no outcome; what there is to know is the job.
            None if self.json => output::json(&format_args!("{:#}", job.to_json())),
            None => Ok(()),
        }
    }
}

impl One {
    async fn cancel(self, jobs: &Jobs) -> anyhow::Result<Exit> {
        let id = jobs.find(&self.id).await?;
        let before = jobs.job(&id).await?;
        let job = jobs.cancel(&id).await?;
        let words = if before.state.ended() {
            format!("had ended before it was cancelled; it is {}", job.state)
        } else if job.state.ended() {
            let kept = "what had come is kept; `glovebox jobs result` shows it";
            format!("is {}; {kept}", job.state)
        } else {
            "was asked to stop, and will stop within some seconds".to_owned()
        };
        self.say(&format!("{id} {words}"), &job.to_json())
    }

    async fn delete(self, jobs: &Jobs) -> anyhow::Result<Exit> {
        let id = jobs.find(&self.id).await?;
        jobs.delete(&id).await?;
        let words = format!("deleted {id}, its result and its capture");
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
            output::line(&format!("deleted {removed} expired {jobs}"))?;
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
