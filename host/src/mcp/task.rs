//! A job as a task of the tasks extension.

use rmcp::model::{Task, TaskStatus};

use super::Service;
use super::tools::job_text;
use crate::jobs::{Job, State};

/// The time between two requests of a client for a task. Research progresses about every ten seconds.
const POLL_MS: u64 = 5_000;

/// Returns a job as a task.
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
    .with_status_message(job_text::progress(job, service.elapsed(job)))
    .with_ttl_ms(ttl(service, job))
    .with_poll_interval_ms(POLL_MS)
}

/// Returns the lifetime of the task from its creation: the longest time of the job, and then as long as results are
/// kept.
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
