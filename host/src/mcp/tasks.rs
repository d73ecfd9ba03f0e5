//! The tasks extension of 2026-07-28. A task is a job and has the job's id, so it outlives the process.

use rmcp::ErrorData;
use rmcp::model::{DetailedTask, GetTaskResult, JsonObject, TaskPayload};

use super::Service;
use super::reply::{ResultBounds, ToolResult, error_text};
use super::task::task_of;
use super::tools::research;
use crate::jobs::{JobId, Jobs, JobsError, State};

/// Serves `tasks/get`.
///
/// # Errors
/// When there is no such task.
pub async fn get(
    service: &Service,
    id: &str,
    bounds: &ResultBounds,
    structured: bool,
) -> Result<GetTaskResult, ErrorData> {
    let job = service.jobs().job(&known(id)?).await.map_err(unknown)?;
    let payload = match job.state {
        State::Queued | State::Running => TaskPayload::Working,
        State::Cancelled => TaskPayload::Cancelled,
        State::Done | State::Failed | State::Interrupted => {
            let result = research::finished(service, &job)
                .await
                .unwrap_or_else(ToolResult::from);
            TaskPayload::Completed {
                result: to_json(service, result, bounds, structured),
            }
        }
    };
    let task = task_of(service, &job);
    Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
}

fn to_json(
    service: &Service,
    result: ToolResult,
    bounds: &ResultBounds,
    structured: bool,
) -> JsonObject {
    let result = result.result(service.config().output_bytes, bounds, structured);
    match serde_json::to_value(result) {
        Ok(serde_json::Value::Object(result)) => result,
        _ => JsonObject::new(),
    }
}

/// Serves `tasks/update`. No task asks for input, so there is nothing to update.
///
/// # Errors
/// When there is no such task.
pub async fn update(service: &Service, id: &str) -> Result<(), ErrorData> {
    service.jobs().job(&known(id)?).await.map_err(unknown)?;
    Ok(())
}

/// Serves `tasks/cancel`.
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
