//! `glovebox research`: deep research with a live progress display.
//!
//! The work is done by a worker process, so a lost terminal does not end it; an interrupt does.

use std::time::Duration;

use clap::Args;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::ask::{on_interrupt, say};
use super::display::{Live, research_line};
use super::exit_status::ExitStatus as _;
use super::options::{QuestionOptions, Target, need_key, refusal};
use super::output;
use super::{ending, jobs_setup};
use crate::answers::question::{
    self, ITERATIONS, QUERIES, RESULTS_PER_QUERY, SECONDS, TOKENS_PER_QUERY,
};
use crate::answers::{Mode, Question, cost};
use crate::exit::Exit;
use crate::jobs::{Job, Jobs, JobsError, State, Submitted};
use crate::settings::Settings;

/// How often the clock in the live line moves while nothing else does.
const CLOCK: Duration = Duration::from_secs(1);
/// How often a line is printed where standard error is no terminal.
const REPORTED: Duration = Duration::from_secs(15);

/// Research a question for minutes and print a report
///
/// A research costs about $0.07 a query: usually under $1, and planned at most $1.60 unless --queries says otherwise. It is
/// a job: it goes on where the terminal is lost, and `glovebox jobs` shows it.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  glovebox research \"solid-state batteries in 2026\"
  glovebox research --queries 12 --max-usd 1 \"the history of the zipper\"
  glovebox research --detach \"a long question\"   print the id and return
  glovebox jobs result latest --wait 300           wait for it and print it")]
pub struct Research {
    #[command(flatten)]
    options: QuestionOptions,
    #[arg(
        long,
        help = ITERATIONS.help("Run this many iterations at most"),
        default_value_t = ITERATIONS.default,
        value_name = "NUMBER",
        allow_negative_numbers = true
    )]
    iterations: i64,
    #[arg(
        long,
        help = format!("{}; a research can take longer", SECONDS.help("Research for about this many seconds")),
        default_value_t = SECONDS.default,
        value_name = "SECONDS",
        allow_negative_numbers = true
    )]
    seconds: i64,
    #[arg(
        long,
        help = format!("{}; each costs {}", QUERIES.help("Run this many queries at most"), cost::query_price!()),
        default_value_t = QUERIES.default,
        value_name = "NUMBER",
        allow_negative_numbers = true
    )]
    queries: i64,
    #[arg(
        long,
        help = TOKENS_PER_QUERY.help("Read this many tokens for a query at most"),
        default_value_t = TOKENS_PER_QUERY.default,
        value_name = "NUMBER",
        allow_negative_numbers = true
    )]
    tokens_per_query: i64,
    #[arg(
        long,
        help = RESULTS_PER_QUERY.help("Read this many results for a query at most"),
        default_value_t = RESULTS_PER_QUERY.default,
        value_name = "NUMBER",
        allow_negative_numbers = true
    )]
    results_per_query: i64,
    /// Do not think between the iterations
    #[arg(long)]
    no_thinking: bool,
    /// Print the id and leave the research running
    #[arg(long, conflicts_with_all = ["output", "markdown"])]
    detach: bool,
}

