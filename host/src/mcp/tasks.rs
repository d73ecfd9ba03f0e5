//! The tasks extension of 2026-07-28, over the job store: a task is a job, its id the job's, so it survives
//! any process.

use rmcp::ErrorData;
use rmcp::model::{DetailedTask, GetTaskResult, JsonObject, Task, TaskPayload, TaskStatus};

use super::Service;
use super::reply::{Told, in_words};
use super::tools::{research, words};
use crate::jobs::{Desk, Job, JobId, JobsError, State};

/// How often a client should ask. A research gives news every ten seconds or so.
const POLL_MS: u64 = 5_000;

/// A job as a task.
#[must_use]
pub fn task_of(service: &Service, job: &Job) -> Task {
    let status = match job.state {
        State::Queued | State::Running => TaskStatus::Working,
        State::Cancelled => TaskStatus::Cancelled,
        State::Done | State::Failed | State::Interrupted => TaskStatus::Completed,
    };
    let updated = job.ended.or(job.started).unwrap_or(job.created);
    Task::new(
        job.id.as_str(),
        status,
        job.created.rfc3339(),
        updated.rfc3339(),
    )
    .with_status_message(words::progress(job, service.elapsed(job)))
    .with_ttl_ms(ttl(service, job))
    .with_poll_interval_ms(POLL_MS)
}

/// How long the task is there, from its creation: a job that runs may take all its time, and stays from its
/// end on as long as results are kept.
fn ttl(service: &Service, job: &Job) -> u64 {
    let config = service.config();
    let lived = match job.ended {
        Some(ended) => u64::try_from(ended.0 - job.created.0).unwrap_or_default(),
        None => millis(config.research_deadline),
    };
    lived.saturating_add(millis(config.keep))
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// `tasks/get`.
///
/// # Errors
/// When there is no such task.
pub async fn get(
    service: &Service,
    id: &str,
    structured: bool,
) -> Result<GetTaskResult, ErrorData> {
    let job = service.desk().job(&known(id)?).await.map_err(unknown)?;
    let payload = match job.state {
        State::Queued | State::Running => TaskPayload::Working,
        State::Cancelled => TaskPayload::Cancelled,
        State::Done | State::Failed | State::Interrupted => {
            let told = research::finished(service, &job)
                .await
                .unwrap_or_else(Told::from);
            TaskPayload::Completed {
                result: result(service, told, structured),
            }
        }
    };
    let task = task_of(service, &job);
    Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
}

fn result(service: &Service, told: Told, structured: bool) -> JsonObject {
    let result = told.result(service.config().output_bytes, structured);
    match serde_json::to_value(result) {
        Ok(serde_json::Value::Object(result)) => result,
        _ => JsonObject::new(),
    }
}

/// `tasks/update`: no task here ever asks for input, so there is nothing to take in.
///
/// # Errors
/// When there is no such task.
pub async fn update(service: &Service, id: &str) -> Result<(), ErrorData> {
    service.desk().job(&known(id)?).await.map_err(unknown)?;
    Ok(())
}

/// `tasks/cancel`.
///
/// # Errors
/// When there is no such task.
pub async fn cancel(service: &Service, id: &str) -> Result<(), ErrorData> {
    service.desk().cancel(&known(id)?).await.map_err(unknown)?;
    Ok(())
}

fn known(id: &str) -> Result<JobId, ErrorData> {
    Desk::parse_id(id).map_err(unknown)
}

fn unknown(error: JobsError) -> ErrorData {
    match error {
        JobsError::Unknown(_) | JobsError::Expired { .. } => {
            ErrorData::invalid_params(in_words(&error), None)
        }
        error => ErrorData::internal_error(error.to_string(), None),
    }
}
