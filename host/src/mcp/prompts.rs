//! The prompts that a person can pick in a client.

use rmcp::ErrorData;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument,
    PromptMessage, Role,
};
use serde_json::Value;

/// The name of the prompt for deep research.
pub const DEEP_RESEARCH: &str = "deep_research";

/// The name of the prompt for a short answer with sources.
pub const CITED_ANSWER: &str = "cited_answer";

/// The depths of research: the word, and the limits that it stands for.
pub const DEPTHS: &[(&str, &str)] = &[
    (
        "quick",
        "research_maximum_number_of_iterations 1 and research_maximum_number_of_queries 5",
    ),
    ("normal", "the default caps"),
    (
        "deep",
        "research_maximum_number_of_iterations 5 and research_maximum_number_of_queries 40",
    ),
];

/// Returns all prompts.
#[must_use]
pub fn list() -> ListPromptsResult {
    let argument = |name: &str, about: &str, required: bool| {
        PromptArgument::new(name)
            .with_description(about)
            .with_required(required)
    };
    ListPromptsResult::with_all_items(vec![
        Prompt::new(
            DEEP_RESEARCH,
            Some("Researches a question in depth and reports with sources"),
            Some(vec![
                argument("question", "What to find out", true),
                argument("depth", "quick, normal or deep", false),
            ]),
        )
        .with_title("Deep research"),
        Prompt::new(
            CITED_ANSWER,
            Some("Answers a question from the live web with citations"),
            Some(vec![
                argument("question", "What to answer", true),
                argument("country", "Two letters, or ALL", false),
                argument("language", "Such as en or pt-br", false),
            ]),
        )
        .with_title("Cited answer"),
    ])
}

/// Returns a prompt with its arguments filled in.
///
/// # Errors
/// When there is no such prompt, or an argument is missing or unknown.
pub fn get(params: &GetPromptRequestParams) -> Result<GetPromptResult, ErrorData> {
    let given = Given(params.arguments.as_ref());
    let (about, text) = match params.name.as_str() {
        DEEP_RESEARCH => {
            given.only(&["question", "depth"])?;
            ("Deep research", deep_research(&given)?)
        }
        CITED_ANSWER => {
            given.only(&["question", "country", "language"])?;
            ("Cited answer", cited_answer(&given)?)
        }
        name => {
            let message =
                format!("there is no prompt {name}; there are {DEEP_RESEARCH}, {CITED_ANSWER}");
            return Err(ErrorData::invalid_params(message, None));
        }
    };
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]).with_description(about))
}

fn deep_research(given: &Given<'_>) -> Result<String, ErrorData> {
    let question = given.question()?;
    let depth = given.text("depth").unwrap_or_else(|| "normal".to_owned());
    let caps = DEPTHS
        .iter()
        .find(|(word, _)| *word == depth)
        .map(|(_, caps)| caps);
    let caps = caps.ok_or_else(|| {
        let message = format!("`depth` must be quick, normal or deep; got {depth}");
        ErrorData::invalid_params(message, None)
    })?;
    Ok(format!(
        "Research this in depth: {question}\n\nCall research_submit once, with this question as the query and {caps}. \
         Then call research_result with the research_id and wait_seconds 50 until it is done. Report what it found, \
         keep its links, and name what it could not find."
    ))
}

fn cited_answer(given: &Given<'_>) -> Result<String, ErrorData> {
    let question = given.question()?;
    let mut text = format!(
        "Answer this with the tool answers: {question}\n\nKeep its [n] markers and list the sources."
    );
    for name in ["country", "language"] {
        if let Some(value) = given.text(name) {
            text.push_str(&format!(" Pass {name} {value}."));
        }
    }
    Ok(text)
}

/// Returns the arguments of a prompt. The protocol allows strings only.
struct Given<'a>(Option<&'a serde_json::Map<String, Value>>);

impl Given<'_> {
    fn text(&self, name: &str) -> Option<String> {
        let text = match self.0?.get(name)? {
            Value::String(text) => text.trim().to_owned(),
            Value::Null => return None,
            other => other.to_string(),
        };
        (!text.is_empty()).then_some(text)
    }

    fn question(&self) -> Result<String, ErrorData> {
        self.text("question").ok_or_else(|| {
            ErrorData::invalid_params("`question` is required and must not be blank", None)
        })
    }

    fn only(&self, known: &[&str]) -> Result<(), ErrorData> {
        let unknown = self
            .0
            .and_then(|given| given.keys().find(|name| !known.contains(&name.as_str())));
        match unknown {
            None => Ok(()),
            Some(name) => {
                let message = format!(
                    "`{name}` is not an argument of this prompt; it takes {}",
                    known.join(", ")
                );
                Err(ErrorData::invalid_params(message, None))
            }
        }
    }
}
