//! Resources: the whole of a result, which tools give within bounds, and the raw stream it was read from.

use rmcp::ErrorData;
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use serde_json::json;

use super::Service;
use super::reply::{cut, error_text};
use super::tools::job_text;
use crate::jobs::{Filter, Job, JobId, Jobs, JobsError};

/// The scheme of every resource here.
const SCHEME: &str = "research://";

/// The template of a result.
pub const RESULT: &str = "research://{id}";

/// The template of a raw stream.
pub const STREAM: &str = "research://{id}/stream";

/// The most resources that a list names: the newest.
const LISTED: usize = 50;

/// The longest part of a question that serves as a title.
const TITLE: usize = 80;

/// The most of a raw stream that is given at once. Clients hold a resource in memory, as text in JSON; the
/// file has the rest.
const STREAM_BYTES: usize = 8 << 20;

/// What an address means.
#[derive(Debug, PartialEq, Eq)]
pub struct Address {
    /// The job.
    pub id: JobId,
    /// Whether its raw stream is meant.
    pub stream: bool,
}

impl Address {
    /// Reads an address.
    #[must_use]
    pub fn parse(uri: &str) -> Option<Self> {
        let rest = uri.strip_prefix(SCHEME)?;
        let (id, stream) = match rest.strip_suffix("/stream") {
            Some(id) => (id, true),
            None => (rest, false),
        };
        let id = Jobs::parse_id(id).ok()?;
        Some(Self { id, stream })
    }
}

/// The newest researches.
///
/// # Errors
/// When the store cannot be used.
pub async fn list(service: &Service) -> Result<ListResourcesResult, ErrorData> {
    let jobs = service
        .jobs()
        .list(Filter::default(), LISTED)
        .await
        .map_err(internal)?;
    let resources = jobs.iter().map(resource).collect();
    Ok(ListResourcesResult::with_all_items(resources))
}

fn resource(job: &Job) -> Resource {
    let title: String = job.query.chars().take(TITLE).collect();
    Resource::new(job_text::uri(job), job.id.as_str())
        .with_title(title)
        .with_description(format!("Research, {}", job.state))
        .with_mime_type("text/markdown")
}

/// The templates.
#[must_use]
pub fn templates() -> ListResourceTemplatesResult {
    ListResourceTemplatesResult::with_all_items(vec![
        ResourceTemplate::new(RESULT, "research")
            .with_title("Research result")
            .with_description("The whole result, as Markdown and as JSON")
            .with_mime_type("text/markdown"),
        ResourceTemplate::new(STREAM, "research-stream")
            .with_title("Raw stream")
            .with_description("What the upstream sent, as server-sent events")
            .with_mime_type("text/event-stream"),
    ])
}

/// Reads a resource.
///
/// # Errors
/// When there is none at this address.
pub async fn read(service: &Service, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let address =
        Address::parse(uri).ok_or_else(|| missing(uri, "it is no address of this server"))?;
    let job = service
        .jobs()
        .job(&address.id)
        .await
        .map_err(|error| not_found(uri, error))?;
    let contents = if address.stream {
        vec![stream(service, uri, &address.id).await?]
    } else {
        result(service, uri, &job).await?
    };
    Ok(ReadResourceResult::new(contents))
}

async fn result(
    service: &Service,
    uri: &str,
    job: &Job,
) -> Result<Vec<ResourceContents>, ErrorData> {
    let outcome = service
        .jobs()
        .outcome(&job.id)
        .await
        .map_err(|error| not_found(uri, error))?;
    let (text, json) = match outcome {
        Some(outcome) => (job_text::ended(job, Some(&outcome), &[]).text, outcome.json),
        None if job.state.ended() => (job_text::ended(job, None, &[]).text, without_outcome(job)),
        None => (
            job_text::unfinished(job, service.elapsed(job)).text,
            without_outcome(job),
        ),
    };
    Ok(vec![
        ResourceContents::text(text, uri).with_mime_type("text/markdown"),
        ResourceContents::text(json, uri).with_mime_type("application/json"),
    ])
}

/// The JSON of a job that has no outcome, or none yet.
fn without_outcome(job: &Job) -> String {
    json!({ "state": job.state, "research_id": job.id, "job": job.to_json() }).to_string()
}

async fn stream(service: &Service, uri: &str, id: &JobId) -> Result<ResourceContents, ErrorData> {
    let raw = service
        .jobs()
        .stream_capture(id)
        .await
        .map_err(|error| not_found(uri, error))?
        .ok_or_else(|| missing(uri, "its raw stream is not kept"))?;
    let text = String::from_utf8_lossy(&raw);
    // A comment line: whatever reads server-sent events passes over it.
    let notice = |total: usize| format!("\n\n: cut here, {total} bytes in all\n");
    Ok(
        ResourceContents::text(cut(&text, STREAM_BYTES, &notice), uri)
            .with_mime_type("text/event-stream"),
    )
}

fn missing(uri: &str, why: &str) -> ErrorData {
    let message = format!("there is no resource {uri}: {why}");
    ErrorData::resource_not_found(message, Some(json!({ "uri": uri })))
}

fn not_found(uri: &str, error: JobsError) -> ErrorData {
    match error {
        JobsError::Unknown(_) | JobsError::Expired { .. } => missing(uri, &error_text(&error)),
        error => internal(error),
    }
}

fn internal(error: JobsError) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
