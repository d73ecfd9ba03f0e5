//! Finds the links of a Markdown text: inline links, autolinks and bare URLs, outside of code, and no images. Each byte of a
//! URL is read once, whether or not it becomes a link, so the time is linear.

use crate::fence::after;
use crate::find::find;
use crate::url::{is_web, scheme_length};
use memchr::memchr;
use std::collections::VecDeque;

/// Longest run of backticks that can open a code span; a longer one is text.
const MAX_TICKS: usize = 32;

/// Most brackets that can be open around a link. Of more, the outermost are text.
const MAX_BRACKETS: usize = 64;

/// Returns the URLs that a text links to, in order, with repetitions.
pub fn links(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut open = None;
    // The current paragraph. Code spans and links do not go beyond it.
    let mut paragraph = 0..0;
    let mut start = 0;
    while start < text.len() {
        let rest = text.as_bytes().get(start..).unwrap_or_default();
        let end = start + line_length(rest);
        let line = text.as_bytes().get(start..end).unwrap_or_default();
        let now = after(open, line);
        let blank = || line.iter().all(u8::is_ascii_whitespace);
        let prose = open.is_none() && now.is_none() && !blank();
        if prose && paragraph.is_empty() {
            paragraph = start..end;
        } else if prose {
            paragraph.end = end;
        } else if !paragraph.is_empty() {
            scan_paragraph(text.get(paragraph).unwrap_or_default(), &mut found);
            paragraph = end..end;
        }
        open = now;
        start = end;
    }
    scan_paragraph(text.get(paragraph).unwrap_or_default(), &mut found);
    found
}

/// Returns the length of the line that the bytes begin with, with its line feed.
fn line_length(bytes: &[u8]) -> usize {
    find(b'\n', bytes).map_or(bytes.len(), |end| end + 1)
}

/// An open bracket.
struct Bracket {
    image: bool,
    /// How many links there were before it.
    links: usize,
}

/// How a URL ends.
enum UrlEnd {
    /// At a closing parenthesis that it did not open.
    Parenthesis(usize),
    /// At anything else.
    Other(usize),
}

fn scan_paragraph<'a>(text: &'a str, found: &mut Vec<&'a str>) {
    let bytes = text.as_bytes();
    let last_ticks = last_tick_runs(bytes);
    let mut brackets: VecDeque<Bracket> = VecDeque::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        match byte {
            b'\\' => at += 2,
            b'`' => at = code_span(bytes, at, &last_ticks),
            b'[' => {
                if brackets.len() == MAX_BRACKETS {
                    brackets.pop_front();
                }
                brackets.push_back(Bracket {
                    image: at > 0 && bytes.get(at - 1) == Some(&b'!'),
                    links: found.len(),
                });
                at += 1;
            }
            b']' => at = close_bracket(text, at + 1, brackets.pop_back(), found),
            b'<' => at = autolink(text, at, found),
            b'h' | b'H' if scheme_length(rest).is_some() && starts_word(bytes, at) => {
                at = bare_url(text, at, found);
            }
            _ => at += 1,
        }
    }
}

/// Reads a link's destination after a closing bracket, if there is one. Returns where to read on.
fn close_bracket<'a>(
    text: &'a str,
    at: usize,
    bracket: Option<Bracket>,
    found: &mut Vec<&'a str>,
) -> usize {
    let bytes = text.as_bytes();
    let (Some(bracket), Some(b'(')) = (bracket, bytes.get(at)) else {
        return at;
    };
    let (start, angle) = destination_start(bytes, at);
    let rest = bytes.get(start..).unwrap_or_default();
    let web = scheme_length(rest).is_some();
    if !web && !bracket.image {
        return at + 1;
    }
    let (end, whole) = destination_end(bytes, start, angle);
    if !whole {
        return unlinked(text, start, end, web && !bracket.image, found);
    }
    // URLs in the text of a link or an image are not links of their own.
    found.truncate(bracket.links);
    let url = text.get(start..end).unwrap_or_default();
    if !bracket.image && is_web(url) {
        found.push(url);
    }
    end
}

/// Returns where the destination after the `(` at `at` begins, and whether it is between angle brackets.
fn destination_start(bytes: &[u8], at: usize) -> (usize, bool) {
    let start = spaces(bytes, at + 1);
    let angle = bytes.get(start) == Some(&b'<');
    (start + usize::from(angle), angle)
}

