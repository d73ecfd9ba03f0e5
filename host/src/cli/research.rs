//! `glovebox research`: deep research with a live progress display.
//!
//! The work is done by a worker process, so a lost terminal does not end it; an interrupt does.

use std::time::Duration;

use clap::Args;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::ask::{on_interrupt, say};
use super::display::{Live, research_line};
use super::options::{self, Asking, Target, need_key};
use super::output;
use super::{desk, ending};
use crate::engine::answers::{Mode, Question};
use crate::exit::Exit;
use crate::jobs::{Desk, Job, JobsError, Submitted};
use crate::policy::estimate;
use crate::settings::Settings;

/// How often the clock in the live line moves while nothing else does.
const CLOCK: Duration = Duration::from_secs(1);

/// Researches a question for minutes and prints a report with its sources and its cost.
#[derive(Args, Debug)]
pub struct Research {
    #[command(flatten)]
    asking: Asking,
    /// At most so many iterations, 1 to 5
    #[arg(
        long,
        default_value_t = 4,
        value_name = "NUMBER",
        allow_negative_numbers = true
    )]
    iterations: i64,
    /// A soft budget of time, 1 to 300; runs overshoot it
    #[arg(
        long,
        default_value_t = 180,
        value_name = "SECONDS",
        allow_negative_numbers = true
    )]
    seconds: i64,
    /// At most so many queries, 1 to 50; each costs about $0.07
    #[arg(
        long,
        default_value_t = 20,
        value_name = "NUMBER",
        allow_negative_numbers = true
    )]
    queries: i64,
    /// Tokens read for a query, 1024 to 16384
    #[arg(
        long,
        default_value_t = 8192,
        value_name = "NUMBER",
        allow_negative_numbers = true
    )]
    tokens_per_query: i64,
    /// Results read for a query, 1 to 60
    #[arg(
        long,
        default_value_t = 60,
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
            estimate::research(queries),
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
        let desk = desk::stored(settings);
        let live = Live::start("starting the research");
        // From here on: a worker that is being started must hear of it too.
        let cancel = CancellationToken::new();
        tokio::spawn(on_interrupt(cancel.clone()));
        let submitted = match desk.detach(call).await {
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
        let followed = self.follow(&desk, &submitted, &live, cancel).await;
        live.clear();
        match followed {
            Ok(job) => self.tell_end(&desk, &job, target).await,
            Err(error) => Ok(say(&error.to_string(), error.exit())),
        }
    }

    fn question(&self, query: String) -> Question {
        Question {
            enable_research: Some(true),
            research_allow_thinking: Some(!self.no_thinking),
            research_maximum_number_of_tokens_per_query: Some(self.tokens_per_query),
            research_maximum_number_of_queries: Some(self.queries),
            research_maximum_number_of_iterations: Some(self.iterations),
            research_maximum_number_of_seconds: Some(self.seconds),
            research_maximum_number_of_results_per_query: Some(self.results_per_query),
            ..self.asking.question(query)
        }
    }

    fn tell_id(&self, submitted: &Submitted) -> anyhow::Result<Exit> {
        if self.asking.json {
            output::line(&submitted.job.to_json())?;
        } else {
            output::line(&submitted.job.id)?;
        }
        Ok(Exit::Done)
    }

    /// Shows the job until its end. An interrupt cancels it, unless it is another client's.
    async fn follow(
        &self,
        desk: &Desk,
        submitted: &Submitted,
        live: &Live,
        cancel: CancellationToken,
    ) -> Result<Job, JobsError> {
        let id = &submitted.job.id;
        let begun = Instant::now();
        let mut watch = desk.watch(id).await?;
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
                    return desk.cancel(id).await;
                }
            }
        }
    }

    async fn tell_end(
        &self,
        desk: &Desk,
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
        let rendered = match desk.outcome(&job.id).await {
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
