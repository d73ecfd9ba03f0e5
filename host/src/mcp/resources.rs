//! Resources of research jobs: the whole result, which tools return within bounds, and the raw stream.

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

/// The scheme of every resource.
const SCHEME: &str = "research://";

/// The template of the address of a result.
pub const RESULT: &str = "research://{id}";

/// The template of the address of a raw stream.
pub const STREAM: &str = "research://{id}/stream";

/// The most resources in a list, the newest ones.
const LISTED: usize = 50;

/// The longest title, in characters of the question.
const TITLE: usize = 80;

/// The most bytes of a raw stream that are returned. Clients hold a resource in memory, as text in JSON; the
/// file has the rest.
const STREAM_BYTES: usize = 8 << 20;

/// The address of a resource.
#[derive(Debug, PartialEq, Eq)]
pub struct Address {
    /// The job.
    pub id: JobId,
    /// Whether it is the raw stream.
    pub stream: bool,
}

impl Address {
    /// Parses an address.
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

/// Returns the newest research jobs as resources.
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

/// Returns the templates of addresses.
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

/// Returns the contents of a resource.
///
/// # Errors
/// When there is no resource at this address.
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

/// Returns the JSON of a job that has no outcome, or none yet.
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
    // A comment line, which readers of server-sent events skip.
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
