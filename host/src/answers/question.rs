//! What a question may ask: the model, and the default and range of every number. The upstream documents them.

use super::Question;

/// The model that every question names. The upstream routes it.
pub const MODEL: &str = "brave";

/// A whole number that the upstream takes within a range, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The least value.
    pub least: i64,
    /// The greatest value.
    pub most: i64,
    /// The value where none is given. It is always sent, so that a change upstream changes nothing here.
    pub default: i64,
}

/// Iterations of a research.
pub const ITERATIONS: Range = Range {
    least: 1,
    most: 5,
    default: 4,
};

/// Seconds of a research. A soft budget: the upstream exceeds it.
pub const SECONDS: Range = Range {
    least: 1,
    most: 300,
    default: 180,
};

/// Queries of a research, at most.
pub const QUERIES: Range = Range {
    least: 1,
    most: 50,
    default: 20,
};

/// Tokens that a research reads for one query.
pub const TOKENS_PER_QUERY: Range = Range {
    least: 1024,
    most: 16384,
    default: 8192,
};

/// Results that a research reads for one query.
pub const RESULTS_PER_QUERY: Range = Range {
    least: 1,
    most: 60,
    default: 60,
};

/// What a research may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Research {
    /// See [`ITERATIONS`].
    pub iterations: i64,
    /// See [`SECONDS`].
    pub seconds: i64,
    /// See [`QUERIES`].
    pub queries: i64,
    /// See [`TOKENS_PER_QUERY`].
    pub tokens_per_query: i64,
    /// See [`RESULTS_PER_QUERY`].
    pub results_per_query: i64,
    /// Whether the model thinks between the iterations.
    pub thinking: bool,
}

impl Range {
    /// Returns the help text of an option with this range.
    #[must_use]
    pub fn help(&self, about: &str) -> String {
        format!("{about}, {} to {}", self.least, self.most)
    }
}

impl Question {
    /// Returns a question with what every call sends. All else is as the upstream has it by default.
    #[must_use]
    pub fn asking(query: String, country: Option<String>, language: Option<String>) -> Self {
        Self {
            model: Some(MODEL.to_owned()),
            stream: Some(true),
            country,
            language,
            ..Self::about(query)
        }
    }

    /// Returns this question for a single answer, with or without citations.
    #[must_use]
    pub fn with_citations(self, citations: bool) -> Self {
        Self {
            enable_citations: Some(citations),
            ..self
        }
    }

    /// Returns this question for deep research.
    #[must_use]
    pub fn with_research(self, research: Research) -> Self {
        Self {
            enable_research: Some(true),
            research_allow_thinking: Some(research.thinking),
            research_maximum_number_of_tokens_per_query: Some(research.tokens_per_query),
            research_maximum_number_of_queries: Some(research.queries),
            research_maximum_number_of_iterations: Some(research.iterations),
            research_maximum_number_of_seconds: Some(research.seconds),
            research_maximum_number_of_results_per_query: Some(research.results_per_query),
            ..self
        }
    }
}
