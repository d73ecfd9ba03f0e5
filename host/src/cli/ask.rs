//! `glovebox ask`: a cited answer, streamed.

use std::io::{self, IsTerminal as _};

use clap::Args;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::display::Live;
use super::exit_status::ExitStatus as _;
use super::options::{QuestionOptions, Target, need_key, refusal};
use super::output;
use super::streamed_text::StreamedText;
use super::{ending, jobs_setup};
use crate::answers::{Answers, Mode, cost};
use crate::exit::Exit;
use crate::jobs::{Call, CallPhase, Ended, Jobs, JobsError, Update};
use crate::settings::Settings;

/// Ask a question and print the cited answer
///
/// An answer costs about $0.05. On a terminal it is shown as it comes.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  glovebox ask \"why is the sky blue?\"
  glovebox ask --json \"who won the 2025 Nobel Prize in Physics?\" | jq .answer
  echo \"what is QUIC?\" | glovebox ask -
  glovebox ask --simulate \"anything\"          try it without a key")]
pub struct Ask {
    #[command(flatten)]
    options: QuestionOptions,
    /// Answer without sources
    #[arg(long)]
    no_citations: bool,
}

impl Ask {
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
        let question = options.question(query).with_citations(!self.no_citations);
        let call = options.call(settings, Mode::Answer, question, cost::ANSWER);
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
        let jobs = jobs_setup::open(settings).await?;
        match ask(&jobs.jobs, call, options.streams()).await {
            Ok(answered) => self.show(answered, target, jobs.jobs.answers()),
            Err(error) => Ok(say(&refusal(&error), error.exit())),
        }
    }

    fn show(
        &self,
        answered: Answered,
        target: Option<Target>,
        answers: &Answers,
    ) -> anyhow::Result<Exit> {
        let Answered {
            ended,
            mut streamed,
            stored,
        } = answered;
        streamed.end();
        if streamed.begun() {
            output::raw_line(&ending::rest(
                &ended.job,
                &ended.rendered,
                &ended.outcome.answer,
            ))?;
        } else {
            ending::write(&self.options, target, &ended.job, &ended.rendered, answers)?;
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
    output::messages(&format!("glovebox: {problem}"));
    exit
}

/// A call that has ended, as far as it was shown, and whether it is stored.
struct Answered {
    ended: Ended,
    streamed: StreamedText,
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
    let streamed = StreamedText::new(jobs.answers().clone());
    let shown = show(updates, live, streamed, stream);
    let (ended, streamed) = tokio::join!(jobs.run(&submitted.job.id, cancel, sender), shown);
    interrupt.abort();
    Ok(Answered {
        ended: ended?,
        streamed,
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

async fn show(
    mut updates: UnboundedReceiver<Update>,
    live: Live,
    mut streamed: StreamedText,
    stream: bool,
) -> StreamedText {
    while let Some(update) = updates.recv().await {
        match update {
            Update::Phase(CallPhase::Waiting) => live.say("waiting for a free slot"),
            Update::Phase(CallPhase::Sent) => live.say("asked; waiting for the answer"),
            Update::Phase(CallPhase::Reading) => live.say("reading"),
            Update::Events(events) if stream => {
                live.clear();
                streamed.show(&events);
            }
            Update::Events(_) => {}
        }
    }
    streamed
}