impl Research {
    /// Runs the command.
    ///
    /// # Errors
    /// What no exit status stands for, such as standard output that cannot be written.
    pub async fn run(self, settings: &Settings) -> anyhow::Result<Exit> {
        let options = &self.options;
        let query = match options.query() {
            Ok(query) => query,
            Err(problem) => return Ok(say(&problem, Exit::Usage)),
        };
        let queries = u32::try_from(self.queries).unwrap_or_default();
        let call = options.call(
            settings,
            Mode::Research,
            self.question(query),
            cost::research(queries),
        );
        if options.dry_run {
            return options.show(settings, &call).await;
        }
        if let Err(problem) = need_key(settings) {
            return Ok(say(&problem, Exit::Key));
        }
        let target = match options.target() {
            Ok(target) => target,
            Err(problem) => return Ok(say(&problem, Exit::Usage)),
        };
        if let Err(problem) = options.confirm(settings, &call).await {
            return Ok(say(&problem, Exit::Money));
        }
        let jobs = jobs_setup::stored(settings);
        let live = Live::start("starting the research");
        // From here on: a worker that is being started must hear of it too.
        let cancel = CancellationToken::new();
        tokio::spawn(on_interrupt(cancel.clone()));
        let submitted = match jobs.detach(call).await {
            Ok(submitted) => submitted,
            Err(error) => {
                live.clear();
                return Ok(say(&refusal(&error), error.exit()));
            }
        };
        tell_submitted(&submitted, &live);
        if self.detach {
            live.clear();
            return self.tell_id(&submitted);
        }
        let followed = self.follow(&jobs, &submitted, &live, cancel).await;
        live.clear();
        match followed {
            Ok(job) => self.tell_end(&jobs, &job, target).await,
            Err(error) => Ok(say(&error.to_string(), error.exit())),
        }
    }

    fn question(&self, query: String) -> Question {
        let research = question::Research {
            iterations: self.iterations,
            seconds: self.seconds,
            queries: self.queries,
            tokens_per_query: self.tokens_per_query,
            results_per_query: self.results_per_query,
            thinking: !self.no_thinking,
        };
        self.options.question(query).with_research(research)
    }

    fn tell_id(&self, submitted: &Submitted) -> anyhow::Result<Exit> {
        if self.options.json {
            output::json(&submitted.job.to_json())?;
        } else {
            output::line(&submitted.job.id)?;
        }
        Ok(Exit::Done)
    }

    /// Shows the job until its end. An interrupt cancels it, unless it is another client's.
    async fn follow(
        &self,
        jobs: &Jobs,
        submitted: &Submitted,
        live: &Live,
        cancel: CancellationToken,
    ) -> Result<Job, JobsError> {
        let id = &submitted.job.id;
        let begun = Instant::now();
        let mut reported = begun;
        let mut watch = jobs.watch(id).await?;
        loop {
            let job = watch.job().clone();
            if job.state.ended() {
                return Ok(job);
            }
            let line = research_line(job.progress.as_ref(), begun.elapsed(), self.seconds);
            if live.is_hidden() && reported.elapsed() >= REPORTED {
                reported = Instant::now();
                output::message(&format_args!("glovebox: {line}"));
            }
            live.say(line);
            tokio::select! {
                changed = tokio::time::timeout(CLOCK, watch.next()) => {
                    if let Ok(changed) = changed {
                        changed?;
                    }
                }
                () = cancel.cancelled() => {
                    if submitted.already_running {
                        return Ok(job);
                    }
                    live.say("stopping");
                    return jobs.cancel(id).await;
                }
            }
        }
    }

    async fn tell_end(
        &self,
        jobs: &Jobs,
        job: &Job,
        target: Option<Target>,
    ) -> anyhow::Result<Exit> {
        if !job.state.ended() {
            output::message(&format_args!(
                "glovebox: the research goes on under the id {}; glovebox jobs result {0} --wait 60 waits for it",
                job.id
            ));
            return Ok(Exit::Interrupted);
        }
        let rendered = match jobs.outcome(&job.id).await {
            Ok(rendered) => rendered,
            Err(error) => return Ok(say(&error.to_string(), error.exit())),
        };
        if let Some(rendered) = &rendered {
            ending::write(&self.options, target, job, rendered, jobs.answers())?;
        }
        ending::explain(job, rendered.as_ref(), &[], true);
        if job.state == State::Cancelled {
            output::message(&"glovebox: --detach leaves a research running");
        }
        Ok(job.exit())
    }
}

fn tell_submitted(submitted: &Submitted, live: &Live) {
    for warning in &submitted.warnings {
        live.note(&format!("glovebox: {warning}"));
    }
    if submitted.already_running {
        live.note(&format!(
            "glovebox: the same research is running already, under the id {}",
            submitted.job.id
        ));
    }
}
