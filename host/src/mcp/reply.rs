//! Results of tools: text that needs nothing else, and structured content, both bounded.

use rmcp::model::{CallToolResult, ContentBlock, CreateTaskResult};
use serde_json::Value;

use super::agent_text::without_flags;
use super::fit::{fit, size};
use crate::jobs::{JobsError, Micros};
use crate::policy::Denial;

/// The most bytes of text in one result, and of structured content. It is about a third of what common clients show a model
/// without writing it to a file, and several times a long research report.
pub const OUTPUT_BYTES: usize = 64 << 10;

/// The least that can be set: the notice of a cut fits, and some text with it.
pub const LEAST_OUTPUT_BYTES: usize = 1 << 10;

/// How a result that is too large is cut.
#[derive(Clone, Copy, Debug)]
pub struct ResultBounds {
    /// The top-level members of the structured content that a client cannot do without.
    pub kept: &'static [&'static str],
    /// The top-level members whose end is left out first.
    pub cut_first: &'static [&'static str],
}

impl ResultBounds {
    /// Bounds of results of which nothing but the state has to be kept.
    pub const STATE: Self = Self {
        kept: &["state"],
        cut_first: &[],
    };
}

/// The reply of a tool.
#[derive(Debug)]
pub enum Reply {
    /// A result.
    ToolResult(Box<ToolResult>),
    /// A task that the client follows.
    Task(Box<CreateTaskResult>),
}

/// The result of a tool.
#[derive(Clone, Debug, Default)]
pub struct ToolResult {
    /// The text for a model. It is complete without the structured content.
    pub text: String,
    /// The structured content for a program.
    pub structured: Option<Value>,
    /// Whether the tool failed.
    pub is_error: bool,
    /// The resource that has the whole result.
    pub resource: Option<String>,
    /// What the call cost, where that is known.
    pub cost: Option<Micros>,
}

impl ToolResult {
    /// Returns a result of text and structured content.
    #[must_use]
    pub fn new(text: impl Into<String>, structured: impl Into<Value>) -> Self {
        Self {
            text: text.into(),
            structured: Some(structured.into()),
            is_error: false,
            resource: None,
            cost: None,
        }
    }

    /// Returns the result of a call that failed.
    #[must_use]
    pub fn failure(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            structured: None,
            is_error: true,
            resource: None,
            cost: None,
        }
    }

    /// Returns the result with notes added to its end.
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

    /// Returns the result as MCP has it: at most `limit` bytes of text, and as many of structured content.
    #[must_use]
    pub fn result(self, limit: usize, bounds: &ResultBounds, structured: bool) -> CallToolResult {
        let place = self.resource.as_deref().map_or_else(String::new, |uri| {
            format!(" All of it is the resource {uri}.")
        });
        let content = vec![ContentBlock::text(cut_lines(&self.text, limit, &place))];
        if self.is_error {
            // An error does not match the output schema, which clients validate.
            return CallToolResult::error(content);
        }
        let mut result = CallToolResult::success(content);
        if structured {
            result.structured_content = self
                .structured
                .map(|value| bounded(value, limit, bounds, &place));
        }
        result
    }
}

impl From<ToolResult> for Reply {
    fn from(result: ToolResult) -> Self {
        Self::ToolResult(Box::new(result))
    }
}

impl From<JobsError> for ToolResult {
    fn from(error: JobsError) -> Self {
        match error {
            JobsError::Invalid(fields) => {
                let wrong: Vec<String> = fields
                    .into_iter()
                    .map(|field| format!("`{}`: {}", field.field, field.problem))
                    .collect();
                wrong_arguments(wrong)
            }
            error => Self::failure(error_text(&error)),
        }
    }
}

/// Returns the text of an error for an agent, without advice that needs a shell.
#[must_use]
pub fn error_text(error: &JobsError) -> String {
    match error {
        JobsError::Unknown(id) => {
            format!("no research has the id `{id}`; research_list shows those there are")
        }
        error => without_flags(&error.to_string()),
    }
}

/// Returns the failure that names everything that is wrong with the arguments of a call.
#[must_use]
pub fn wrong_arguments(wrong: Vec<String>) -> ToolResult {
    ToolResult::failure(Denial::Arguments(wrong).sentence(""))
}

/// Returns the text, cut between two characters where it does not fit together with the notice.
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

