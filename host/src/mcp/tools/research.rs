//! The tools `research_submit` and `research`, which start a job that outlives the call. `research` waits for it.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rmcp::model::CreateTaskResult;
use tokio::sync::watch;
use tokio::time::Instant;

use super::super::Service;
use super::super::agent_text::without_flags;
use super::super::args::Args;
use super::super::planned_call::research_question;
use super::super::reply::{Reply, ToolResult};
use super::super::structured_part::Part;
use super::super::task::task_of;
use super::super::tool_call::{ProgressSource, ToolCall};
use super::job_text;
use crate::jobs::{Job, JobsError, Submitted, Watch};

/// How long `research` waits. Many clients end a call after 60 seconds, some even with progress reports; they need the id
/// before.
pub const HANDOFF: Duration = Duration::from_secs(50);

/// Runs `research_submit`.
pub fn submit<'a>(service: &'a Service, args: Args, call: &'a ToolCall) -> BoxFuture<'a, Reply> {
    async move {
        match service
            .start(research_question(&args), call.approval.clone())
            .await
        {
            Ok(submitted) => submitted_result(&submitted).into(),
            Err(error) => ToolResult::from(error).into(),
        }
    }
    .boxed()
}

/// Runs `research`.
pub fn research<'a>(service: &'a Service, args: Args, call: &'a ToolCall) -> BoxFuture<'a, Reply> {
    async move {
        match wait(service, &args, call).await {
            Ok(reply) => reply,
            Err(error) => ToolResult::from(error).into(),
        }
    }
    .boxed()
}

fn submitted_result(submitted: &Submitted) -> ToolResult {
    let job = &submitted.job;
    let id = &job.id;
    let running = submitted.already_running;
    let begun = if running {
        format!(
            "The same research is running already, as {id}: it was not started, and not billed, twice."
        )
    } else {
        format!("Research {id} has started.")
    };
    let next = format!(
        "It takes 1 to 6 minutes and goes on by itself. Call research_result with research_id \"{id}\" and \
         wait_seconds 50 until it is done; research_cancel stops it."
    );
    let mut text = format!("{begun} {next}");
    let warnings = submitted.warnings.iter();
    let warnings: Vec<String> = warnings.map(|warning| without_flags(warning)).collect();
    for warning in &warnings {
        text.push_str("\nNote: ");
        text.push_str(warning);
    }
    let notes: Vec<&str> = running
        .then_some(begun.as_str())
        .into_iter()
        .chain(warnings.iter().map(String::as_str))
        .collect();
    let part = Part {
        next: Some(next),
        note: (!notes.is_empty()).then(|| notes.join(" ")),
        already_running: running,
        ..Part::of(job)
    };
    ToolResult::new(text, part)
}

async fn wait(service: &Service, args: &Args, call: &ToolCall) -> Result<Reply, JobsError> {
    let submitted = service
        .start(research_question(args), call.approval.clone())
        .await?;
    if call.follows_tasks {
        let task = task_of(service, &submitted.job);
        return Ok(Reply::Task(Box::new(CreateTaskResult::new(task))));
    }
    let id = submitted.job.id.clone();
    let ours = !submitted.already_running;
    let follow = follow(service, call, &id, call.began() + HANDOFF);
    tokio::select! {
        biased;
        () = call.cancel.cancelled() => {
            // A job that another call started is not stopped.
            if ours {
                service.jobs().cancel(&id).await?;
            }
            Ok(ToolResult::failure("cancelled").into())
        }
        job = follow => finished(service, &job?).await.map(Reply::from),
    }
}

/// Waits for the end of a job, no longer than `until`, and reports progress. Returns the job as it is then.
///
/// # Errors
/// When the id is unknown or has expired.
pub async fn follow(
    service: &Service,
    call: &ToolCall,
    id: &crate::jobs::JobId,
    until: Instant,
) -> Result<Job, JobsError> {
    let mut watch = service.jobs().watch(id).await?;
    let (seen, news) = watch::channel(watch.job().clone());
    let waiting = async move {
        tokio::select! {
            ended = to_the_end(&mut watch, &seen) => ended?,
            () = tokio::time::sleep_until(until) => {}
            () = call.leaving.cancelled() => {}
            () = call.cancel.cancelled() => {}
        }
        Ok(watch.job().clone())
    };
    call.reporting(waiting, Progress { news, service }).await
}

async fn to_the_end(watch: &mut Watch, seen: &watch::Sender<Job>) -> Result<(), JobsError> {
    while let Some(job) = watch.next().await? {
        seen.send_replace(job);
    }
    Ok(())
}

/// Returns the result about a job that was waited for.
///
/// # Errors
/// When the id is unknown or has expired.
pub async fn finished(service: &Service, job: &Job) -> Result<ToolResult, JobsError> {
    if !job.state.ended() {
        return Ok(job_text::unfinished(job, service.elapsed(job)));
    }
    let outcome = service.jobs().outcome(&job.id).await?;
    Ok(job_text::ended(job, outcome.as_ref(), &[]))
}

/// The progress of a research job.
struct Progress<'a> {
    news: watch::Receiver<Job>,
    service: &'a Service,
}

impl ProgressSource for Progress<'_> {
    async fn next(&mut self) {
        if self.news.changed().await.is_err() {
            std::future::pending().await
        }
    }

    fn message(&self) -> String {
        job_text::progress(&self.news.borrow(), self.elapsed().as_secs())
    }

    fn elapsed(&self) -> Duration {
        self.service.run_time(&self.news.borrow())
    }
}
