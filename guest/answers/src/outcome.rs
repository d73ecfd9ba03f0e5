//! The outcome of a stream.

use crate::event::{Batch, Entity, Mode, Progress, Thinking, Usage, Warning};
use serde::{Deserialize, Serialize};

/// A source and what was taken from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// From 1, in order of first appearance.
    pub number: u32,
    /// An http or https URL, exactly as sent.
    pub url: String,
    /// The passages cited, in order, each once.
    pub snippets: Vec<String>,
    /// Code points into `text`, in order of arrival, each once.
    pub positions: Vec<u32>,
    /// The upstream's own numbers, each once.
    pub upstream_numbers: Vec<u32>,
    /// Whether the answer refers to it.
    pub cited: bool,
}

/// What ended the stream, for a person or a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeError {
    /// The kind, hyphenated: the name of a [`crate::StreamErrorKind`], or what the host adds.
    pub kind: String,
    /// One sentence.
    pub message: String,
}

/// The outcome of a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How the stream was read.
    pub mode: Mode,
    /// Whether all of it came: see `truncated` for what came but was cut short by a token limit.
    pub complete: bool,
    /// Whether the upstream stopped for length.
    pub truncated: bool,
    /// The upstream's reason, exactly as sent.
    pub finish_reason: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// The answer; in answer mode with `[n]` markers.
    pub answer: String,
    /// The answer without markers.
    pub text: String,
    /// Research: what was written outside the answer, and superseded answers.
    pub draft: String,
    /// Numbered from 1.
    pub sources: Vec<Source>,
    /// In order of arrival.
    pub entities: Vec<Entity>,
    /// Every query, in order, each once.
    pub queries: Vec<String>,
    /// What could not be found, in order, each once.
    pub blindspots: Vec<String>,
    /// In order of arrival.
    pub thinking: Vec<Thinking>,
    /// The last frame of each iteration, in order of iteration.
    pub progress: Vec<Progress>,
    /// The last usage.
    pub usage: Option<Usage>,
    /// What ended the stream early.
    pub error: Option<OutcomeError>,
    /// The warnings, in order.
    pub warnings: Vec<Warning>,
}

/// What the end of a stream gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// Events that only the end could decide, and the error if there was one.
    pub last: Batch,
    /// The outcome of the whole stream.
    pub outcome: Outcome,
}
