//! Spans as one string, each word with its own escape sequences, so that lines can be broken anywhere between words.

use super::Terminal;
use crate::answers::{Span, Style};
use crate::cli::terminal::{escape_for_terminal, one_line};

/// Ends every style.
const RESET: &str = "\u{1b}[0m";
/// Faint text.
pub const DIM: &str = "\u{1b}[2m";
/// Bold text.
pub const BOLD: &str = "\u{1b}[1m";

impl Terminal {
    /// Returns a text in a style; as it is where styles are off.
    #[must_use]
    pub fn styled(&self, style: &str, text: &str) -> String {
        if self.styles && !style.is_empty() && !text.is_empty() {
            format!("{style}{text}{RESET}")
        } else {
            text.to_owned()
        }
    }

    /// Returns spans as one string. Their texts come from the component, so they are filtered here once more.
    #[must_use]
    pub fn words(&self, spans: &[Span], base: &str) -> String {
        spans.iter().map(|span| self.span(span, base)).collect()
    }

    fn span(&self, span: &Span, base: &str) -> String {
        let text = escape_for_terminal(&span.text);
        let link = span.link.as_deref().map(link_address);
        let style = format!("{base}{}", sequence(span.style));
        let mut out = String::new();
        for piece in text.split_inclusive([' ', '\n']) {
            let word = piece.trim_end_matches([' ', '\n']);
            let gap = piece.get(word.len()..).unwrap_or_default();
            out.push_str(&self.linked(&self.styled(&style, word), link.as_deref()));
            out.push_str(gap);
        }
        match link {
            Some(link) if !self.links && link != text => {
                out.push(' ');
                out.push_str(&self.styled(DIM, &format!("({link})")));
            }
            _ => {}
        }
        out
    }

    fn linked(&self, text: &str, link: Option<&str>) -> String {
        match link {
            Some(link) if self.links && !text.is_empty() => {
                format!("\u{1b}]8;;{link}\u{1b}\\{text}\u{1b}]8;;\u{1b}\\")
            }
            _ => text.to_owned(),
        }
    }
}

/// Returns an address without anything that could end the sequence it stands in.
fn link_address(link: &str) -> String {
    one_line(link).replace(' ', "%20")
}

fn sequence(style: Style) -> String {
    let mut out = String::new();
    for (on, code) in [
        (style.strong, BOLD),
        (style.emphasis, "\u{1b}[3m"),
        (style.strikethrough, "\u{1b}[9m"),
        (style.code, "\u{1b}[36m"),
    ] {
        if on {
            out.push_str(code);
        }
    }
    out
}
