//! The part of a terminal below the cursor's start: lines that stay, and lines that may still change.

use std::fmt::Write as _;

/// What was written, as far as it may still change.
#[derive(Debug, Default)]
pub struct Screen {
    /// The lines above the cursor that may still change.
    open: Vec<String>,
}

impl Screen {
    /// Returns what to write to a terminal of so many lines, so that it shows `closed`, which will stay, and below it `open`,
    /// which takes the place of what was open before. Lines that stay the same are not written again; lines that have left
    /// the terminal cannot be.
    pub fn update(&mut self, closed: &[String], open: Vec<String>, height: usize) -> String {
        let reachable = height.saturating_sub(1).max(1);
        let lines: Vec<&String> = closed.iter().chain(&open).collect();
        let same = self
            .open
            .iter()
            .zip(&lines)
            .take_while(|(old, new)| old == *new)
            .count();
        let kept = same.max(self.open.len().saturating_sub(reachable));
        let mut out = String::new();
        let above = self.open.len() - kept;
        if above > 0 {
            let _ = write!(out, "\r\u{1b}[{above}A\u{1b}[J");
        }
        for line in lines.iter().skip(kept) {
            out.push_str(line);
            out.push('\n');
        }
        self.open = open;
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.split(' ')
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn only_what_changed_is_written_again() {
        let mut screen = Screen::default();
        assert_eq!(screen.update(&[], lines("a b"), 24), "a\nb\n");
        assert_eq!(
            screen.update(&[], lines("a bc"), 24),
            "\r\u{1b}[1A\u{1b}[Jbc\n"
        );
        assert_eq!(screen.update(&lines("a bc"), lines("d"), 24), "d\n");
        assert_eq!(screen.update(&lines("d"), lines(""), 24), "");
    }

    #[test]
    fn lines_that_have_left_the_terminal_stay_as_they_are() {
        let mut screen = Screen::default();
        screen.update(&[], lines("a b c d"), 3);
        assert_eq!(
            screen.update(&[], lines("A B C D"), 3),
            "\r\u{1b}[2A\u{1b}[JC\nD\n"
        );
    }
}
