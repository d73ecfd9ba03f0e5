//! What the API checks of a body.

use serde_json::{Map, Value, json};

/// A body that was accepted.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The one message.
    pub question: String,
    /// Whether the reply streams.
    pub stream: bool,
    /// Whether it cites.
    pub citations: bool,
    /// Whether it is research.
    pub research: bool,
    /// Whether research may tell what it read.
    pub thinking: bool,
    /// The cap on iterations.
    pub iterations: u64,
    /// The cap on queries.
    pub queries: u64,
    /// The soft budget in seconds.
    pub seconds: u64,
    /// The cap on tokens a query.
    pub tokens_per_query: u64,
    /// The cap on results a query.
    pub results_per_query: u64,
}

/// Why a body is refused.
#[derive(Clone, Debug, PartialEq)]
pub enum Rejected {
    /// Bad fields: the `meta` of the error.
    Fields(Value),
    /// Options that exclude each other: the text.
    Options(&'static str),
}

enum Kind {
    Text,
    Choice(&'static [&'static str]),
    Country,
    Switch,
    Whole(i64, i64),
    Object,
    Messages,
}

/// All fields that are known. Others are accepted and ignored by the API.
const FIELDS: [(&str, Kind); 19] = [
    ("messages", Kind::Messages),
    ("model", Kind::Choice(&["brave", "brave-pro"])),
    ("stream", Kind::Switch),
    ("country", Kind::Country),
    ("language", Kind::Text),
    ("safesearch", Kind::Choice(&["off", "moderate", "strict"])),
    ("max_completion_tokens", Kind::Whole(1, i64::MAX)),
    ("metadata", Kind::Object),
    ("seed", Kind::Whole(i64::MIN, i64::MAX)),
    ("enable_citations", Kind::Switch),
    ("enable_entities", Kind::Switch),
    ("enable_research", Kind::Switch),
    ("research_allow_thinking", Kind::Switch),
    (
        "research_maximum_number_of_tokens_per_query",
        Kind::Whole(1024, 16384),
    ),
    ("research_maximum_number_of_queries", Kind::Whole(1, 50)),
    ("research_maximum_number_of_iterations", Kind::Whole(1, 5)),
    ("research_maximum_number_of_seconds", Kind::Whole(1, 300)),
    (
        "research_maximum_number_of_results_per_query",
        Kind::Whole(1, 60),
    ),
    ("web_search_options", Kind::Object),
];

/// Checks a body; with it come the names that are no fields, which the API ignores in silence.
pub fn check(body: &Value) -> Result<(Asked, Vec<String>), Rejected> {
    let Some(members) = body.as_object() else {
        return Err(Rejected::Fields(
            json!({ "errors": [error("", "Input should be a valid object", body)] }),
        ));
    };
    let errors: Vec<Value> = FIELDS
        .iter()
        .filter_map(|(name, kind)| check_field(members, name, kind))
        .collect();
    if !errors.is_empty() {
        return Err(Rejected::Fields(json!({ "errors": errors })));
    }
    let asked = asked(members);
    exclusions(members, &asked)?;
    let unknown = members
        .keys()
        .filter(|name| !FIELDS.iter().any(|field| field.0 == name.as_str()))
        .map(|name| format!("unknown field {name}: ignored"))
        .collect();
    Ok((asked, unknown))
}

fn check_field(members: &Map<String, Value>, name: &str, kind: &Kind) -> Option<Value> {
    let value = match (members.get(name), kind) {
        (None, Kind::Messages) => return Some(error(name, "Field required", &Value::Null)),
        (None, _) => return None,
        (Some(value), _) => value,
    };
    if value.is_null() && matches!(name, "metadata" | "max_completion_tokens") {
        return None;
    }
    problem(value, kind).map(|problem| error(name, &problem, value))
}

fn problem(value: &Value, kind: &Kind) -> Option<String> {
    let (good, wanted) = match kind {
        Kind::Text => (
            value.is_string(),
            "Input should be a valid string".to_owned(),
        ),
        Kind::Choice(choices) => (
            value.as_str().is_some_and(|text| choices.contains(&text)),
            format!("Input should be one of {}", choices.join(", ")),
        ),
        Kind::Country => (
            value.as_str().is_some_and(|text| {
                text == "ALL"
                    || (text.len() == 2 && text.bytes().all(|letter| letter.is_ascii_alphabetic()))
            }),
            "Input should be a two-letter country code or ALL".to_owned(),
        ),
        Kind::Switch => (
            value.is_boolean(),
            "Input should be a valid boolean".to_owned(),
        ),
        Kind::Whole(least, most) => (
            value
                .as_i64()
                .is_some_and(|number| (*least..=*most).contains(&number)),
            format!("Input should be an integer from {least} to {most}"),
        ),
        Kind::Object => (
            value.is_object(),
            "Input should be a valid object".to_owned(),
        ),
        Kind::Messages => (
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

fn asked(members: &Map<String, Value>) -> Asked {
    let switch = |name: &str, default| {
        members
            .get(name)
            .and_then(Value::as_bool)
            .unwrap_or(default)
    };
    let whole = |name: &str, default| members.get(name).and_then(Value::as_u64).unwrap_or(default);
    Asked {
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

fn exclusions(members: &Map<String, Value>, asked: &Asked) -> Result<(), Rejected> {
    let entities = members
        .get("enable_entities")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let text = match asked {
        Asked {
            stream: false,
            research: true,
            ..
        } => "Blocking response does not support `enable_research`.",
        Asked {
            stream: false,
            citations: true,
            ..
        } => "Blocking response does not support `enable_citations`.",
        Asked { stream: false, .. } if entities => {
            "Blocking response does not support `enable_entities`."
        }
        Asked {
            research: true,
            citations: true,
            ..
        } => "Research mode does not support `enable_citations`.",
        Asked { research: true, .. } if entities => {
            "Research mode does not support `enable_entities`."
        }
        _ => return Ok(()),
    };
    Err(Rejected::Options(text))
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
                matches!(check(&body(bad.clone())), Err(Rejected::Fields(_))),
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
                matches!(check(&body(bad.clone())), Err(Rejected::Options(_))),
                "{bad}"
            );
        }
        let (_, notes) = check(&body(json!({"maxQueries": 3}))).unwrap();
        assert_eq!(notes.len(), 1);
    }
}
