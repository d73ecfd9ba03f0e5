//! The types of the world `answers`, as the WIT documents them, and what the host needs to know of them.

use super::bindings::exports::glovebox::answers as exported;

pub use exported::normalize::Format;
pub use exported::reply::Finished;
pub use exported::types::{
    Alignment, Analyzing, Batch, Block, BlockKind, Citation, Code, Cost, Entity, Event, EventKind,
    Failure, FailureKind, Header, Heading, HttpRequest, InvalidField, Item, Limits, Location, Mode,
    Outcome, OutcomeError, Progress, Question, Source, Span, StreamError, StreamErrorKind, Style,
    Styled, Table, Thinking, Usage, Warning,
};

/// The code of the warning about a cost that the component did not take over.
const BAD_COST: &str = "bad-cost";

impl Default for Limits {
    /// The documented defaults, all of them.
    fn default() -> Self {
        Self {
            line_bytes: None,
            tag_bytes: None,
            text_bytes: None,
            stream_bytes: None,
        }
    }
}

impl Mode {
    /// The name in the outcome's JSON and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Research => "research",
        }
    }
}

impl StreamErrorKind {
    /// The hyphenated name, as the outcome's error has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LineLimit => "line-limit",
            Self::TextLimit => "text-limit",
            Self::StreamLimit => "stream-limit",
            Self::UpstreamError => "upstream-error",
            Self::NotAReply => "not-a-reply",
        }
    }
}

impl FailureKind {
    /// All of them, in the order of the WIT.
    pub const ALL: [Self; 12] = [
        Self::NoPlan,
        Self::SpendCap,
        Self::NotAllowed,
        Self::NotFound,
        Self::BadKey,
        Self::NoKey,
        Self::InvalidRequest,
        Self::RateLimited,
        Self::Quota,
        Self::ServerError,
        Self::Redirect,
        Self::Unexpected,
    ];

    /// The hyphenated name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoPlan => "no-plan",
            Self::SpendCap => "spend-cap",
            Self::NotAllowed => "not-allowed",
            Self::NotFound => "not-found",
            Self::BadKey => "bad-key",
            Self::NoKey => "no-key",
            Self::InvalidRequest => "invalid-request",
            Self::RateLimited => "rate-limited",
            Self::Quota => "quota",
            Self::ServerError => "server-error",
            Self::Redirect => "redirect",
            Self::Unexpected => "unexpected",
        }
    }
}

impl Question {
    /// A question with nothing else said: everything is as the upstream has it by default.
    #[must_use]
    pub const fn about(query: String) -> Self {
        Self {
            query,
            model: None,
            stream: None,
            country: None,
            language: None,
            safesearch: None,
            max_completion_tokens: None,
            metadata: None,
            seed: None,
            enable_citations: None,
            enable_entities: None,
            enable_research: None,
            research_allow_thinking: None,
            research_maximum_number_of_tokens_per_query: None,
            research_maximum_number_of_queries: None,
            research_maximum_number_of_iterations: None,
            research_maximum_number_of_seconds: None,
            research_maximum_number_of_results_per_query: None,
            search_context_size: None,
            user_location: None,
        }
    }
}

impl Outcome {
    /// Returns what the call cost, in US dollars: as billed where the reply said so, else by the published price
    /// where the figures suffice. A reply that states a cost that no call can have says nothing about it: none.
    #[must_use]
    pub fn cost_usd(&self) -> Option<f64> {
        let usage = self.usage.as_ref()?;
        let refused = self.warnings.iter().any(|warning| warning.code == BAD_COST);
        let estimate = usage.cost_usd_estimate.filter(|_| !refused);
        usage.cost_usd.total.or(estimate)
    }
}

impl Limits {
    /// No limits beside the component's own.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            line_bytes: None,
            tag_bytes: None,
            text_bytes: None,
            stream_bytes: None,
        }
    }
}
