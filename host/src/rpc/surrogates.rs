//! Escapes of lone surrogates, which some clients send for text that was cut in the middle of a character.

/// What a lone surrogate becomes: the escape of U+FFFD, which has the same length.
const REPLACEMENT: &str = "\\ufffd";

/// Returns the JSON text with every escape of a lone surrogate replaced by U+FFFD, or `None` if it has none.
pub(super) fn replaced(text: &str) -> Option<String> {
    let mut fixed: Option<String> = None;
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('\\')) {
        let escape = at + found;
        at = match unit(text, escape) {
            // A pair is one character.
            Some(Unit::High) if matches!(unit(text, escape + 6), Some(Unit::Low)) => escape + 12,
            Some(Unit::High | Unit::Low) => {
                fixed
                    .get_or_insert_with(|| text.to_owned())
                    .replace_range(escape..escape + 6, REPLACEMENT);
                escape + 6
            }
            // The escaped character may be a backslash, and of any length.
            None => {
                escape
                    + 1
                    + text
                        .get(escape + 1..)
                        .and_then(|rest| rest.chars().next())
                        .map_or(0, char::len_utf8)
            }
        };
    }
    fixed
}

enum Unit {
    High,
    Low,
}

/// Returns which surrogate the escape at `at` stands for, if it is one.
fn unit(text: &str, at: usize) -> Option<Unit> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Unit::High),
        0xdc00..=0xdfff => Some(Unit::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_become_the_replacement_character() {
        for (text, expected) in [
            (r#""\ud800""#, Some(r#""\ufffd""#)),
            (r#""a\uDFFFz""#, Some(r#""a\ufffdz""#)),
            (r#""\ud83d\ude00""#, None),
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#""\ude00\ud83d""#, Some(r#""\ufffd\ufffd""#)),
            (r#""\\ud800""#, None),
            (r#""\\\ud800""#, Some(r#""\\\ufffd""#)),
            (r#""\ud83d\n\ude00""#, Some(r#""\ufffd\n\ufffd""#)),
            (r#""\u00e9\é\"#, None),
            ("plain", None),
        ] {
            assert_eq!(replaced(text).as_deref(), expected, "{text}");
        }
    }
}
