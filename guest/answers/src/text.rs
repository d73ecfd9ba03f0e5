//! Small helpers for text.

/// Returns at most `most` code points from the start.
pub(crate) fn first_chars(text: &str, most: usize) -> &str {
    let end = text.char_indices().nth(most).map(|(index, _)| index);
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_counted_in_code_points() {
        assert_eq!(first_chars("äbc", 2), "äb");
        assert_eq!(first_chars("äbc", 3), "äbc");
    }
}
