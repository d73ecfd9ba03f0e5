//! Small helpers for text. They stand in for formatting machinery that would weigh more than the parser.

use alloc::string::String;
/// Appends a whole number.
pub(crate) fn push_number(number: u64, out: &mut String) {
    if number >= 10 {
        push_number(number / 10, out);
    }
    out.push(char::from(b'0' + (number % 10) as u8));
}

/// The parts as one text.
pub(crate) fn concat(parts: &[&str]) -> String {
    let mut text = String::new();
    for part in parts {
        text.push_str(part);
    }
    text
}

/// At most so many code points from the start.
pub(crate) fn first_chars(text: &str, most: usize) -> &str {
    let end = text.char_indices().nth(most).map(|(index, _)| index);
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_prefixes() {
        for number in [0, 9, 10, 1234567890, u64::MAX] {
            let mut text = String::new();
            push_number(number, &mut text);
            assert_eq!(text, number.to_string());
        }
        assert_eq!(first_chars("äbc", 2), "äb");
        assert_eq!(first_chars("äbc", 3), "äbc");
        assert_eq!(concat(&["a", "", "b"]), "ab");
    }
}
