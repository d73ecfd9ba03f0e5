//! Characters that a reader does not see: controls, zero-width characters, and those that change the direction of text.
//!
//! A text or URL that has them can show something other than what it says, so they are named in the warnings.

/// Most characters that are named of one text; the others are only counted.
const MAX_NAMED: usize = 8;

/// Bytes that are looked at together.
const BLOCK: usize = 64;

/// Names the invisible characters of a text and how often each occurs; `None` where there are none.
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

/// The text with each invisible character replaced by its code.
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

/// Whether nothing of the character is seen, other than in the space it takes.
pub fn is_invisible(char: char) -> bool {
    match char {
        '\n' | '\t' => false,
        '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{FEFF}' => true,
        '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' => true,
        '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}' => true,
        _ => char.is_control(),
    }
}

/// Calls `found` with each invisible character that has no business where it is.
fn each(text: &str, mut found: impl FnMut(char)) {
    let bytes = text.as_bytes();
    // Where a sequence of tag characters that spells the flag of a region goes on.
    let mut flag = 0;
    for start in (0..bytes.len()).step_by(BLOCK) {
        let end = bytes.len().min(start + BLOCK);
        let at = |index: usize| bytes.get(index).copied().unwrap_or_default();
        // Whole blocks are nearly always clear, and that is found out for many bytes at a time.
        if let Some(window) = bytes.get(start..end + 2)
            && window.windows(3).fold(true, |clear, bytes| match bytes {
                &[first, second, third] => clear & !may_begin(first, second, third),
                _ => clear,
            })
        {
            continue;
        }
        for index in start..end {
            let first = at(index);
            if first & 0xC0 == 0x80 || !may_begin(first, at(index + 1), at(index + 2)) {
                continue;
            }
            let (before, rest) = text.split_at_checked(index).unwrap_or_default();
            let mut after = rest.chars();
            let Some(char) = after.next().filter(|&char| is_invisible(char)) else {
                continue;
            };
            let previous = before.chars().next_back();
            let fits = match char {
                '\r' => after.next() == Some('\n'),
                // Joiners belong to the writing of many languages and to emoji.
                '\u{200C}' | '\u{200D}' => {
                    let beyond_ascii =
                        |char: Option<char>| char.is_some_and(|char| !char.is_ascii());
                    beyond_ascii(previous) && beyond_ascii(after.next())
                }
                '\u{E0020}'..='\u{E007F}' => {
                    let goes_on = previous == Some('\u{1F3F4}') || (flag > 0 && flag == index);
                    flag = if goes_on { index + char.len_utf8() } else { 0 };
                    goes_on
                }
                _ => false,
            };
            if !fits {
                found(char);
            }
        }
    }
}

/// Whether an invisible character may begin with these bytes. Without branches, so that the compiler can look at many
/// places at once.
fn may_begin(first: u8, second: u8, third: u8) -> bool {
    let within = |byte: u8, low: u8, high: u8| byte.wrapping_sub(low) <= high - low;
    let control = (first < 0x20) & (first != b'\n') & (first != b'\t') | (first == 0x7F);
    let latin = (first == 0xC2) & (within(second, 0x80, 0x9F) | (second == 0xAD));
    let arabic = (first == 0xD8) & (second == 0x9C);
    let mongolian = (first == 0xE1) & (second == 0xA0) & (third == 0x8E);
    let general = (first == 0xE2)
        & (second == 0x80)
        & (within(third, 0x8B, 0x8F) | within(third, 0xA8, 0xAE));
    let word = (first == 0xE2) & (second == 0x81) & within(third, 0xA0, 0xAF);
    let mark = (first == 0xEF) & (within(second, 0xBB, 0xBF));
    let tag = (first == 0xF3) & (second == 0xA0);
    control | latin | arabic | mongolian | general | word | mark | tag
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
