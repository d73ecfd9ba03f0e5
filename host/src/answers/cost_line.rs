//! The line about the cost in an outcome's text.

/// The beginning of the line, in plain text and in Markdown.
const STARTS: [&str; 2] = ["Cost: ", "*Cost: "];
/// What marks a cost that is no real money.
const MARK: &str = " (simulated)";

/// Returns the text with its last line marked as no real money, if that is the line about the cost.
#[must_use]
pub fn marked_as_simulated(text: &str) -> String {
    let start = text.rfind('\n').map_or(0, |at| at + 1);
    let (before, last) = text.split_at(start);
    if !STARTS.iter().any(|beginning| last.starts_with(beginning)) {
        return text.to_owned();
    }
    match last.strip_suffix('*') {
        Some(last) => format!("{before}{last}{MARK}*"),
        None => format!("{before}{last}{MARK}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_line_about_the_cost_is_marked() {
        for (text, expected) in [
            (
                "a\n\nCost: $0.05, 1 query",
                "a\n\nCost: $0.05, 1 query (simulated)",
            ),
            ("a\n\n*Cost: $0.05*", "a\n\n*Cost: $0.05 (simulated)*"),
            ("Cost: $0.05", "Cost: $0.05 (simulated)"),
            ("Cost: $0.05\nb", "Cost: $0.05\nb"),
            ("", ""),
        ] {
            assert_eq!(marked_as_simulated(text), expected);
        }
    }
}
