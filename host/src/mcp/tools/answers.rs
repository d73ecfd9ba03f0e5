//! The tool `answers`: one cited answer, read while the client waits.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::super::Service;
use super::super::args::Args;
use super::super::reply::{Reply, ToolResult};
use super::super::tool_call::{ProgressSource, ToolCall};
use super::job_text;
use crate::answers::{EventKind, Question};
use crate::jobs::{CallPhase, JobsError, Update};

/// Runs the tool.
pub fn answers<'a>(service: &'a Service, args: Args, call: &'a ToolCall) -> BoxFuture<'a, Reply> {
    async move {
        run(service, &args, call)
            .await
            .unwrap_or_else(ToolResult::from)
            .into()
    }
    .boxed()
}

async fn run(service: &Service, args: &Args, call: &ToolCall) -> Result<ToolResult, JobsError> {
    let submitted = service
        .jobs()
        .submit(service.answer(question(args), call.approval.clone()))
        .await?;
    let id = submitted.job.id;
    let (updates, news) = mpsc::unbounded_channel();
    let running = service.jobs().run(&id, call.cancel.clone(), updates);
    let ended = call
        .reporting(running, Reading::new(news, call.began()))
        .await?;
    let mut warnings = submitted.warnings;
    warnings.extend(ended.warnings);
    Ok(job_text::ended(
        &ended.job,
        Some(&ended.rendered),
        &warnings,
    ))
}

fn question(args: &Args) -> Question {
    let citations = args.boolean("enable_citations").unwrap_or(true);
    super::super::planned_call::question(args).with_citations(citations)
}

/// The progress of a running answer.
struct Reading {
    updates: mpsc::UnboundedReceiver<Update>,
    phase: CallPhase,
    characters: usize,
    sources: u32,
    began: Instant,
}

impl Reading {
    const fn new(updates: mpsc::UnboundedReceiver<Update>, began: Instant) -> Self {
        Self {
            updates,
            phase: CallPhase::Waiting,
            characters: 0,
            sources: 0,
            began,
        }
    }

    fn take(&mut self, update: Update) {
        match update {
            Update::Phase(phase) => self.phase = phase,
            Update::Events(events) => {
                for event in events {
                    match event.kind {
                        EventKind::Text(text) => self.characters += text.chars().count(),
                        EventKind::Citation(citation) => {
                            self.sources = self.sources.max(citation.number);
                        }
                        _ => {}
                    }
                }
            }
        }
    }
}

impl ProgressSource for Reading {
    async fn next(&mut self) {
        match self.updates.recv().await {
            Some(update) => self.take(update),
            None => std::future::pending().await,
        }
        // One report covers all updates that have come.
        while let Ok(update) = self.updates.try_recv() {
            self.take(update);
        }
    }

    fn message(&self) -> String {
        match self.phase {
            CallPhase::Waiting => "waiting for its turn".to_owned(),
            CallPhase::Sent => "asked, waiting for the answer".to_owned(),
            CallPhase::Reading => format!(
                "reading the answer: {} characters, {} sources",
                self.characters, self.sources
            ),
        }
    }

    fn elapsed(&self) -> Duration {
        // The job begins with the call.
        self.began.elapsed()
    }
}
