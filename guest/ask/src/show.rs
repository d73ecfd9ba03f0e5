//! What a person sees: the answer as it comes, then where it is from and what it cost.

use std::io::{Write as _, stderr, stdout};

use answers::{Event, EventKind, Format, Mode, Outcome, Usage};

/// The two output streams.
pub(crate) struct Screen {
    mode: Mode,
    json: bool,
    written: bool,
}

impl Screen {
    /// Nothing is written yet.
    pub(crate) fn new(mode: Mode, json: bool) -> Self {
        Self {
            mode,
            json,
            written: false,
        }
    }

    /// Shows what came.
    pub(crate) fn events(&mut self, events: &[Event]) -> Result<(), String> {
        for event in events {
            match &event.kind {
                EventKind::Text(text) if self.mode == Mode::Answer => self.answer(text)?,
                EventKind::Citation(citation) => self.answer(&format!("[{}]", citation.number))?,
                EventKind::Queries(queries) => tell(&format!("searching: {}", queries.join("; "))),
                EventKind::Progress(progress) => tell(&format!(
                    "iteration {}: {} s, {} pages",
                    progress.iteration,
                    progress.elapsed_seconds.unwrap_or_default(),
                    progress.urls_analyzed.unwrap_or_default()
                )),
                _ => {}
            }
        }
        Ok(())
    }

    fn answer(&mut self, text: &str) -> Result<(), String> {
        if self.json || text.is_empty() {
            return Ok(());
        }
        self.written = true;
        write(text)
    }

    /// The rest: a research's answer, the sources, the cost, and what is not as it should be.
    pub(crate) fn end(&mut self, outcome: &Outcome) -> Result<(), String> {
        if self.json {
            return write(&(answers::render(outcome, Format::Json) + "\n"));
        }
        if self.mode == Mode::Research {
            self.answer(&outcome.answer)?;
        }
        if self.written {
            write("\n")?;
        }
        for source in &outcome.sources {
            tell(&format!("[{}] {}", source.number, source.url));
        }
        for spot in &outcome.blindspots {
            tell(&format!("not found: {spot}"));
        }
        tell(&cost(outcome.usage.as_ref()));
        if let Some(error) = &outcome.error {
            tell(&format!("ask: {}", error.message));
        } else if outcome.truncated {
            tell("ask: the upstream stopped for length, so the answer is cut short");
        } else if !outcome.complete {
            tell("ask: the reply ended early, so the answer is incomplete");
        }
        Ok(())
    }
}

fn write(text: &str) -> Result<(), String> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| format!("cannot write the answer: {error}"))
}

/// A line beside the answer. Where nobody listens, nothing is lost.
fn tell(line: &str) {
    let _ = writeln!(stderr().lock(), "{line}");
}

fn cost(usage: Option<&Usage>) -> String {
    let Some(usage) = usage else {
        return "cost: unknown".to_owned();
    };
    let figure =
        |value: Option<u64>| value.map_or_else(|| "?".to_owned(), |value| value.to_string());
    let counts = format!(
        "{} tokens in, {} out, {} queries",
        figure(usage.tokens_in),
        figure(usage.tokens_out),
        figure(usage.queries)
    );
    match (usage.cost_usd.total, usage.cost_usd_estimate) {
        (Some(total), _) => format!("cost: ${total:.6} ({counts})"),
        (None, Some(estimate)) => format!("cost: about ${estimate:.6} ({counts})"),
        (None, None) => format!("cost: unknown ({counts})"),
    }
}