/// Returns where the destination that begins at `start` ends, and whether it is followed as one is: by its `)` or by a title.
fn destination_end(bytes: &[u8], start: usize, angle: bool) -> (usize, bool) {
    match url_end(bytes, start, false) {
        UrlEnd::Parenthesis(end) => (end, !angle),
        UrlEnd::Other(end) if angle == (bytes.get(end) == Some(&b'>')) => {
            let title = spaces(bytes, end + usize::from(angle));
            (
                end,
                matches!(bytes.get(title), Some(b'"' | b'\'' | b'(' | b')')),
            )
        }
        UrlEnd::Other(end) => (end, false),
    }
}

fn spaces(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest
        .iter()
        .take_while(|byte| byte.is_ascii_whitespace())
        .count()
}

/// Longest title of a link, in bytes.
const MAX_TITLE: usize = 500;

/// Returns the destination of a link, if a whole one begins with the `(` at `at`, and where text goes on after its `)`.
pub(crate) fn destination(text: &str, at: usize) -> Option<(&str, usize)> {
    let bytes = text.as_bytes();
    if bytes.get(at) != Some(&b'(') {
        return None;
    }
    let (start, angle) = destination_start(bytes, at);
    scheme_length(bytes.get(start..)?)?;
    let (end, whole) = destination_end(bytes, start, angle);
    let mut close = spaces(bytes, end + usize::from(angle));
    if let Some(&quote @ (b'"' | b'\'' | b'(')) = bytes.get(close) {
        let closing = if quote == b'(' { b')' } else { quote };
        let title = bytes.get(close + 1..)?;
        let title = title.get(..MAX_TITLE).unwrap_or(title);
        close = spaces(bytes, close + 2 + memchr(closing, title)?);
    }
    (whole && bytes.get(close) == Some(&b')')).then_some((text.get(start..end)?, close + 1))
}

/// Reads an incomplete destination as a bare URL.
fn unlinked<'a>(
    text: &'a str,
    start: usize,
    end: usize,
    web: bool,
    found: &mut Vec<&'a str>,
) -> usize {
    if web {
        push_trimmed(text, start, end, found);
    }
    end.max(start)
}

fn autolink<'a>(text: &'a str, at: usize, found: &mut Vec<&'a str>) -> usize {
    let bytes = text.as_bytes();
    let start = at + 1;
    if scheme_length(bytes.get(start..).unwrap_or_default()).is_none() {
        return start;
    }
    let end = autolink_end(bytes, start);
    if bytes.get(end) == Some(&b'>') {
        found.extend(text.get(start..end).filter(|url| is_web(url)));
    } else {
        push_trimmed(text, start, end, found);
    }
    end
}

/// Returns where a URL ends that begins at `start` after a `<`.
pub(crate) fn autolink_end(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    let length = rest
        .iter()
        .position(|&byte| byte <= b' ' || byte == b'<' || byte == b'>');
    start + length.unwrap_or(rest.len())
}

/// Returns where the bare URL that begins at `at` ends, without the punctuation of the sentence.
pub(crate) fn bare_url_end(text: &str, at: usize) -> usize {
    let (UrlEnd::Parenthesis(end) | UrlEnd::Other(end)) = url_end(text.as_bytes(), at, true);
    at + trimmed(text.get(at..end).unwrap_or_default()).len()
}

fn bare_url<'a>(text: &'a str, at: usize, found: &mut Vec<&'a str>) -> usize {
    let (UrlEnd::Parenthesis(end) | UrlEnd::Other(end)) = url_end(text.as_bytes(), at, true);
    push_trimmed(text, at, end, found);
    end
}

/// Adds a URL without the punctuation and emphasis after it.
fn push_trimmed<'a>(text: &'a str, start: usize, end: usize, found: &mut Vec<&'a str>) {
    let url = text.get(start..end).unwrap_or_default();
    let url = trimmed(url);
    if is_web(url) {
        found.push(url);
    }
}

fn trimmed(url: &str) -> &str {
    url.trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '\''])
}

/// Returns where the URL that begins at `at` ends. A bare one also ends at characters that can only be Markdown around it.
fn url_end(bytes: &[u8], at: usize, bare: bool) -> UrlEnd {
    let rest = bytes.get(at..).unwrap_or_default();
    let (mut round, mut square) = (0u32, 0u32);
    for (index, &byte) in rest.iter().enumerate() {
        match byte {
            0..=b' ' | 127 | b'<' | b'>' => return UrlEnd::Other(at + index),
            b'"' | b'`' | b'|' if bare => return UrlEnd::Other(at + index),
            0xC2 | 0xE1..=0xE3 if bare && is_wide_space(rest.get(index..)) => {
                return UrlEnd::Other(at + index);
            }
            b'(' => round += 1,
            b')' if round == 0 => return UrlEnd::Parenthesis(at + index),
            b')' => round -= 1,
            b'[' if bare => square += 1,
            b']' if bare && square == 0 => return UrlEnd::Other(at + index),
            b']' if bare => square -= 1,
            _ => {}
        }
    }
    UrlEnd::Other(bytes.len())
}

