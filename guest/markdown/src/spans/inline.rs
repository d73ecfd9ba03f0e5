//! Reads the text of a block: emphasis, code, links.

use super::{Span, Style};
use crate::invisible::is_invisible;
use crate::links::{
    autolink_end, bare_url_end, code_span, destination, last_tick_runs, starts_word,
};
use crate::url::{is_web, scheme_length};
use std::borrow::Cow;

/// Most delimiters and brackets that are open at a time. Of more, the outermost are text.
const MAX_OPEN: usize = 32;

/// Returns the text without characters that are terminal commands or change the direction of text.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    let harmful =
        |char: char| is_invisible(char) && !matches!(char, '\u{200C}' | '\u{200D}') || char == '\t';
    if !text.contains(harmful) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\t' => clean.push_str("    "),
            _ if harmful(char) => {}
            _ => clean.push(char),
        }
    }
    Cow::Owned(clean)
}

/// Reads the spans of a block's text.
pub(super) fn inline(text: &str) -> Vec<Span> {
    let mut reader = InlineReader {
        text: text.trim_ascii(),
        pieces: Vec::new(),
        plain: 0,
        delimiters: Vec::new(),
        brackets: Vec::new(),
        links: Vec::new(),
    };
    reader.read();
    reader.finish()
}

/// A piece of text whose style is known once all of the text is read.
#[derive(Default)]
struct Piece {
    text: String,
    code: bool,
    /// Styles that end before it: strong, emphasis, struck through.
    ends: [u16; 3],
    /// Styles that begin after it.
    begins: [u16; 3],
}

const STRONG: usize = 0;
const EMPHASIS: usize = 1;
const STRIKETHROUGH: usize = 2;

/// A run of delimiters that can begin a style.
struct Delimiter {
    mark: u8,
    /// Its piece, whose text is what is left of it.
    piece: usize,
}

/// A link: its pieces and its URL.
struct Link {
    from: usize,
    to: usize,
    url: String,
}

struct InlineReader<'a> {
    text: &'a str,
    pieces: Vec<Piece>,
    /// Where the text begins that is not in a piece yet.
    plain: usize,
    delimiters: Vec<Delimiter>,
    /// Pieces of opening brackets.
    brackets: Vec<usize>,
    links: Vec<Link>,
}

