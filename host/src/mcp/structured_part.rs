//! The structured content of results about jobs. It is small, because some clients show it to a model.
//!
//! Next steps and notes have the same wording as in the text. Everything else about a job is in its resource.

use serde::Serialize;
use serde_json::Value;

use crate::jobs::{Job, JobId, Rendered, State};

/// The longest part of a question in a list, in characters.
const QUERY_CHARACTERS: usize = 80;

/// The structured content of a result about one job.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// The state of the job.
    pub state: State,
    /// Its id.
    pub research_id: JobId,
    /// What to do next, worded as in the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Notes about the result, worded as in the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether the same research was running before. Left out where it was not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub already_running: bool,
    /// The address of everything about the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The answer, with `[n]` markers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// Its sources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// What it cost in US dollars, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Whether the answer is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complete: Option<bool>,
    /// The progress of the job, worded as in the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
}

/// A source of an answer, with the number of its marker.
#[derive(Clone, Debug, Serialize)]
pub struct Source {
    number: Value,
    url: Value,
}

impl Part {
    /// Returns the content about a job without its outcome.
    #[must_use]
    pub fn of(job: &Job) -> Self {
        Self {
            state: job.state,
            research_id: job.id.clone(),
            next: None,
            note: None,
            already_running: false,
            resource: None,
            answer: None,
            sources: Vec::new(),
            cost_usd: job.cost.map(crate::jobs::Micros::usd),
            complete: None,
            progress: None,
        }
    }

    /// Returns the content about an ended job, with its answer and sources.
    #[must_use]
    pub fn ended(job: &Job, outcome: Option<&Rendered>, resource: String) -> Self {
        let mut part = Self {
            resource: Some(resource),
            ..Self::of(job)
        };
        let outcome = outcome.and_then(|outcome| serde_json::from_str::<Value>(&outcome.json).ok());
        if let Some(mut outcome) = outcome {
            part.complete = outcome.get("complete").and_then(Value::as_bool);
            let answer = outcome.get_mut("answer").map(Value::take);
            part.answer = answer.filter(|answer| answer.as_str() != Some(""));
            // Without an answer, sources are of no use to a model.
            if part.answer.is_some() {
                part.sources = sources(&outcome);
            }
        }
        part
    }
}

fn sources(outcome: &Value) -> Vec<Source> {
    let listed = outcome.get("sources").and_then(Value::as_array);
    listed
        .into_iter()
        .flatten()
        .filter_map(|source| {
            Some(Source {
                number: source.get("number")?.clone(),
                url: source.get("url")?.clone(),
            })
        })
        .collect()
}

impl From<Part> for Value {
    fn from(part: Part) -> Self {
        serde_json::to_value(part).unwrap_or_default()
    }
}

/// A job in a list.
#[derive(Clone, Debug, Serialize)]
pub struct Row<'a> {
    research_id: &'a JobId,
    state: State,
    query: String,
    cost_usd: Option<f64>,
    created_at: String,
}

impl<'a> Row<'a> {
    /// Returns the row of a job.
    #[must_use]
    pub fn of(job: &'a Job) -> Self {
        Self {
            research_id: &job.id,
            state: job.state,
            query: short_query(job),
            cost_usd: job.cost.map(crate::jobs::Micros::usd),
            created_at: job.created.rfc3339(),
        }
    }
}

/// Returns the beginning of a job's question, for lists.
#[must_use]
pub fn short_query(job: &Job) -> String {
    job.query.chars().take(QUERY_CHARACTERS).collect()
}
