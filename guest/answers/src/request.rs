//! Builds the request for a question. Every field is checked first, so that no invalid request is billed.

use crate::event::Header;
use crate::question::{HttpRequest, InvalidField, Location, Question};
use serde::Serialize;
use stream::json::Json;

const PATH: &str = "/res/v1/chat/completions";

/// Longest query in bytes. The upstream documents no bound. 400 KiB are some 100,000 tokens, which cost half a
/// dollar; a longer query is taken for a mistake.
pub const MAX_QUERY_BYTES: usize = 400 * 1024;

/// Longest metadata in bytes. The upstream ignores it, so longer metadata is taken for a mistake.
const MAX_METADATA_BYTES: usize = 16 * 1024;

/// Longest free text of a location in bytes; the longest place names have some 170 letters.
const MAX_PLACE_BYTES: usize = 200;

/// The fields that only research has, with their ranges.
const RESEARCH_RANGES: [(&str, i64, i64); 5] = [
    ("research_maximum_number_of_tokens_per_query", 1024, 16384),
    ("research_maximum_number_of_queries", 1, 50),
    ("research_maximum_number_of_iterations", 1, 5),
    ("research_maximum_number_of_seconds", 1, 300),
    ("research_maximum_number_of_results_per_query", 1, 60),
];

/// Checks everything and builds the request; keys in the body come in a fixed order.
///
/// # Errors
///
/// Every field that is wrong, in the order of [`Question`], each once.
pub fn build(question: &Question) -> Result<HttpRequest, Vec<InvalidField>> {
    let metadata = question.metadata.as_deref().and_then(Json::parse);
    let invalid = check(question, metadata.as_ref());
    if !invalid.is_empty() {
        return Err(invalid);
    }
    let accept = match question.stream {
        Some(false) => "application/json",
        _ => "text/event-stream",
    };
    let header = |name: &str, value: &str| Header {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    Ok(HttpRequest {
        method: "POST".to_owned(),
        path: PATH.to_owned(),
        headers: vec![
            header("accept", accept),
            header("content-type", "application/json"),
        ],
        body: body(question, metadata.as_ref()),
    })
}

/// The problems that were found so far.
#[derive(Default)]
struct Problems(Vec<InvalidField>);

impl Problems {
    fn add(&mut self, field: &str, problem: &str) {
        self.0.push(InvalidField {
            field: field.to_owned(),
            problem: problem.to_owned(),
        });
    }

    fn one_of(&mut self, field: &str, value: Option<&String>, allowed: &[&str]) {
        if value.is_some_and(|value| !allowed.contains(&value.as_str())) {
            self.add(field, &format!("must be one of {}", allowed.join(", ")));
        }
    }
}

fn check(question: &Question, metadata: Option<&Json<'_>>) -> Vec<InvalidField> {
    let mut problems = Problems::default();
    check_query(&question.query, &mut problems);
    problems.one_of("model", question.model.as_ref(), &["brave", "brave-pro"]);
    check_stream(question, &mut problems);
    if question
        .country
        .as_deref()
        .is_some_and(|country| !is_country(country) && country != "ALL")
    {
        problems.add("country", "must be a two-letter country code, or ALL");
    }
    if question
        .language
        .as_deref()
        .is_some_and(|language| !is_language(language))
    {
        problems.add("language", "must be a language code such as en or pt-br");
    }
    let levels = ["off", "moderate", "strict"];
    problems.one_of("safesearch", question.safesearch.as_ref(), &levels);
    if question
        .max_completion_tokens
        .is_some_and(|tokens| tokens < 1)
    {
        problems.add("max_completion_tokens", "must be at least 1");
    }
    check_metadata(question.metadata.as_deref(), metadata, &mut problems);
    let research = question.enable_research == Some(true);
    for (field, on) in &[
        ("enable_citations", question.enable_citations),
        ("enable_entities", question.enable_entities),
    ] {
        if research && *on == Some(true) {
            problems.add(field, "cannot be combined with enable_research");
        }
    }
    check_research(question, research, &mut problems);
    let sizes = ["low", "medium", "high"];
    problems.one_of(
        "search_context_size",
        question.search_context_size.as_ref(),
        &sizes,
    );
    if let Some(location) = &question.user_location {
        check_location(location, &mut problems);
    }
    problems.0
}

fn check_query(query: &str, problems: &mut Problems) {
    if query.trim_ascii().is_empty() {
        problems.add("query", "must not be blank");
    } else if query.len() > MAX_QUERY_BYTES {
        let problem = format!("must not be longer than {MAX_QUERY_BYTES} bytes");
        problems.add("query", &problem);
    }
}

fn check_stream(question: &Question, problems: &mut Problems) {
    if question.stream != Some(false) {
        return;
    }
    let mut needs = Vec::new();
    for (field, on) in &[
        ("enable_citations", question.enable_citations),
        ("enable_entities", question.enable_entities),
        ("enable_research", question.enable_research),
    ] {
        if *on == Some(true) {
            needs.push(*field);
        }
    }
    if !needs.is_empty() {
        let problem = format!("must not be false with {}", needs.join(", "));
        problems.add("stream", &problem);
    }
}

fn check_metadata(text: Option<&str>, metadata: Option<&Json<'_>>, problems: &mut Problems) {
    let Some(text) = text else { return };
    if text.len() > MAX_METADATA_BYTES {
        let problem = format!("must not be longer than {MAX_METADATA_BYTES} bytes");
        problems.add("metadata", &problem);
    } else if !matches!(metadata, Some(Json::Object(_))) {
        problems.add("metadata", "must be the text of a JSON object");
    }
}

fn check_research(question: &Question, research: bool, problems: &mut Problems) {
    const ALONE: &str = "needs enable_research";
    if question.research_allow_thinking.is_some() && !research {
        problems.add("research_allow_thinking", ALONE);
    }
    for (&(field, least, most), value) in RESEARCH_RANGES.iter().zip(&research_values(question)) {
        let Some(value) = *value else { continue };
        if value < least || value > most {
            let also = if research {
                ""
            } else {
                ", and needs enable_research"
            };
            problems.add(field, &format!("must be from {least} to {most}{also}"));
        } else if !research {
            problems.add(field, ALONE);
        }
    }
}

fn research_values(question: &Question) -> [Option<i64>; 5] {
    [
        question.research_maximum_number_of_tokens_per_query,
        question.research_maximum_number_of_queries,
        question.research_maximum_number_of_iterations,
        question.research_maximum_number_of_seconds,
        question.research_maximum_number_of_results_per_query,
    ]
}

fn check_location(location: &Location, problems: &mut Problems) {
    let fields = location_fields(location);
    if fields.iter().all(|(_, value)| value.is_none()) {
        problems.add(
            "user_location",
            "must have at least one of city, country, region, timezone",
        );
    }
    for &(name, value) in &fields {
        let Some(value) = value else { continue };
        let problem = if value.trim_ascii().is_empty() || value.len() > MAX_PLACE_BYTES {
            "must be 1 to 200 bytes"
        } else if name == "country" && !is_country(value) {
            "must be a two-letter country code"
        } else if name == "timezone" && !is_time_zone(value) {
            "must be an IANA time zone such as Europe/Vienna"
        } else {
            continue;
        };
        problems.add(&format!("user_location.{name}"), problem);
    }
}

fn location_fields(location: &Location) -> [(&'static str, Option<&str>); 4] {
    [
        ("city", location.city.as_deref()),
        ("country", location.country.as_deref()),
        ("region", location.region.as_deref()),
        ("timezone", location.timezone.as_deref()),
    ]
}

fn is_country(text: &str) -> bool {
    text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Two or three letters, then subtags of two to eight letters and digits.
fn is_language(text: &str) -> bool {
    let mut parts = text.as_bytes().split(|byte| matches!(byte, b'-' | b'_'));
    let first = parts.next().unwrap_or_default();
    matches!(first.len(), 2 | 3)
        && first.iter().all(u8::is_ascii_alphabetic)
        && parts
            .all(|part| matches!(part.len(), 2..=8) && part.iter().all(u8::is_ascii_alphanumeric))
}

fn is_time_zone(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b'-' | b'+'))
}

/// The body of the request; its members are written in this order.
#[derive(Serialize)]
struct Body<'a> {
    messages: [Message<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    country: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    safesearch: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Json<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enable_citations: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enable_entities: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enable_research: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    research_allow_thinking: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    research_maximum_number_of_tokens_per_query: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    research_maximum_number_of_queries: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    research_maximum_number_of_iterations: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    research_maximum_number_of_seconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    research_maximum_number_of_results_per_query: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    web_search_options: Option<WebSearchOptions<'a>>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct WebSearchOptions<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    search_context_size: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_location: Option<UserLocation<'a>>,
}

#[derive(Serialize)]
struct UserLocation<'a> {
    r#type: &'static str,
    approximate: &'a Location,
}

