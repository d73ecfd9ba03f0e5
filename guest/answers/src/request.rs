//! From a question to a request: everything is checked before a cent is spent.

use crate::event::Header;
use crate::json::Json;
use crate::json::writer::Writer;
use crate::question::{HttpRequest, InvalidField, Location, Question};
use crate::text::{concat, push_number};
use alloc::{borrow::ToOwned, string::String, vec, vec::Vec};

const PATH: &str = "/res/v1/chat/completions";

/// Longest query in bytes. The upstream documents no bound; 32 KiB are some 8,000 tokens, as much as it
/// reads by itself for a whole answer, so a longer one is a mistake that would be billed.
pub const MAX_QUERY_BYTES: usize = 32 * 1024;

/// Longest metadata in bytes: it is accepted and ignored, so more is a mistake.
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
        body: body(question, metadata.as_ref()).into_bytes(),
    })
}

/// What is wrong so far.
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
            self.add(field, &listed("must be one of ", allowed));
        }
    }
}

fn check(question: &Question, metadata: Option<&Json>) -> Vec<InvalidField> {
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
        problems.add("query", "must not be longer than 32768 bytes");
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
        problems.add("stream", &listed("must not be false with ", &needs));
    }
}

fn check_metadata(text: Option<&str>, metadata: Option<&Json>, problems: &mut Problems) {
    let Some(text) = text else { return };
    if text.len() > MAX_METADATA_BYTES {
        problems.add("metadata", "must not be longer than 16384 bytes");
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
            let mut problem = "must be from ".to_owned();
            push_number(least.unsigned_abs(), &mut problem);
            problem.push_str(" to ");
            push_number(most.unsigned_abs(), &mut problem);
            problem.push_str(if research {
                ""
            } else {
                ", and needs enable_research"
            });
            problems.add(field, &problem);
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
        problems.add(&concat(&["user_location.", name]), problem);
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

/// The names after the lead, with commas between.
fn listed(lead: &str, names: &[&str]) -> String {
    let mut text = lead.to_owned();
    for (index, name) in names.iter().enumerate() {
        text.push_str(if index > 0 { ", " } else { "" });
        text.push_str(name);
    }
    text
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

fn body(question: &Question, metadata: Option<&Json>) -> String {
    let mut json = Writer::default();
    json.open('{');
    json.key("messages");
    json.open('[');
    json.open('{');
    json.key("role");
    json.text("user");
    json.key("content");
    json.text(&question.query);
    json.close('}');
    json.close(']');
    text(&mut json, "model", question.model.as_deref());
    truth(&mut json, "stream", question.stream);
    text(&mut json, "country", question.country.as_deref());
    text(&mut json, "language", question.language.as_deref());
    text(&mut json, "safesearch", question.safesearch.as_deref());
    integer(
        &mut json,
        "max_completion_tokens",
        question.max_completion_tokens,
    );
    if let Some(metadata) = metadata {
        json.key("metadata");
        json.json(metadata);
    }
    integer(&mut json, "seed", question.seed);
    truth(&mut json, "enable_citations", question.enable_citations);
    truth(&mut json, "enable_entities", question.enable_entities);
    truth(&mut json, "enable_research", question.enable_research);
    truth(
        &mut json,
        "research_allow_thinking",
        question.research_allow_thinking,
    );
    for (range, value) in RESEARCH_RANGES.iter().zip(&research_values(question)) {
        integer(&mut json, range.0, *value);
    }
    web_search_options(&mut json, question);
    json.close('}');
    json.finish()
}

fn web_search_options(json: &mut Writer, question: &Question) {
    if question.search_context_size.is_none() && question.user_location.is_none() {
        return;
    }
    json.key("web_search_options");
    json.open('{');
    text(
        json,
        "search_context_size",
        question.search_context_size.as_deref(),
    );
    if let Some(location) = &question.user_location {
        json.key("user_location");
        json.open('{');
        text(json, "type", Some("approximate"));
        json.key("approximate");
        json.open('{');
        for &(name, value) in &location_fields(location) {
            text(json, name, value);
        }
        json.close('}');
        json.close('}');
    }
    json.close('}');
}

fn text(json: &mut Writer, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        json.key(name);
        json.text(value);
    }
}

fn truth(json: &mut Writer, name: &str, value: Option<bool>) {
    if let Some(value) = value {
        json.key(name);
        json.bool(value);
    }
}

fn integer(json: &mut Writer, name: &str, value: Option<i64>) {
    if let Some(value) = value {
        json.key(name);
        json.integer(value);
    }
}
