//! The tools about existing research jobs: status, result, cancel, list.

use std::fmt::Write as _;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::json;

use super::super::Service;
use super::super::args::Args;
use super::super::reply::{Reply, ToolResult};
use super::super::structured_part::{Part, Row, short_query};
use super::super::tool_call::ToolCall;
use super::job_text;
use super::research::{finished, follow};
use crate::jobs::{Filter, Job, Jobs, JobsError};

/// Runs `research_status`.
pub fn status<'a>(service: &'a Service, args: Args, call: &'a ToolCall) -> BoxFuture<'a, Reply> {
    reply(async move {
        let job = waited(service, &args, call).await?;
        let elapsed = service.elapsed(&job);
        if !job.state.ended() {
            return Ok(job_text::unfinished(&job, elapsed));
        }
        let id = &job.id;
        let cost = job.cost.map_or_else(
            || "at unknown cost".to_owned(),
            |cost| format!("for {}", job.amount(cost)),
        );
        let next = format!("Call research_result with research_id \"{id}\" for the report.");
        let text = format!(
            "Research {id} is {} after {elapsed} s, {cost}. {next}",
            job.state
        );
        Ok(job_result(text, Some(next), &job))
    })
}

/// Runs `research_result`.
pub fn result<'a>(service: &'a Service, args: Args, call: &'a ToolCall) -> BoxFuture<'a, Reply> {
    reply(async move {
        let job = waited(service, &args, call).await?;
        finished(service, &job).await
    })
}

/// Runs `research_cancel`.
pub fn cancel<'a>(service: &'a Service, args: Args, _call: &'a ToolCall) -> BoxFuture<'a, Reply> {
    reply(async move {
        let id = Jobs::parse_id(args.text("research_id").unwrap_or_default())?;
        let before = service.jobs().job(&id).await?;
        let job = service.jobs().cancel(&id).await?;
        let next = "research_result gives what had come.".to_owned();
        Ok(if before.state.ended() {
            let text = format!("Research {id} had ended before: it is {}.", job.state);
            job_result(text, None, &job)
        } else if job.state.ended() {
            let text = format!("Research {id} is {}. {next}", job.state);
            job_result(text, Some(next), &job)
        } else {
            let text = format!("Research {id} was asked to stop and will in a moment.");
            job_result(text.clone(), Some(text), &job)
        })
    })
}

fn job_result(text: String, next: Option<String>, job: &Job) -> ToolResult {
    let part = Part {
        next,
        ..Part::of(job)
    };
    ToolResult::new(text, part)
}

/// Runs `research_list`.
pub fn list<'a>(service: &'a Service, args: Args, _call: &'a ToolCall) -> BoxFuture<'a, Reply> {
    reply(async move {
        let filter = Filter {
            all: false,
            state: args.text("state").and_then(|state| state.parse().ok()),
        };
        let limit = usize::try_from(args.integer("limit").unwrap_or_default()).unwrap_or_default();
        let jobs = service.jobs().list(filter, limit).await?;
        let mut text = match jobs.len() {
            0 => "No research is stored that matches.".to_owned(),
            1 => "1 research:".to_owned(),
            count => format!("{count} researches, newest first:"),
        };
        for job in &jobs {
            let _ = write!(text, "\n- {}", line(job));
        }
        let listed: Vec<Row<'_>> = jobs.iter().map(Row::of).collect();
        Ok(ToolResult::new(
            text,
            json!({ "state": "listed", "jobs": listed }),
        ))
    })
}

/// Returns a job in one line.
#[must_use]
pub fn line(job: &Job) -> String {
    let cost = job
        .cost
        .map_or_else(String::new, |cost| format!(" {}", job.amount(cost)));
    format!(
        "{} {}{cost} {}: {}",
        job.id,
        job.state,
        job.created.rfc3339(),
        short_query(job)
    )
}

/// Returns the job of the call once it has ended or the wait is over.
async fn waited(service: &Service, args: &Args, call: &ToolCall) -> Result<Job, JobsError> {
    let id = Jobs::parse_id(args.text("research_id").unwrap_or_default())?;
    let seconds = args.integer("wait_seconds").unwrap_or_default();
    match u64::try_from(seconds).unwrap_or_default() {
        0 => service.jobs().job(&id).await,
        seconds => {
            follow(
                service,
                call,
                &id,
                call.began() + Duration::from_secs(seconds),
            )
            .await
        }
    }
}

fn reply<'a>(
    result: impl Future<Output = Result<ToolResult, JobsError>> + Send + 'a,
) -> BoxFuture<'a, Reply> {
    async move { result.await.unwrap_or_else(ToolResult::from).into() }.boxed()
}
