//! The tasks extension of 2026-07-28, over the job store: a task is a job, its id the job's, so it survives
//! any process.

use rmcp::ErrorData;
use rmcp::model::{DetailedTask, GetTaskResult, JsonObject, TaskPayload};

use super::Service;
use super::reply::{ToolResult, error_text};
use super::task::task_of;
use super::tools::research;
use crate::jobs::{JobId, Jobs, JobsError, State};

/// `tasks/get`.
///
/// # Errors
/// When there is no such task.
pub async fn get(
    service: &Service,
    id: &str,
    structured: bool,
) -> Result<GetTaskResult, ErrorData> {
    let job = service.jobs().job(&known(id)?).await.map_err(unknown)?;
    let payload = match job.state {
        State::Queued | State::Running => TaskPayload::Working,
        State::Cancelled => TaskPayload::Cancelled,
        State::Done | State::Failed | State::Interrupted => {
            let told = research::finished(service, &job)
                .await
                .unwrap_or_else(ToolResult::from);
            TaskPayload::Completed {
                result: result(service, told, structured),
            }
        }
    };
    let task = task_of(service, &job);
    Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
}

fn result(service: &Service, told: ToolResult, structured: bool) -> JsonObject {
    let result = told.result(
        service.config().output_bytes,
        &service.families().research_bounds(),
        structured,
    );
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
    service.jobs().job(&known(id)?).await.map_err(unknown)?;
    Ok(())
}

/// `tasks/cancel`.
///
/// # Errors
/// When there is no such task.
pub async fn cancel(service: &Service, id: &str) -> Result<(), ErrorData> {
    service.jobs().cancel(&known(id)?).await.map_err(unknown)?;
    Ok(())
}

fn known(id: &str) -> Result<JobId, ErrorData> {
    Jobs::parse_id(id).map_err(unknown)
}

fn unknown(error: JobsError) -> ErrorData {
    match error {
        JobsError::Unknown(_) | JobsError::Expired { .. } => {
            ErrorData::invalid_params(error_text(&error), None)
        }
        error => ErrorData::internal_error(error.to_string(), None),
    }
}
