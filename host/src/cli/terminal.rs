//! The one filter for text that may reach a terminal: what it lets through can be read and can do nothing else.
//!
//! Escape sequences are removed whole, other control characters and bidirectional controls are removed, and line and
//! paragraph separators become line ends. Text may come in pieces, cut anywhere.

/// Parameters of a control sequence; a longer one is none.
const SEQUENCE_CHARS: usize = 64;
/// Characters of a control string, such as a window's title or a link. A longer one is given back as text, so that nothing
/// of an answer is lost to a string that does not end.
const STRING_CHARS: usize = 4096;

/// The filter, between two pieces of a text.
#[derive(Debug, Default)]
pub struct Filter(State);

#[derive(Debug, Default)]
enum State {
    #[default]
    Text,
    /// After an escape character.
    Escape,
    /// In a control sequence (CSI), after so many of its characters.
    Sequence(usize),
    /// In a control string (OSC, DCS, SOS, PM, APC): its text so far, and whether an escape character came last.
    String(String, bool),
}

impl Filter {
    /// At the start of a text.
    #[must_use]
    pub const fn new() -> Self {
        Self(State::Text)
    }

    /// What the next piece adds to the text.
    pub fn push(&mut self, piece: &str) -> String {
        let mut out = String::with_capacity(piece.len());
        for letter in piece.chars() {
            self.step(letter, &mut out);
        }
        out
    }

    /// What is left at the end: the text of a control string that did not end.
    pub fn finish(&mut self) -> String {
        match std::mem::take(&mut self.0) {
            State::String(text, _) => text,
            _ => String::new(),
        }
    }

    fn step(&mut self, letter: char, out: &mut String) {
        self.0 = match (std::mem::take(&mut self.0), letter) {
            (State::Text, _) => text(letter, out),
            (State::Escape, '[') => State::Sequence(0),
            (State::Escape, ']' | 'P' | 'X' | '^' | '_') => State::String(String::new(), false),
            (State::Escape, ' '..='/') => State::Escape,
            (State::Escape, '0'..='~') => State::Text,
            (State::Sequence(count), ' '..='?') if count < SEQUENCE_CHARS => {
                State::Sequence(count + 1)
            }
            (State::Sequence(_), '@'..='~') => State::Text,
            (State::Escape | State::Sequence(_), _) => text(letter, out),
            (State::String(..), '\u{7}' | '\u{9c}') | (State::String(_, true), '\\') => State::Text,
            (State::String(kept, false), '\u{1b}') => State::String(kept, true),
            (State::String(kept, true), _) => {
                // It was cut off by another sequence.
                drop(kept);
                let mut filter = Self(State::Escape);
                filter.step(letter, out);
                filter.0
            }
            (State::String(mut kept, false), _) => {
                text(letter, &mut kept);
                if letter == '\n' || kept.len() >= STRING_CHARS {
                    out.push_str(&kept);
                    State::Text
                } else {
                    State::String(kept, false)
                }
            }
        };
    }
}

/// Takes a character that is in no sequence, and gives the state after it.
fn text(letter: char, out: &mut String) -> State {
    match letter {
        '\u{1b}' => return State::Escape,
        '\u{9b}' => return State::Sequence(0),
        '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => {
            return State::String(String::new(), false);
        }
        '\u{2028}' | '\u{2029}' => out.push('\n'),
        '\n' | '\t' => out.push(letter),
        letter if commands(letter) => {}
        letter => out.push(letter),
    }
    State::Text
}

/// Whether a character moves, hides or reorders text instead of being it.
fn commands(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text without anything that commands a terminal.
#[must_use]
pub fn escape_for_terminal(text: &str) -> String {
    let mut filter = Filter::default();
    let mut clean = filter.push(text);
    clean.push_str(&filter.finish());
    clean
}

/// The same on one line, so that no part of it looks like a message of its own.
#[must_use]
pub fn one_line(text: &str) -> String {
    escape_for_terminal(text).replace('\n', " ")
}

/// JSON that commands no terminal: the same value, with those characters escaped.
#[must_use]
pub fn escape_json_for_terminal(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        if commands(letter) && letter != '\n' {
            safe.push_str(&format!("\\u{:04x}", u32::from(letter)));
        } else {
            safe.push(letter);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_commands_a_terminal_is_left() {
        for (text, expected) in [
            ("a\u{1b}[31mb\u{9b}2J\r\nc\td\u{7}\u{7f}é", "ab\nc\tdé"),
            ("a\u{1b}]0;title\u{7}b", "ab"),
            ("a\u{1b}]8;;http://x\u{1b}\\b\u{1b}]8;;\u{1b}\\", "ab"),
            ("a\u{9d}0;title\u{9c}b\u{90}q\u{9c}c", "abc"),
            ("a\u{1b}(Bb\u{1b}cc\u{1b}", "abc"),
            ("a\u{1b}]0;no end\nb", "a0;no end\nb"),
            ("a\u{1b}]0;no end", "a0;no end"),
            ("a\u{1b}]x\u{1b}[31mb", "ab"),
            ("a\u{202e}b\u{2066}c\u{2069}d\u{200f}e\u{61c}f", "abcdef"),
            ("a\u{2028}b\u{2029}c", "a\nb\nc"),
            (
                "\u{1f469}\u{200d}\u{1f680} é\u{301}",
                "\u{1f469}\u{200d}\u{1f680} é\u{301}",
            ),
        ] {
            assert_eq!(escape_for_terminal(text), expected, "{text:?}");
            let mut filter = Filter::default();
            let mut pieces: String = text
                .chars()
                .map(|letter| filter.push(letter.encode_utf8(&mut [0; 4])))
                .collect();
            pieces.push_str(&filter.finish());
            assert_eq!(pieces, expected, "in pieces: {text:?}");
        }
        assert_eq!(one_line("a\nb\u{2028}c"), "a b c");
    }

    #[test]
    fn a_string_that_does_not_end_loses_nothing() {
        let long = "x".repeat(3 * STRING_CHARS);
        assert_eq!(escape_for_terminal(&format!("\u{1b}]{long}")), long);
    }

    #[test]
    fn json_stays_the_same_value() {
        let json = "{\"a\":\"\u{9b}é\u{202e}\u{2028}\u{7f}\"}\n";
        let safe = escape_json_for_terminal(json);
        assert_eq!(safe, "{\"a\":\"\\u009bé\\u202e\\u2028\\u007f\"}\n");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        assert_eq!(value(json), value(&safe));
    }
}
