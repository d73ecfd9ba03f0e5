//! `glovebox ask`: a cited answer, streamed.

use std::io::{self, IsTerminal as _};

use clap::Args;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::display::{Live, StreamedText};
use super::exit_status::ExitStatus as _;
use super::options::{self, QuestionOptions, Target, need_key};
use super::output;
use super::{ending, jobs_setup};
use crate::answers::{Mode, cost};
use crate::exit::Exit;
use crate::jobs::{Call, Ended, Jobs, JobsError, Phase, Update};
use crate::settings::Settings;

/// Asks a question and prints the answer with its sources and its cost.
#[derive(Args, Debug)]
pub struct Ask {
    #[command(flatten)]
    asking: QuestionOptions,
    /// An answer without sources
    #[arg(long)]
    no_citations: bool,
}

impl Ask {
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
        let question = asking.question(query).with_citations(!self.no_citations);
        let call = asking.call(settings, Mode::Answer, question, cost::ANSWER);
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
        let jobs = jobs_setup::open(settings).await?;
        match ask(&jobs.jobs, call, asking.streams()).await {
            Ok(answered) => self.tell(answered, target),
            Err(error) => Ok(say(&options::refusal(&error), error.exit())),
        }
    }

    fn tell(&self, answered: Answered, target: Option<Target>) -> anyhow::Result<Exit> {
        let Answered {
            ended,
            mut growing,
            stored,
        } = answered;
        growing.end();
        if growing.begun() {
            let rest = ending::rest(&ended.rendered, &ended.outcome.answer);
            if !rest.is_empty() {
                output::line(&format!("\n{rest}"))?;
            }
        } else {
            ending::give(&self.asking, target, &ended.job, &ended.rendered)?;
        }
        ending::explain(&ended.job, Some(&ended.rendered), &ended.warnings, stored);
        Ok(ended.job.exit())
    }
}

impl QuestionOptions {
    /// Whether the answer is shown as it comes: to a person at a terminal, as plain text.
    fn streams(&self) -> bool {
        !self.json && !self.markdown && self.output.is_none() && io::stdout().is_terminal()
    }
}

/// Says something on standard error, and gives the exit status that goes with it.
pub(super) fn say(problem: &str, exit: Exit) -> Exit {
    output::message(&format_args!("glovebox: {problem}"));
    exit
}

/// A call that has ended, as far as it was shown, and whether it is stored.
struct Answered {
    ended: Ended,
    growing: StreamedText,
    stored: bool,
}

async fn ask(jobs: &Jobs, call: Call, stream: bool) -> Result<Answered, JobsError> {
    let live = Live::start("asking");
    let submitted = jobs.submit(call).await?;
    for warning in &submitted.warnings {
        live.note(&format!("glovebox: {warning}"));
    }
    let cancel = CancellationToken::new();
    let interrupt = tokio::spawn(on_interrupt(cancel.clone()));
    let (sender, updates) = unbounded_channel();
    let shown = show(updates, live, stream);
    let (ended, growing) = tokio::join!(jobs.run(&submitted.job.id, cancel, sender), shown);
    interrupt.abort();
    Ok(Answered {
        ended: ended?,
        growing,
        // A warning at this point is that there is no store; it has been told.
        stored: submitted.warnings.is_empty(),
    })
}

/// The first interrupt asks the call to stop; the second ends the process at once.
pub(super) async fn on_interrupt(cancel: CancellationToken) {
    if tokio::signal::ctrl_c().await.is_ok() {
        cancel.cancel();
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(i32::from(Exit::Interrupted.code()));
        }
    }
}

async fn show(mut updates: UnboundedReceiver<Update>, live: Live, stream: bool) -> StreamedText {
    let mut growing = StreamedText::default();
    while let Some(update) = updates.recv().await {
        match update {
            Update::Phase(Phase::Waiting) => live.say("waiting for a free slot"),
            Update::Phase(Phase::Sent) => live.say("asked; waiting for the answer"),
            Update::Phase(Phase::Reading) => live.say("reading"),
            Update::Events(events) if stream => {
                live.clear();
                growing.show(&events);
            }
            Update::Events(_) => {}
        }
    }
    growing
}
