//! Questions, and the requests built from them.

use crate::event::Header;
use serde::Serialize;

/// The approximate location of the user. Sent as `web_search_options.user_location.approximate`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Location {
    /// City name, free text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub city: Option<String>,
    /// Two-letter country code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// Region or state, free text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// IANA time zone name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
}

/// A question with all options of the API. Absent options are left out of the request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// The question; the content of the one user message. Must not be blank.
    pub query: String,
    /// `brave` or `brave-pro`.
    pub model: Option<String>,
    /// Whether the reply streams. Citations, entities and research need it.
    pub stream: Option<bool>,
    /// Two letters, or `ALL`.
    pub country: Option<String>,
    /// A language code such as `en` or `pt-br`.
    pub language: Option<String>,
    /// `off`, `moderate` or `strict`.
    pub safesearch: Option<String>,
    /// At least 1; a low value gives a truncated answer.
    pub max_completion_tokens: Option<i64>,
    /// The text of a JSON object; the upstream accepts and ignores it.
    pub metadata: Option<String>,
    /// Accepted and ignored by the upstream.
    pub seed: Option<i64>,
    /// Inline citations. Not with research.
    pub enable_citations: Option<bool>,
    /// Entities. Not with research.
    pub enable_entities: Option<bool>,
    /// Deep research.
    pub enable_research: Option<bool>,
    /// Research only.
    pub research_allow_thinking: Option<bool>,
    /// Research only; 1024 to 16384.
    pub research_maximum_number_of_tokens_per_query: Option<i64>,
    /// Research only; 1 to 50. Only queries that are run are billed.
    pub research_maximum_number_of_queries: Option<i64>,
    /// Research only; 1 to 5.
    pub research_maximum_number_of_iterations: Option<i64>,
    /// Research only; 1 to 300 seconds. A soft budget: runs overshoot it.
    pub research_maximum_number_of_seconds: Option<i64>,
    /// Research only; 1 to 60.
    pub research_maximum_number_of_results_per_query: Option<i64>,
    /// `low`, `medium` or `high`. Sent as `web_search_options.search_context_size`.
    pub search_context_size: Option<String>,
    /// The approximate location of the user.
    pub user_location: Option<Location>,
}

/// An invalid field of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidField {
    /// The field's name on the wire, such as `research_maximum_number_of_queries`.
    pub field: String,
    /// What is wrong and what would be valid, in one sentence.
    pub problem: String,
}

/// A request for the host to send. The origin and the key are the host's alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method, in upper case.
    pub method: String,
    /// The path on the origin, with a leading slash.
    pub path: String,
    /// The headers, without host, length and key.
    pub headers: Vec<Header>,
    /// The body.
    pub body: Vec<u8>,
}
