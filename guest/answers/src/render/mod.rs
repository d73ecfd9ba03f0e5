//! From an outcome to text.

use alloc::string::String;
mod json;
mod prose;

use crate::outcome::Outcome;

/// How an outcome is rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Markdown: answer, sources, blindspots, queries, cost.
    Markdown,
    /// The same for a terminal or a pipe.
    Plain,
    /// The outcome as JSON; the same bytes in every runtime.
    Json,
}

impl Format {
    /// From its number in the component's interface; generated bindings call it by this name.
    #[doc(hidden)]
    pub fn _lift(number: u8) -> Self {
        match number {
            0 => Self::Markdown,
            1 => Self::Plain,
            _ => Self::Json,
        }
    }
}

/// The outcome as Markdown, plain text or JSON, without a final line end.
pub fn render(outcome: &Outcome, format: Format) -> String {
    match format {
        Format::Json => json::render(outcome),
        Format::Markdown => prose::render(outcome, &prose::MARKDOWN),
        Format::Plain => prose::render(outcome, &prose::PLAIN),
    }
}
