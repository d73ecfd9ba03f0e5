//! Validates the body of a request as the API does.

use serde_json::{Map, Value, json};

/// The fields of a valid request.
#[derive(Clone, Debug)]
pub struct RequestFields {
    /// The content of the message.
    pub question: String,
    /// Whether the reply is streamed.
    pub stream: bool,
    /// Whether citations are enabled.
    pub citations: bool,
    /// Whether research is enabled.
    pub research: bool,
    /// Whether research may send `thinking` tags.
    pub thinking: bool,
    /// The maximum number of iterations.
    pub iterations: u64,
    /// The maximum number of queries.
    pub queries: u64,
    /// The soft limit on the time, in seconds.
    pub seconds: u64,
    /// The maximum number of tokens per query.
    pub tokens_per_query: u64,
    /// The maximum number of results per query.
    pub results_per_query: u64,
}

/// The reason why a body is invalid.
#[derive(Clone, Debug, PartialEq)]
pub enum InvalidBody {
    /// Invalid fields, as the `meta` of the error.
    Fields(Value),
    /// Options that exclude each other, as the text of the error.
    Options(&'static str),
}

enum FieldKind {
    Text,
    Choice(&'static [&'static str]),
    Country,
    Switch,
    Whole(i64, i64),
    Object,
    Messages,
}

/// All known fields. The API accepts and ignores others.
const FIELDS: [(&str, FieldKind); 19] = [
    ("messages", FieldKind::Messages),
    ("model", FieldKind::Choice(&["brave", "brave-pro"])),
    ("stream", FieldKind::Switch),
    ("country", FieldKind::Country),
    ("language", FieldKind::Text),
    (
        "safesearch",
        FieldKind::Choice(&["off", "moderate", "strict"]),
    ),
    ("max_completion_tokens", FieldKind::Whole(1, i64::MAX)),
    ("metadata", FieldKind::Object),
    ("seed", FieldKind::Whole(i64::MIN, i64::MAX)),
    ("enable_citations", FieldKind::Switch),
    ("enable_entities", FieldKind::Switch),
    ("enable_research", FieldKind::Switch),
    ("research_allow_thinking", FieldKind::Switch),
    (
        "research_maximum_number_of_tokens_per_query",
        FieldKind::Whole(1024, 16384),
    ),
    (
        "research_maximum_number_of_queries",
        FieldKind::Whole(1, 50),
    ),
    (
        "research_maximum_number_of_iterations",
        FieldKind::Whole(1, 5),
    ),
    (
        "research_maximum_number_of_seconds",
        FieldKind::Whole(1, 300),
    ),
    (
        "research_maximum_number_of_results_per_query",
        FieldKind::Whole(1, 60),
    ),
    ("web_search_options", FieldKind::Object),
];

/// Validates a body. Returns its fields and a note for each unknown field, which the API ignores.
pub fn check(body: &Value) -> Result<(RequestFields, Vec<String>), InvalidBody> {
    let Some(members) = body.as_object() else {
        return Err(InvalidBody::Fields(
            json!({ "errors": [error("", "Input should be a valid object", body)] }),
        ));
    };
    let errors: Vec<Value> = FIELDS
        .iter()
        .filter_map(|(name, kind)| check_field(members, name, kind))
        .collect();
    if !errors.is_empty() {
        return Err(InvalidBody::Fields(json!({ "errors": errors })));
    }
    let fields = fields(members);
    exclusions(members, &fields)?;
    let unknown = members
        .keys()
        .filter(|name| !FIELDS.iter().any(|field| field.0 == name.as_str()))
        .map(|name| format!("unknown field {name}: ignored"))
        .collect();
    Ok((fields, unknown))
}

fn check_field(members: &Map<String, Value>, name: &str, kind: &FieldKind) -> Option<Value> {
    let value = match (members.get(name), kind) {
        (None, FieldKind::Messages) => return Some(error(name, "Field required", &Value::Null)),
        (None, _) => return None,
        (Some(value), _) => value,
    };
    if value.is_null() && matches!(name, "metadata" | "max_completion_tokens") {
        return None;
    }
    problem(value, kind).map(|problem| error(name, &problem, value))
}

