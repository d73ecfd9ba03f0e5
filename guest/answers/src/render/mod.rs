//! Renders outcomes as text.

mod prose;

use crate::outcome::Outcome;

/// The format of a rendered outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Markdown: answer, sources, blindspots, queries, cost.
    Markdown,
    /// The same as plain text, for a terminal or a pipe.
    Plain,
    /// The outcome as JSON; the same bytes in every runtime.
    Json,
}

/// Renders an outcome as Markdown, plain text or JSON, without a final line end.
pub fn render(outcome: &Outcome, format: Format) -> String {
    match format {
        // Writing to a string fails for maps whose keys are no strings alone, and an outcome has none.
        Format::Json => serde_json::to_string(outcome).unwrap_or_default(),
        Format::Markdown => prose::render(outcome, &prose::MARKDOWN),
        Format::Plain => prose::render(outcome, &prose::PLAIN),
    }
}