/// Returns the text, cut where it does not fit, with a notice that counts the lines left out: in a list, each is an entry.
fn cut_lines(text: &str, limit: usize, place: &str) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let notice = |lines: usize| {
        format!(
            "\n\n[Cut here: {} bytes are more than the limit of {limit}; {lines} more lines are left out.{place}]",
            text.len()
        )
    };
    // The longest notice that is possible.
    let room = limit.saturating_sub(notice(text.len()).len());
    let end = text.floor_char_boundary(room);
    let (shown, rest) = text.split_at_checked(end).unwrap_or(("", text));
    format!("{shown}{}", notice(rest.lines().skip(1).count()))
}

/// Bytes that the notice of a cut may take of the structured content.
const NOTICE_BYTES: usize = 512;

/// Returns structured content within the limit: the end of some members goes first, then all share what is left.
fn bounded(mut value: Value, limit: usize, bounds: &ResultBounds, place: &str) -> Value {
    let total = size(&value);
    if total <= limit {
        return value;
    }
    let room = limit.saturating_sub(NOTICE_BYTES);
    let mut left_out = Vec::new();
    for name in bounds.cut_first {
        if let Some(member) = value.get_mut(name)
            && let Some(cut) = fit(member, room / 4)
        {
            left_out.push(format!("{name}{cut}"));
        }
    }
    left_out.extend(fit(&mut value, room));
    if size(&value) > room
        && let Some(members) = value.as_object_mut()
    {
        // Only numbers and names are left, and they are still too many.
        members.retain(|name, _| bounds.kept.contains(&name.as_str()));
        left_out = vec![format!("all but {}", bounds.kept.join(", "))];
    }
    let mut notice = format!(
        "Cut here: {total} bytes are more than the limit of {limit}. Left out: {}.",
        left_out.join("; ")
    );
    notice.truncate(notice.floor_char_boundary(NOTICE_BYTES / 2));
    notice.push_str(place);
    if let Some(members) = value.as_object_mut() {
        members.insert("note".into(), notice.into());
    }
    value
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use serde_json::json;

    use super::*;

    const BOUNDS: ResultBounds = ResultBounds {
        kept: &["state", "research_id"],
        cut_first: &["sources"],
    };

    #[test]
    fn a_cut_is_between_characters_within_the_limit_and_says_so() {
        let result = ToolResult {
            text: "é".repeat(4000),
            structured: None,
            is_error: false,
            resource: Some("research://x".into()),
            cost: None,
        };
        for limit in 1024..1030 {
            let result = result.clone().result(limit, &BOUNDS, true);
            let text = &result.content.first().unwrap().as_text().unwrap().text;
            assert!(text.len() <= limit, "{} bytes of {limit}", text.len());
            assert!(text.starts_with("éé") && text.ends_with(']'), "{text}");
            assert!(text.contains("8000 bytes") && text.contains("research://x"));
        }
    }

    #[test]
    fn structured_content_is_cut_within_its_limit_and_says_so() {
        let many: Vec<Value> = (0..5000)
            .map(|number| json!({ "number": number, "url": "https://a.example/".repeat(10) }))
            .collect();
        let part = json!({ "state": "done", "answer": "a".repeat(700), "sources": many });
        for limit in [1024, 2048, 65536] {
            let mut result = ToolResult::new("x\n".repeat(100_000), part.clone());
            result.resource = Some("research://01990000-1111-7222-8333-444455556666".into());
            let result = result.result(limit, &BOUNDS, true);
            let text = &result.content.first().unwrap().as_text().unwrap().text;
            assert!(text.len() <= limit && text.contains("more lines"), "{text}");
            let content = result.structured_content.unwrap();
            assert!(size(&content) <= limit, "{} of {limit}", size(&content));
            let note = content["note"].as_str().unwrap();
            assert!(
                note.contains("sources: ") && note.contains("of 5000"),
                "{note}"
            );
        }
        let long = ToolResult::new(
            "t",
            json!({ "state": "done", "answer": "\"a".repeat(9000) }),
        );
        let content = long.result(2048, &BOUNDS, true).structured_content.unwrap();
        assert!(size(&content) <= 2048, "{}", size(&content));
        assert!(content["answer"].as_str().unwrap().starts_with("\"a"));
    }

    #[test]
    fn an_error_carries_no_structured_content() {
        let mut result = ToolResult::new("t", json!({ "state": "failed" }));
        result.is_error = true;
        let result = result.result(OUTPUT_BYTES, &BOUNDS, true);
        assert_eq!(result.structured_content, None);
        assert_eq!(result.is_error, Some(true));
    }
}
