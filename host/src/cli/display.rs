//! What a person sees while a call runs.

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output::{self, Background};
use super::runtime::no_colour;
use super::terminal::{Filter, one_line};
use crate::answers::{Event, EventKind, ResearchProgress};

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

/// Prints an answer as it comes.
#[derive(Debug, Default)]
pub struct StreamedText {
    begun: bool,
    marked: Option<(u32, u32)>,
    at_line_start: bool,
    output: Background,
    filter: Filter,
}

impl StreamedText {
    /// Whether anything was printed.
    #[must_use]
    pub const fn begun(&self) -> bool {
        self.begun
    }

    /// Prints what events say, without waiting for the terminal.
    pub fn show(&mut self, events: &[Event]) {
        let mut text = String::new();
        for event in events {
            match &event.kind {
                EventKind::Text(piece) => text.push_str(&self.filter.push(piece)),
                EventKind::Citation(citation) => {
                    let mark = (citation.position, citation.number);
                    if self.marked.replace(mark) != Some(mark) {
                        text.push_str(&format!("[{}]", citation.number));
                    }
                }
                _ => {}
            }
        }
        if text.is_empty() {
            return;
        }
        self.begun = true;
        self.at_line_start = text.ends_with('\n');
        self.output.write(text);
    }

    /// Ends the last line, and waits until the terminal has taken all of it.
    pub fn end(&mut self) {
        let rest = self.filter.finish();
        if !rest.is_empty() {
            self.begun = true;
            self.at_line_start = false;
            self.output.write(rest.to_string());
        }
        if self.begun && !self.at_line_start {
            self.output.write("\n".to_owned());
        }
        self.output.finish();
    }
}

/// One line about a research that runs.
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
    format!("{done} · {elapsed}/{budget} s · ~{cost}")
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
        assert_eq!(line, "iteration 2, 1 query, 30 pages · 61/180 s · ~$0.0479");
    }
}
