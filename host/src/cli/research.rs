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
use super::options::{self, QuestionOptions, Target, need_key};
use super::output;
use super::{ending, jobs_setup};
use crate::answers::question::{
    self, ITERATIONS, QUERIES, RESULTS_PER_QUERY, SECONDS, TOKENS_PER_QUERY,
};
use crate::answers::{Mode, Question, cost};
use crate::exit::Exit;
use crate::jobs::{Job, Jobs, JobsError, Submitted};
use crate::settings::Settings;

/// How often the clock in the live line moves while nothing else does.
const CLOCK: Duration = Duration::from_secs(1);

/// Researches a question for minutes and prints a report with its sources and its cost.
#[derive(Args, Debug)]
pub struct Research {
    #[command(flatten)]
    asking: QuestionOptions,
    #[arg(
        long,
        help = ITERATIONS.help("At most so many iterations"),
        default_value_t = ITERATIONS.default,
        value_name = "NUMBER",
        allow_negative_numbers = true
    )]
    iterations: i64,
    #[arg(
        long,
        help = format!("{}; runs overshoot it", SECONDS.help("A soft budget of time")),
        default_value_t = SECONDS.default,
        value_name = "SECONDS",
        allow_negative_numbers = true
    )]
    seconds: i64,
    #[arg(
        long,
        help = format!("{}; each costs {}", QUERIES.help("At most so many queries"), cost::query_price!()),
        default_value_t = QUERIES.default,
        value_name = "NUMBER",
        allow_negative_numbers = true
    )]
    queries: i64,
    #[arg(
        long,
        help = TOKENS_PER_QUERY.help("Tokens read for a query"),
        default_value_t = TOKENS_PER_QUERY.default,
        value_name = "NUMBER",
        allow_negative_numbers = true
    )]
    tokens_per_query: i64,
    #[arg(
        long,
        help = RESULTS_PER_QUERY.help("Results read for a query"),
        default_value_t = RESULTS_PER_QUERY.default,
        value_name = "NUMBER",
        allow_negative_numbers = true
    )]
    results_per_query: i64,
    /// Without thinking between the iterations
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
        let asking = &self.asking;
        let query = match asking.query() {
            Ok(query) => query,
            Err(problem) => return Ok(say(&problem, Exit::Usage)),
        };
        let queries = u32::try_from(self.queries).unwrap_or_default();
        let call = asking.call(
            settings,
            Mode::Research,
            self.question(query),
            cost::research(queries),
        );
        if asking.dry_run {
            return asking.show(settings, &call).await;
        }
        if let Err(problem) = need_key(settings) {
            return Ok(say(&problem, Exit::Key));
        }
        let target = match asking.target() {
            Ok(target) => target,
            Err(problem) => return Ok(say(&problem, Exit::Usage)),
        };
        let jobs = jobs_setup::stored(settings);
        let live = Live::start("starting the research");
        // From here on: a worker that is being started must hear of it too.
        let cancel = CancellationToken::new();
        tokio::spawn(on_interrupt(cancel.clone()));
        let submitted = match jobs.detach(call).await {
            Ok(submitted) => submitted,
            Err(error) => {
                live.clear();
                return Ok(say(&options::refusal(&error), error.exit()));
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
        self.asking.question(query).with_research(research)
    }

    fn tell_id(&self, submitted: &Submitted) -> anyhow::Result<Exit> {
        if self.asking.json {
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
        let mut watch = jobs.watch(id).await?;
        loop {
            let job = watch.job().clone();
            if job.state.ended() {
                return Ok(job);
            }
            live.say(research_line(
                job.progress.as_ref(),
                begun.elapsed(),
                self.seconds,
            ));
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
            ending::give(&self.asking, target, job, rendered)?;
        }
        ending::explain(job, rendered.as_ref(), &[], true);
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
