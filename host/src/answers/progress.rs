//! How far a research is, and the one wording of it.

use serde::{Deserialize, Serialize};

use super::cost;
use super::types::Progress;
use crate::money::Micros;

/// The last progress that a research reported, as the outcome's JSON has it. What was not sent is absent, never 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResearchProgress {
    /// The iteration, from 1.
    pub iteration: u32,
    /// Seconds since the start, by the upstream's clock.
    pub elapsed_seconds: Option<f64>,
    /// Queries so far.
    pub queries: Option<u64>,
    /// Pages read so far.
    pub urls_analyzed: Option<u64>,
    /// Passages read so far.
    pub snippets_analyzed: Option<u64>,
    /// Tokens read so far.
    pub tokens_in: Option<u64>,
    /// Tokens spent on thinking so far.
    pub tokens_thinking: Option<u64>,
    /// Tokens written so far.
    pub tokens_out: Option<u64>,
}

impl From<&Progress> for ResearchProgress {
    fn from(progress: &Progress) -> Self {
        Self {
            iteration: progress.iteration,
            elapsed_seconds: progress.elapsed_seconds,
            queries: progress.queries,
            urls_analyzed: progress.urls_analyzed,
            snippets_analyzed: progress.snippets_analyzed,
            tokens_in: progress.tokens_in,
            tokens_thinking: progress.tokens_thinking,
            tokens_out: progress.tokens_out,
        }
    }
}

impl ResearchProgress {
    /// Returns the published price of what was used so far. Tokens spent on thinking count as tokens written.
    #[must_use]
    pub fn cost_so_far(&self) -> Micros {
        let written = self.tokens_out.unwrap_or_default();
        let thought = self.tokens_thinking.unwrap_or_default();
        cost::so_far(
            self.queries.unwrap_or_default(),
            self.tokens_in.unwrap_or_default(),
            written.saturating_add(thought),
        )
    }

    /// Returns what was done so far, as in `iteration 2, 3 queries, 30 pages`.
    #[must_use]
    pub fn done_so_far(&self) -> String {
        format!(
            "iteration {}, {}, {}",
            self.iteration,
            count(self.queries, "query", "queries"),
            count(self.urls_analyzed, "page", "pages"),
        )
    }
}

fn count(number: Option<u64>, one: &str, many: &str) -> String {
    match number.unwrap_or_default() {
        1 => format!("1 {one}"),
        number => format!("{number} {many}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_so_far_counts_thinking_as_written() {
        let progress = ResearchProgress {
            iteration: 2,
            queries: Some(1),
            urls_analyzed: Some(30),
            tokens_in: Some(8_625),
            tokens_thinking: Some(100),
            tokens_out: Some(50),
            ..ResearchProgress::default()
        };
        assert_eq!(progress.cost_so_far(), Micros(47_875));
        assert_eq!(progress.done_so_far(), "iteration 2, 1 query, 30 pages");
    }
}
