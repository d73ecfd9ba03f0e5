//! The live line that a person sees while a call runs.

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output;
use super::runtime::no_colour;
use super::terminal::one_line;
use crate::answers::ResearchProgress;

/// How often the live line moves.
const TICK: Duration = Duration::from_millis(120);

/// A line that moves while there is nothing else to see; on a terminal only.
#[derive(Debug)]
pub struct Live(ProgressBar);

impl Live {
    /// Begins with a message.
    #[must_use]
    pub fn start(message: impl Into<String>) -> Self {
        let target = if io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        let template = if no_colour() {
            "{spinner} {wide_msg}"
        } else {
            "{spinner:.cyan} {wide_msg}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(message.into());
        bar.enable_steady_tick(TICK);
        Self(bar)
    }

    /// Shows another message.
    pub fn say(&self, message: impl Into<String>) {
        self.0.set_message(one_line(&message.into()));
    }

    /// Returns whether there is no moving line, because standard error is no terminal.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        self.0.is_hidden()
    }

    /// Leaves a line on standard error, above the moving one where there is one.
    pub fn note(&self, line: &str) {
        if self.0.is_hidden() {
            output::message(&line);
        } else {
            self.0.println(one_line(line));
        }
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Returns one line about a research that runs. The cost comes first, since a narrow terminal cuts the end.
#[must_use]
pub fn research_line(
    progress: Option<&ResearchProgress>,
    elapsed: Duration,
    budget: i64,
) -> String {
    let elapsed = elapsed.as_secs();
    let Some(progress) = progress else {
        return format!("researching · {elapsed}/{budget} s");
    };
    let (done, cost) = (progress.done_so_far(), progress.cost_so_far());
    format!("~{cost} · {elapsed}/{budget} s · {done}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_research() {
        let progress = ResearchProgress {
            iteration: 2,
            queries: Some(1),
            urls_analyzed: Some(30),
            tokens_in: Some(8_625),
            tokens_out: Some(150),
            ..ResearchProgress::default()
        };
        let line = research_line(Some(&progress), Duration::from_secs(61), 180);
        assert_eq!(line, "~$0.0479 · 61/180 s · iteration 2, 1 query, 30 pages");
    }
}
