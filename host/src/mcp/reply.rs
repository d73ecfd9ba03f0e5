//! What a tool says: text that stands alone, structured content beside it, and both within their bounds.

use rmcp::model::{CallToolResult, ContentBlock, CreateTaskResult};
use serde_json::Value;

use super::agent_words::without_flags;
use crate::jobs::JobsError;

/// The most text that one result carries. It is about a third of what common clients put before a model
/// without spilling it into a file, and several times a long research report.
pub const OUTPUT_BYTES: usize = 64 << 10;

/// The least that can be set: the notice of a cut must fit with something left over.
pub const LEAST_OUTPUT_BYTES: usize = 1 << 10;

/// What a tool gives back.
#[derive(Debug)]
pub enum Reply {
    /// A result.
    Told(Box<Told>),
    /// A task that the client is to follow.
    Task(Box<CreateTaskResult>),
}

/// A result.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// What a model reads; it needs nothing else.
    pub text: String,
    /// What a program reads.
    pub structured: Option<Value>,
    /// Whether the tool failed.
    pub failed: bool,
    /// The resource that has all of it.
    pub whole: Option<String>,
}

impl Told {
    /// A result of text and structured content.
    #[must_use]
    pub fn new(text: impl Into<String>, structured: impl Into<Value>) -> Self {
        Self {
            text: text.into(),
            structured: Some(structured.into()),
            failed: false,
            whole: None,
        }
    }

    /// A failure, in words.
    #[must_use]
    pub fn failure(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            structured: None,
            failed: true,
            whole: None,
        }
    }

    /// The same with notes at its end.
    #[must_use]
    pub fn noted(mut self, notes: &[String]) -> Self {
        for note in notes {
            let note = format!("Note: {note}.");
            self.text.push('\n');
            self.text.push_str(&note);
            if let Some(Value::Object(part)) = &mut self.structured {
                let before = part.get("note").and_then(Value::as_str);
                let all = before.map_or_else(|| note.clone(), |before| format!("{before} {note}"));
                part.insert("note".into(), all.into());
            }
        }
        self
    }

    /// As MCP has it, cut to `limit` bytes of text and as many of structured content.
    #[must_use]
    pub fn result(self, limit: usize, structured: bool) -> CallToolResult {
        let notice = |total: usize| {
            let place = self.whole.as_deref().map_or_else(String::new, |uri| {
                format!(" All of it is the resource {uri}.")
            });
            format!("\n\n[Cut here: {total} bytes are more than the limit of {limit}.{place}]")
        };
        let text = cut(&self.text, limit, &notice);
        let content = vec![ContentBlock::text(text)];
        if self.failed {
            // A client that validates structured content would refuse an error's.
            return CallToolResult::error(content);
        }
        let mut result = CallToolResult::success(content);
        if structured {
            result.structured_content = self.structured.map(|value| bounded(value, limit, &notice));
        }
        result
    }
}

impl From<Told> for Reply {
    fn from(told: Told) -> Self {
        Self::Told(Box::new(told))
    }
}

impl From<JobsError> for Told {
    fn from(error: JobsError) -> Self {
        match error {
            JobsError::Invalid(fields) => {
                let wrong: Vec<String> = fields
                    .into_iter()
                    .map(|field| format!("`{}`: {}", field.field, field.problem))
                    .collect();
                wrong_arguments(&wrong)
            }
            error => Self::failure(in_words(&error)),
        }
    }
}

/// An error for an agent, which may not have the shell that the error's own words may speak of.
#[must_use]
pub fn in_words(error: &JobsError) -> String {
    match error {
        JobsError::Unknown(id) => {
            format!("no research has the id `{id}`; research_list shows those there are")
        }
        error => without_flags(&error.to_string()),
    }
}

/// Names everything that is wrong with the arguments of a call.
#[must_use]
pub fn wrong_arguments(wrong: &[String]) -> Told {
    let mut text = match wrong.len() {
        1 => "One argument is wrong; nothing was sent and nothing billed.".to_owned(),
        count => format!("{count} arguments are wrong; nothing was sent and nothing billed."),
    };
    for problem in wrong {
        text.push_str("\n- ");
        text.push_str(problem);
    }
    Told::failure(text)
}

/// The text, or as much of it as fits together with the notice, cut between two characters.
#[must_use]
pub fn cut(text: &str, limit: usize, notice: &dyn Fn(usize) -> String) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let notice = notice(text.len());
    let room = limit.saturating_sub(notice.len());
    let end = text.floor_char_boundary(room);
    format!("{}{notice}", text.get(..end).unwrap_or_default())
}

/// The lists of structured content that may be long.
const LISTS: [&str; 2] = ["sources", "jobs"];

/// Structured content within the limit: the end of the answer goes first, then the ends of the lists.
fn bounded(mut value: Value, limit: usize, notice: &dyn Fn(usize) -> String) -> Value {
    let total = value.to_string().len();
    if total <= limit {
        return value;
    }
    if let Some(Value::String(answer)) = value.get_mut("answer") {
        // JSON writes some characters as two bytes and more: the answer keeps its share of what is left.
        let written = Value::from(answer.as_str()).to_string().len();
        let left = limit.saturating_sub(total.saturating_sub(written));
        let room = left * answer.len() / written.max(1);
        *answer = cut(answer, room, notice);
    }
    for list in LISTS {
        let mut left = value.to_string().len();
        if let Some(Value::Array(items)) = value.get_mut(list) {
            while left > limit
                && let Some(item) = items.pop()
            {
                left = left.saturating_sub(item.to_string().len() + 1);
            }
        }
    }
    value
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cut_is_between_characters_within_the_limit_and_says_so() {
        let told = Told {
            text: "é".repeat(4000),
            structured: None,
            failed: false,
            whole: Some("research://x".into()),
        };
        for limit in 1024..1030 {
            let result = told.clone().result(limit, true);
            let text = &result.content.first().unwrap().as_text().unwrap().text;
            assert!(text.len() <= limit, "{} bytes of {limit}", text.len());
            assert!(text.starts_with("éé") && text.ends_with(']'), "{text}");
            assert!(text.contains("8000 bytes") && text.contains("research://x"));
        }
    }

    #[test]
    fn structured_content_is_cut_at_the_end_of_its_answer_and_of_its_lists() {
        let result = |structured: Value| {
            let result = Told::new("t", structured).result(2048, true);
            result.structured_content.unwrap()
        };
        let source = json!({ "number": 1, "url": "https://a.example/" });
        let long = result(json!({ "answer": "\"a".repeat(9000), "sources": [source] }));
        assert!(
            long.to_string().len() <= 2048 + 256,
            "{}",
            long.to_string().len()
        );
        let answer = long["answer"].as_str().unwrap();
        assert!(
            answer.starts_with("\"a") && answer.ends_with(']'),
            "{answer}"
        );
        assert_eq!(long["sources"].as_array().unwrap().len(), 1);
        let many = result(json!({ "state": "listed", "jobs": vec![source; 500] }));
        assert!(many.to_string().len() <= 2048);
        assert!(many["jobs"].as_array().unwrap().len() > 10);
    }

    #[test]
    fn an_error_carries_no_structured_content() {
        let mut told = Told::new("t", json!({ "state": "failed" }));
        told.failed = true;
        let result = told.result(OUTPUT_BYTES, true);
        assert_eq!(result.structured_content, None);
        assert_eq!(result.is_error, Some(true));
    }
}