fn body(question: &Question, metadata: Option<&Json<'_>>) -> Vec<u8> {
    let body = Body {
        messages: [Message {
            role: "user",
            content: &question.query,
        }],
        model: question.model.as_deref(),
        stream: question.stream,
        country: question.country.as_deref(),
        language: question.language.as_deref(),
        safesearch: question.safesearch.as_deref(),
        max_completion_tokens: question.max_completion_tokens,
        metadata,
        seed: question.seed,
        enable_citations: question.enable_citations,
        enable_entities: question.enable_entities,
        enable_research: question.enable_research,
        research_allow_thinking: question.research_allow_thinking,
        research_maximum_number_of_tokens_per_query: question
            .research_maximum_number_of_tokens_per_query,
        research_maximum_number_of_queries: question.research_maximum_number_of_queries,
        research_maximum_number_of_iterations: question.research_maximum_number_of_iterations,
        research_maximum_number_of_seconds: question.research_maximum_number_of_seconds,
        research_maximum_number_of_results_per_query: question
            .research_maximum_number_of_results_per_query,
        web_search_options: web_search_options(question),
    };
    // Writing to memory fails for maps whose keys are no strings alone, and the body has none.
    serde_json::to_vec(&body).unwrap_or_default()
}

fn web_search_options(question: &Question) -> Option<WebSearchOptions<'_>> {
    let options = WebSearchOptions {
        search_context_size: question.search_context_size.as_deref(),
        user_location: question
            .user_location
            .as_ref()
            .map(|approximate| UserLocation {
                r#type: "approximate",
                approximate,
            }),
    };
    (options.search_context_size.is_some() || options.user_location.is_some()).then_some(options)
}