fn problem(value: &Value, kind: &FieldKind) -> Option<String> {
    let (good, wanted) = match kind {
        FieldKind::Text => (
            value.is_string(),
            "Input should be a valid string".to_owned(),
        ),
        FieldKind::Choice(choices) => (
            value.as_str().is_some_and(|text| choices.contains(&text)),
            format!("Input should be one of {}", choices.join(", ")),
        ),
        FieldKind::Country => (
            value.as_str().is_some_and(|text| {
                text == "ALL"
                    || (text.len() == 2 && text.bytes().all(|letter| letter.is_ascii_alphabetic()))
            }),
            "Input should be a two-letter country code or ALL".to_owned(),
        ),
        FieldKind::Switch => (
            value.is_boolean(),
            "Input should be a valid boolean".to_owned(),
        ),
        FieldKind::Whole(least, most) => (
            value
                .as_i64()
                .is_some_and(|number| (*least..=*most).contains(&number)),
            format!("Input should be an integer from {least} to {most}"),
        ),
        FieldKind::Object => (
            value.is_object(),
            "Input should be a valid object".to_owned(),
        ),
        FieldKind::Messages => (
            one_message(value).is_some(),
            "Input should be exactly one message of role user with text".to_owned(),
        ),
    };
    (!good).then_some(wanted)
}

fn one_message(value: &Value) -> Option<&str> {
    let [message] = value.as_array()?.as_slice() else {
        return None;
    };
    if message.get("role")?.as_str()? != "user" {
        return None;
    }
    message
        .get("content")?
        .as_str()
        .filter(|content| !content.trim().is_empty())
}

fn error(name: &str, problem: &str, input: &Value) -> Value {
    json!({ "type": "value_error", "loc": ["body", name], "msg": problem, "input": input })
}

fn fields(members: &Map<String, Value>) -> RequestFields {
    let switch = |name: &str, default| {
        members
            .get(name)
            .and_then(Value::as_bool)
            .unwrap_or(default)
    };
    let whole = |name: &str, default| members.get(name).and_then(Value::as_u64).unwrap_or(default);
    RequestFields {
        question: members
            .get("messages")
            .and_then(one_message)
            .unwrap_or_default()
            .to_owned(),
        stream: switch("stream", true),
        citations: switch("enable_citations", false),
        research: switch("enable_research", false),
        thinking: switch("research_allow_thinking", true),
        iterations: whole("research_maximum_number_of_iterations", 4),
        queries: whole("research_maximum_number_of_queries", 20),
        seconds: whole("research_maximum_number_of_seconds", 180),
        tokens_per_query: whole("research_maximum_number_of_tokens_per_query", 8192),
        results_per_query: whole("research_maximum_number_of_results_per_query", 30),
    }
}

fn exclusions(members: &Map<String, Value>, fields: &RequestFields) -> Result<(), InvalidBody> {
    let entities = members
        .get("enable_entities")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let text = match fields {
        RequestFields {
            stream: false,
            research: true,
            ..
        } => "Blocking response does not support `enable_research`.",
        RequestFields {
            stream: false,
            citations: true,
            ..
        } => "Blocking response does not support `enable_citations`.",
        RequestFields { stream: false, .. } if entities => {
            "Blocking response does not support `enable_entities`."
        }
        RequestFields {
            research: true,
            citations: true,
            ..
        } => "Research mode does not support `enable_citations`.",
        RequestFields { research: true, .. } if entities => {
            "Research mode does not support `enable_entities`."
        }
        _ => return Ok(()),
    };
    Err(InvalidBody::Options(text))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn body(extra: Value) -> Value {
        let mut body = json!({"messages": [{"role": "user", "content": "why?"}], "model": "brave"});
        for (name, value) in extra.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    }

    #[test]
    fn ranges_types_and_messages() {
        assert!(check(&body(json!({"metadata": null, "country": "ALL"}))).is_ok());
        for bad in [
            json!({"research_maximum_number_of_queries": 51}),
            json!({"research_maximum_number_of_queries": "4"}),
            json!({"research_maximum_number_of_iterations": 0}),
            json!({"country": "usa"}),
            json!({"model": "gpt"}),
            json!({"messages": []}),
            json!({"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}),
            json!({"messages": [{"role": "system", "content": "a"}]}),
            json!({"messages": [{"role": "user", "content": " "}]}),
        ] {
            assert!(
                matches!(check(&body(bad.clone())), Err(InvalidBody::Fields(_))),
                "{bad}"
            );
        }
    }

    #[test]
    fn exclusions_and_unknown_names() {
        for bad in [
            json!({"stream": false, "enable_citations": true}),
            json!({"stream": false, "enable_research": true}),
            json!({"enable_research": true, "enable_citations": true}),
            json!({"enable_research": true, "enable_entities": true}),
        ] {
            assert!(
                matches!(check(&body(bad.clone())), Err(InvalidBody::Options(_))),
                "{bad}"
            );
        }
        let (_, notes) = check(&body(json!({"maxQueries": 3}))).unwrap();
        assert_eq!(notes.len(), 1);
    }
}
