//! Finds invisible characters: controls, zero-width characters, and those that change the direction of text.
//!
//! A text or URL with such characters can look like another one, so warnings name them.

/// Most different characters of one text that are named. Others are only counted.
const MAX_NAMED: usize = 8;

/// Names the invisible characters of a text and how often each occurs; `None` if there are none.
pub fn name(text: &str) -> Option<String> {
    let mut found: Vec<(char, usize)> = Vec::new();
    let mut others = 0;
    each(text, |char| {
        if let Some((_, count)) = found.iter_mut().find(|(known, _)| *known == char) {
            *count += 1;
        } else if found.len() < MAX_NAMED {
            found.push((char, 1));
        } else {
            others += 1;
        }
    });
    if found.is_empty() {
        return None;
    }
    let mut names: Vec<String> = found
        .into_iter()
        .map(|(char, count)| match count {
            1 => code(char),
            _ => format!("{} ({count} times)", code(char)),
        })
        .collect();
    if others > 0 {
        names.push(format!("{others} others"));
    }
    Some(names.join(", "))
}

/// Returns the text with each invisible character replaced by its code.
pub fn spelt_out(text: &str) -> String {
    let mut spelt = String::new();
    for char in text.chars() {
        if is_invisible(char) {
            spelt += &format!("<{}>", code(char));
        } else {
            spelt.push(char);
        }
    }
    spelt
}

fn code(char: char) -> String {
    format!("U+{:04X}", u32::from(char))
}

/// Returns whether the character is invisible, or seen only in the space that it takes.
pub fn is_invisible(char: char) -> bool {
    match char {
        '\n' | '\t' => false,
        '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{FEFF}' => true,
        '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' => true,
        '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}' => true,
        _ => char.is_control(),
    }
}

/// Calls `found` with each invisible character that the writing does not need in its place.
fn each(text: &str, mut found: impl FnMut(char)) {
    let mut allowed = Allowed::default();
    let mut start = 0;
    // Nearly all text is printable ASCII, which is checked for eight bytes at a time.
    for word in text.as_bytes().chunks(8) {
        if !word.try_into().is_ok_and(is_printable_ascii) {
            for (offset, &byte) in word.iter().enumerate() {
                if may_begin(byte)
                    && let Some((before, rest)) = text.split_at_checked(start + offset)
                    && let Some(char) = rest.chars().next().filter(|&char| is_invisible(char))
                    && !allowed.at(before, char, rest)
                {
                    found(char);
                }
            }
        }
        start += word.len();
    }
}

/// Returns whether all bytes are in `' '..='~'`.
fn is_printable_ascii(bytes: [u8; 8]) -> bool {
    let each = |byte: u8| u64::from_ne_bytes([byte; 8]);
    let word = u64::from_ne_bytes(bytes);
    // For bytes below 0x80, the subtraction sets the highest bit of those below the space, and the addition that of 0x7F.
    let others = word | word.wrapping_sub(each(b' ')) | word.wrapping_add(each(1));
    others & each(0x80) == 0
}

/// Returns whether the UTF-8 of an invisible character can begin with this byte.
fn may_begin(byte: u8) -> bool {
    match byte {
        b'\n' | b'\t' => false,
        0..b' ' | 0x7F => true,
        _ => matches!(byte, 0xC2 | 0xD8 | 0xE1 | 0xE2 | 0xEF | 0xF3),
    }
}

/// Tells where the writing needs an invisible character.
#[derive(Default)]
struct Allowed {
    /// The index at which a sequence of tag characters, which spells the flag of a region, goes on.
    flag: usize,
}

impl Allowed {
    /// Returns whether the writing needs the character, which `rest` begins with, after `before`.
    fn at(&mut self, before: &str, char: char, rest: &str) -> bool {
        let next = rest.chars().nth(1);
        let previous = before.chars().next_back();
        match char {
            '\r' => next == Some('\n'),
            // The writing of many languages needs joiners, and so do emoji.
            '\u{200C}' | '\u{200D}' => {
                let beyond_ascii = |char: Option<char>| char.is_some_and(|char| !char.is_ascii());
                beyond_ascii(previous) && beyond_ascii(next)
            }
            '\u{E0020}'..='\u{E007F}' => {
                let index = before.len();
                let goes_on =
                    previous == Some('\u{1F3F4}') || (self.flag > 0 && self.flag == index);
                self.flag = if goes_on { index + char.len_utf8() } else { 0 };
                goes_on
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_invisible_character_is_named() {
        for char in (0..0x10_FFFF).filter_map(char::from_u32) {
            for text in [format!("a{char}b"), format!("{}{char}", "x".repeat(63))] {
                let named = name(&text);
                assert_eq!(named.is_some(), is_invisible(char), "{char:?}");
                assert!(named.is_none_or(|named| named == code(char)), "{char:?}");
            }
        }
    }

    #[test]
    fn they_are_counted_and_bounded() {
        let text = "a\u{202E}b\u{200B}\u{202E}".repeat(100);
        assert_eq!(
            name(&text).as_deref(),
            Some("U+202E (200 times), U+200B (100 times)")
        );
        let all: String = ('\u{1}'..'\u{9}').chain('\u{80}'..'\u{84}').collect();
        assert!(name(&all).is_some_and(|named| named.ends_with("U+0008, 4 others")));
        assert_eq!(spelt_out("a\u{202E}b"), "a<U+202E>b");
    }

    #[test]
    fn writing_that_needs_them_is_left_alone() {
        for text in [
            "\u{1F468}\u{200D}\u{1F469}",
            "\u{645}\u{6CC}\u{200C}\u{62E}",
            "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
            "a\r\nb\tc \u{2013} \u{2019}\u{FE0F}",
        ] {
            assert_eq!(name(text), None, "{text:?}");
        }
        assert_eq!(name("a\u{200D}b").as_deref(), Some("U+200D"));
        assert_eq!(
            name("a\u{E0067}\u{E0062}").as_deref(),
            Some("U+E0067, U+E0062")
        );
        assert_eq!(name("a\rb").as_deref(), Some("U+000D"));
    }
}