impl InlineReader<'_> {
    fn read(&mut self) {
        let bytes = self.text.as_bytes();
        let ticks = last_tick_runs(bytes);
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let next = bytes.get(at + 1).copied();
            at = match byte {
                b'\\' if next.is_some_and(|next| next.is_ascii_punctuation()) => {
                    self.end_plain(at);
                    // The escaped character begins the next plain text.
                    self.plain = at + 1;
                    at + 2
                }
                b'\\' if next == Some(b'\n') => self.line_end(at, at + 1, true),
                b'\n' => self.line_end(at, at, false),
                b'`' => self.code(at, code_span(bytes, at, &ticks)),
                b'*' | b'_' | b'~' => self.delimiter(at, byte),
                b'[' => self.bracket(at),
                b']' => self.close_bracket(at),
                b'<' => self.autolink(at),
                b'h' | b'H' if self.begins_url(at) => {
                    let end = bare_url_end(self.text, at);
                    self.url(at, at, end, end)
                }
                _ => at + 1,
            };
        }
        self.end_plain(self.text.len());
    }

    /// Makes a piece of the plain text up to here.
    fn end_plain(&mut self, at: usize) {
        let text = self.text.get(self.plain..at).unwrap_or_default();
        if !text.is_empty() {
            self.piece(text.to_owned());
        }
        self.plain = at;
    }

    fn piece(&mut self, text: String) {
        self.pieces.push(Piece {
            text,
            ..Piece::default()
        });
    }

    /// Reads a line end: a space, or a line break after two spaces or a backslash.
    fn line_end(&mut self, at: usize, line_end: usize, hard: bool) -> usize {
        let before = self.text.get(self.plain..at).unwrap_or_default();
        let hard = hard || before.ends_with("  ");
        self.end_plain(self.plain + before.trim_end_matches([' ', '\r']).len());
        self.piece(if hard { "\n" } else { " " }.to_owned());
        let rest = self.text.get(line_end + 1..).unwrap_or_default();
        self.plain = self.text.len() - rest.trim_start_matches([' ', '\t']).len();
        self.plain
    }

    /// Reads a code span from `at` to `end`, or backticks that are text.
    fn code(&mut self, at: usize, end: usize) -> usize {
        let span = self.text.get(at..end).unwrap_or_default();
        let inside = span.trim_matches('`');
        if inside.is_empty() {
            return end;
        }
        let ticks = (span.len() - span.trim_start_matches('`').len()).max(1);
        let inside = span.get(ticks..span.len() - ticks).unwrap_or_default();
        let inside = inside
            .strip_prefix(' ')
            .and_then(|it| it.strip_suffix(' '))
            .unwrap_or(inside);
        self.end_plain(at);
        self.pieces.push(Piece {
            text: inside.replace('\n', " "),
            code: true,
            ..Piece::default()
        });
        self.plain = end;
        end
    }

    /// Reads a run of `*`, `_` or `~`, which can end and begin styles.
    fn delimiter(&mut self, at: usize, mark: u8) -> usize {
        let bytes = self.text.as_bytes();
        let rest = bytes.get(at..).unwrap_or_default();
        let mut left = rest.iter().take_while(|&&byte| byte == mark).count();
        let end = at + left;
        let before = self
            .text
            .get(..at)
            .and_then(|text| text.chars().next_back());
        let after = self.text.get(end..).and_then(|text| text.chars().next());
        let space = |char: Option<char>| char.is_none_or(char::is_whitespace);
        let punctuation = |char: Option<char>| char.is_some_and(|char| char.is_ascii_punctuation());
        let begins = !space(after) && (!punctuation(after) || space(before) || punctuation(before));
        let ends = !space(before) && (!punctuation(before) || space(after) || punctuation(after));
        // An underscore within a word is no delimiter.
        let (begins, ends) = match mark {
            b'_' => (
                begins && (!ends || punctuation(before)),
                ends && (!begins || punctuation(after)),
            ),
            _ => (begins, ends),
        };
        if (!begins && !ends) || (mark == b'~' && left != 2) {
            return end;
        }
        self.end_plain(at);
        let mut closed = [0; 3];
        while ends
            && left > 0
            && let Some(style) = self.close(mark, &mut left)
            && let Some(count) = closed.get_mut(style)
        {
            *count += 1;
        }
        let piece = self.pieces.len();
        let text = self
            .text
            .get(end - left..end)
            .unwrap_or_default()
            .to_owned();
        self.pieces.push(Piece {
            text,
            ends: closed,
            ..Piece::default()
        });
        if begins && left > 0 {
            if self.delimiters.len() == MAX_OPEN {
                self.delimiters.remove(0);
            }
            self.delimiters.push(Delimiter { mark, piece });
        }
        self.plain = end;
        end
    }

    /// Ends the innermost style that this mark can end; takes the delimiters from both and returns the style.
    fn close(&mut self, mark: u8, left: &mut usize) -> Option<usize> {
        let place = self.delimiters.iter().rposition(|open| open.mark == mark)?;
        self.delimiters.truncate(place + 1);
        let opener = self.delimiters.last()?.piece;
        let piece = self.pieces.get_mut(opener)?;
        let count = if *left >= 2 && piece.text.len() >= 2 {
            2
        } else {
            1
        };
        let style = match (mark, count) {
            (b'~', 2) => STRIKETHROUGH,
            (b'~', _) => return None,
            (_, 2) => STRONG,
            _ => EMPHASIS,
        };
        piece.text.truncate(piece.text.len() - count);
        if let Some(begins) = piece.begins.get_mut(style) {
            *begins += 1;
        }
        *left -= count;
        if piece.text.is_empty() {
            self.delimiters.pop();
        }
        Some(style)
    }

    fn bracket(&mut self, at: usize) -> usize {
        let image = at > self.plain && self.text.as_bytes().get(at - 1) == Some(&b'!');
        self.end_plain(at - usize::from(image));
        if self.brackets.len() == MAX_OPEN {
            self.brackets.remove(0);
        }
        self.brackets.push(self.pieces.len());
        let text = self
            .text
            .get(self.plain..=at)
            .unwrap_or_default()
            .to_owned();
        self.piece(text);
        self.plain = at + 1;
        at + 1
    }

    /// Reads a closing bracket. The text between the brackets is a link if an http or https URL follows.
    fn close_bracket(&mut self, at: usize) -> usize {
        let Some(opener) = self.brackets.pop() else {
            return at + 1;
        };
        let Some((url, end)) = destination(self.text, at + 1).filter(|(url, _)| is_safe(url))
        else {
            return at + 1;
        };
        self.end_plain(at);
        if let Some(piece) = self.pieces.get_mut(opener) {
            piece.text.clear();
        }
        // Links do not nest, and a style does not begin within a link and end outside of it.
        self.brackets.clear();
        self.links.retain(|link| link.from < opener);
        self.delimiters.retain(|delimiter| delimiter.piece < opener);
        self.links.push(Link {
            from: opener,
            to: self.pieces.len(),
            url: url.to_owned(),
        });
        self.plain = end;
        end
    }

    fn begins_url(&self, at: usize) -> bool {
        let bytes = self.text.as_bytes();
        scheme_length(bytes.get(at..).unwrap_or_default()).is_some() && starts_word(bytes, at)
    }

    /// Reads `<URL>`, or a `<` that is text.
    fn autolink(&mut self, at: usize) -> usize {
        let bytes = self.text.as_bytes();
        if scheme_length(bytes.get(at + 1..).unwrap_or_default()).is_none() {
            return at + 1;
        }
        let end = autolink_end(bytes, at + 1);
        match bytes.get(end) {
            Some(b'>') => self.url(at, at + 1, end, end + 1),
            _ => at + 1,
        }
    }

    /// Adds a link whose text is its URL, between `from` and `to`. Text goes on at `end`.
    fn url(&mut self, at: usize, from: usize, to: usize, end: usize) -> usize {
        let url = self.text.get(from..to).unwrap_or_default();
        if !is_safe(url) {
            return end.max(at + 1);
        }
        self.end_plain(at);
        let piece = self.pieces.len();
        self.piece(url.to_owned());
        self.links.push(Link {
            from: piece,
            to: piece + 1,
            url: url.to_owned(),
        });
        self.plain = end;
        end
    }

    /// Returns the pieces as spans. Neighbours of one style are joined.
    fn finish(self) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        let mut open = [0_i32; 3];
        let mut links = self.links.into_iter().peekable();
        for (index, piece) in self.pieces.into_iter().enumerate() {
            let change = |open: &mut [i32; 3], by: [u16; 3], sign: i32| {
                for (open, by) in open.iter_mut().zip(by) {
                    *open += sign * i32::from(by);
                }
            };
            change(&mut open, piece.ends, -1);
            while links.peek().is_some_and(|link| link.to <= index) {
                links.next();
            }
            let link = links.peek().filter(|link| link.from <= index);
            let link = link.map(|link| link.url.as_str());
            let style = Style {
                strong: open[STRONG] > 0,
                emphasis: open[EMPHASIS] > 0,
                strikethrough: open[STRIKETHROUGH] > 0,
                code: piece.code,
            };
            let text = if piece.text == "\n" {
                Cow::Borrowed("\n")
            } else {
                clean(&piece.text)
            };
            match spans.last_mut() {
                _ if text.is_empty() => {}
                Some(last) if last.style == style && last.link.as_deref() == link => {
                    last.text.push_str(&text)
                }
                _ => spans.push(Span {
                    text: text.into_owned(),
                    style,
                    link: link.map(str::to_owned),
                }),
            }
            change(&mut open, piece.begins, 1);
        }
        spans
    }
}

/// Returns whether this URL is safe for a terminal.
fn is_safe(url: &str) -> bool {
    is_web(url) && !url.contains(is_invisible)
}
