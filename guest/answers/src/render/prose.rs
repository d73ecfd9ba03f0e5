//! Renders an outcome for a person: answer, sources, blindspots, queries, cost, and what is missing.

use crate::event::Usage;
use crate::outcome::Outcome;

/// How the parts of a page are marked.
pub(super) struct Style {
    heading: (&'static str, &'static str),
    /// Before and after a URL.
    url: (&'static str, &'static str),
    /// Before and after a remark.
    remark: (&'static str, &'static str),
    /// Before a list's item.
    item: &'static str,
    /// After a source's number.
    number: (&'static str, &'static str),
}

pub(super) const MARKDOWN: Style = Style {
    heading: ("## ", ""),
    url: ("<", ">"),
    remark: ("*", "*"),
    item: "- ",
    number: ("", ". "),
};

pub(super) const PLAIN: Style = Style {
    heading: ("", ":"),
    url: ("", ""),
    remark: ("", ""),
    item: "  - ",
    number: ("  [", "] "),
};

pub(super) fn render(outcome: &Outcome, style: &Style) -> String {
    let mut page = Page {
        out: text(outcome.answer.trim_ascii_end()),
        style,
    };
    if outcome.answer.trim_ascii().is_empty() {
        page.remark("No answer came.");
        if !outcome.draft.trim_ascii().is_empty() {
            page.heading("Draft");
            page.out.push_str(&text(outcome.draft.trim_ascii()));
        }
    }
    page.remarks(outcome);
    page.sources(outcome);
    page.list("Not found", &outcome.blindspots);
    page.list("Queries", &outcome.queries);
    if let Some(usage) = &outcome.usage {
        page.cost(usage);
    }
    page.out
}

struct Page<'a> {
    out: String,
    style: &'a Style,
}

impl Page<'_> {
    /// Writes a blank line, unless nothing stands before it.
    fn part(&mut self) {
        if !self.out.is_empty() {
            self.out.push_str("\n\n");
        }
    }

    fn heading(&mut self, title: &str) {
        self.part();
        let (before, after) = self.style.heading;
        self.out.extend([before, title, after, "\n\n"]);
        if before.is_empty() {
            self.out.pop();
        }
    }

    fn remark(&mut self, text: &str) {
        self.part();
        let (before, after) = self.style.remark;
        self.out.extend([before, text, after]);
    }

    /// Writes what a reader must know before trusting the answer.
    fn remarks(&mut self, outcome: &Outcome) {
        if let Some(error) = &outcome.error {
            let message = one_line(&error.message);
            self.remark(&format!("The reply ended with an error: {message}"));
        } else if !outcome.complete {
            self.remark("Incomplete: the reply ended before its end.");
        }
        if outcome.truncated {
            self.remark("Cut short by the token limit.");
        }
    }

    fn sources(&mut self, outcome: &Outcome) {
        for (title, cited) in [("Sources", true), ("Also read", false)] {
            let mut sources = outcome
                .sources
                .iter()
                .filter(|source| source.cited == cited)
                .peekable();
            if sources.peek().is_none() {
                continue;
            }
            self.heading(title);
            let mut first = true;
            for source in sources {
                if !std::mem::take(&mut first) {
                    self.out.push('\n');
                }
                let (before, after) = self.style.number;
                let (open, close) = self.style.url;
                let number = source.number.to_string();
                let url = one_line(&source.url);
                let url = if open.is_empty() {
                    url
                } else {
                    bracketed(&url)
                };
                self.out
                    .extend([before, number.as_str(), after, open, url.as_str(), close]);
            }
        }
    }

    fn list(&mut self, title: &str, items: &[String]) {
        if items.is_empty() {
            return;
        }
        self.heading(title);
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.push('\n');
            }
            self.out.extend([self.style.item, one_line(item).as_str()]);
        }
    }

    fn cost(&mut self, usage: &Usage) {
        let mut line = match (usage.cost_usd.total, usage.cost_usd_estimate) {
            (Some(total), _) => format!("Cost: {}", dollars(total)),
            (None, Some(estimate)) => format!("Cost: about {} (estimated)", dollars(estimate)),
            (None, None) => "Cost: unknown".to_owned(),
        };
        for (count, one, many) in [
            (usage.queries, "query", "queries"),
            (usage.tokens_in, "token in", "tokens in"),
            (usage.tokens_out, "token out", "tokens out"),
        ] {
            if let Some(count) = count {
                line += &format!(", {count} {}", if count == 1 { one } else { many });
            }
        }
        self.remark(&line);
    }
}

/// Rounds to the whole micro-dollar, which removes the rounding errors of sums of floats.
fn dollars(amount: f64) -> String {
    const MICROS: u64 = 1_000_000;
    let micros = (amount * MICROS as f64 + 0.5) as u64;
    let text = format!("${}.{:06}", micros / MICROS, micros % MICROS);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Removes control characters, which would reach a terminal, other than line ends and tabs.
fn text(text: &str) -> String {
    text.chars()
        .filter(|&char| matches!(char, '\n' | '\t') || !char.is_control())
        .collect()
}

/// Returns a URL that can stand between angle brackets.
fn bracketed(url: &str) -> String {
    let mut text = String::with_capacity(url.len());
    for char in url.chars() {
        match char {
            '<' => text.push_str("%3C"),
            '>' => text.push_str("%3E"),
            _ => text.push(char),
        }
    }
    text
}

/// Replaces line ends and control characters, which would break the page or a terminal, by spaces.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|char| if char.is_control() { ' ' } else { char })
        .collect()
}