/// Returns whether these bytes of UTF-8 begin with white space beyond ASCII.
fn is_wide_space(bytes: Option<&[u8]>) -> bool {
    matches!(
        bytes,
        Some(
            [0xC2, 0x85 | 0xA0, ..]
                | [0xE1, 0x9A, 0x80, ..]
                | [0xE2, 0x80, 0x80..=0x8A | 0xA8 | 0xA9 | 0xAF, ..]
                | [0xE2, 0x81, 0x9F, ..]
                | [0xE3, 0x80, 0x80, ..]
        )
    )
}

/// Returns whether a word begins at `at`. The `http://` in `xhttp://` is not a URL.
pub(crate) fn starts_word(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    !before.is_some_and(u8::is_ascii_alphanumeric)
}

/// Returns where the last run of backticks of each length begins.
pub(crate) fn last_tick_runs(bytes: &[u8]) -> [usize; MAX_TICKS + 1] {
    let mut last = [0; MAX_TICKS + 1];
    let mut at = 0;
    while let Some(found) = find(b'`', bytes.get(at..).unwrap_or_default()) {
        at += found;
        let length = ticks(bytes, at);
        if let Some(slot) = last.get_mut(length) {
            *slot = at;
        }
        at += length;
    }
    last
}

fn ticks(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().take_while(|&&byte| byte == b'`').count()
}

/// Returns the end of the code span that begins at `at`, or of its backticks if there is none.
pub(crate) fn code_span(bytes: &[u8], at: usize, last: &[usize; MAX_TICKS + 1]) -> usize {
    let length = ticks(bytes, at);
    let start = at + length;
    if last.get(length).is_none_or(|&last| last <= at) {
        return start;
    }
    let mut end = start;
    while let Some(found) = find(b'`', bytes.get(end..).unwrap_or_default()) {
        let run = ticks(bytes, end + found);
        end += found + run;
        if run == length {
            return end;
        }
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_auto_and_bare() {
        assert_eq!(
            links(
                "[a](https://a.example/x \"t\") <https://b.example> and https://c.example/d. [d](<https://d.example/e>)"
            ),
            [
                "https://a.example/x",
                "https://b.example",
                "https://c.example/d",
                "https://d.example/e"
            ]
        );
        assert_eq!(
            links("(https://a.example/b_(c))."),
            ["https://a.example/b_(c)"]
        );
        assert_eq!(
            links("[x](https://a.example/b_(c)) y"),
            ["https://a.example/b_(c)"]
        );
        assert_eq!(
            links("**https://a.example**, |https://b.example|"),
            ["https://a.example", "https://b.example"]
        );
        assert_eq!(
            links("[1]: https://a.example/ref \"x\""),
            ["https://a.example/ref"]
        );
    }

    #[test]
    fn any_white_space_ends_a_bare_url() {
        for char in (0..=0x3000).filter_map(char::from_u32) {
            let text = format!("https://a.example/{char}b");
            let whole = links(&text) == [text.as_str()];
            assert!(!char.is_whitespace() || !whole, "{char:?}");
            assert!(whole || char.is_whitespace() || char.is_ascii(), "{char:?}");
        }
    }

    #[test]
    fn not_in_code_and_no_images() {
        assert!(links("`https://a.example`").is_empty());
        assert!(links("``a ` https://a.example``").is_empty());
        assert!(links("```\nhttps://a.example\n```\n").is_empty());
        assert_eq!(links("`a\n\nhttps://a.example `"), ["https://a.example"]);
        assert!(links("![x](https://a.example/i.png)").is_empty());
        assert_eq!(
            links("[![x](https://a.example/i.png)](https://b.example)"),
            ["https://b.example"]
        );
        assert!(links("[x](javascript:alert(1)) ftp://x [y](/z)").is_empty());
    }

    #[test]
    fn a_link_text_is_not_linked_again() {
        assert_eq!(
            links("[https://a.example](https://a.example/long)"),
            ["https://a.example/long"]
        );
        assert_eq!(links("[https://a.example] x"), ["https://a.example"]);
        assert_eq!(links("[a](https://a.example no end"), ["https://a.example"]);
    }
}
