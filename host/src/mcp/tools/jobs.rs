//! The tools about researches that are there: status, result, cancel, list.

use std::fmt::Write as _;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::super::Service;
use super::super::args::Args;
use super::super::call::ToolCall;
use super::super::reply::{Reply, Told};
use super::research::{finished, follow};
use super::words;
use crate::jobs::{Desk, Filter, Job, JobsError};

/// The longest part of a question that a list shows.
const SHOWN: usize = 80;

/// The tool `research_status`.
pub fn status<'a>(service: &'a Service, args: Args, call: &'a ToolCall) -> BoxFuture<'a, Reply> {
    reply(async move {
        let job = waited(service, &args, call).await?;
        let elapsed = service.elapsed(&job);
        let text = if job.state.ended() {
            let id = &job.id;
            let cost = job.cost.map_or_else(
                || "at unknown cost".to_owned(),
                |cost| format!("for {}", job.amount(cost)),
            );
            format!(
                "Research {id} is {} after {elapsed} s, {cost}. Call research_result with research_id \"{id}\" for the report.",
                job.state
            )
        } else {
            words::unfinished(&job, elapsed)
        };
        Ok(Told::new(text, words::structured(&job)))
    })
}

/// The tool `research_result`.
pub fn result<'a>(service: &'a Service, args: Args, call: &'a ToolCall) -> BoxFuture<'a, Reply> {
    reply(async move {
        let job = waited(service, &args, call).await?;
        finished(service, &job).await
    })
}

/// The tool `research_cancel`.
pub fn cancel<'a>(service: &'a Service, args: Args, _call: &'a ToolCall) -> BoxFuture<'a, Reply> {
    reply(async move {
        let id = Desk::parse_id(args.text("research_id").unwrap_or_default())?;
        let before = service.desk().job(&id).await?;
        let job = service.desk().cancel(&id).await?;
        let text = if before.state.ended() {
            format!("Research {id} had ended before: it is {}.", job.state)
        } else if job.state.ended() {
            format!(
                "Research {id} is {}. research_result gives what had come.",
                job.state
            )
        } else {
            format!("Research {id} was asked to stop and will in a moment.")
        };
        Ok(Told::new(text, words::structured(&job)))
    })
}

/// The tool `research_list`.
pub fn list<'a>(service: &'a Service, args: Args, _call: &'a ToolCall) -> BoxFuture<'a, Reply> {
    reply(async move {
        let filter = Filter {
            all: false,
            state: args.text("state").and_then(|state| state.parse().ok()),
        };
        let limit = usize::try_from(args.whole("limit").unwrap_or_default()).unwrap_or_default();
        let jobs = service.desk().list(filter, limit).await?;
        let mut text = match jobs.len() {
            0 => "No research is stored that matches.".to_owned(),
            1 => "1 research:".to_owned(),
            count => format!("{count} researches, newest first:"),
        };
        for job in &jobs {
            let _ = write!(text, "\n- {}", line(job));
        }
        let listed: Vec<Value> = jobs.iter().map(Job::to_json).collect();
        Ok(Told::new(
            text,
            json!({ "state": "listed", "jobs": listed }),
        ))
    })
}

/// A job in a line.
#[must_use]
pub fn line(job: &Job) -> String {
    let cost = job
        .cost
        .map_or_else(String::new, |cost| format!(" {}", job.amount(cost)));
    let query: String = job.query.chars().take(SHOWN).collect();
    format!(
        "{} {}{cost} {}: {query}",
        job.id,
        job.state,
        job.created.rfc3339()
    )
}

/// The job that is asked about, once it ended or the wait is over.
async fn waited(service: &Service, args: &Args, call: &ToolCall) -> Result<Job, JobsError> {
    let id = Desk::parse_id(args.text("research_id").unwrap_or_default())?;
    let seconds = args.whole("wait_seconds").unwrap_or_default();
    match u64::try_from(seconds).unwrap_or_default() {
        0 => service.desk().job(&id).await,
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
    told: impl Future<Output = Result<Told, JobsError>> + Send + 'a,
) -> BoxFuture<'a, Reply> {
    async move { told.await.unwrap_or_else(Told::from).into() }.boxed()
}
