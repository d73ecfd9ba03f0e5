//! Rewrites messages for agents, which cannot set flags of the command line.

/// Returns the text with every flag such as `--timeout-idle` replaced by the setting that it sets, which a person can
/// also set in the environment of the server or in its file of settings.
#[must_use]
pub fn without_flags(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("--") {
        let (before, from) = rest.split_at(at);
        let flag = from.trim_start_matches('-');
        let dashes = from.len() - flag.len();
        let name_ends = flag
            .find(|letter: char| !(letter.is_ascii_lowercase() || letter == '-'))
            .unwrap_or(flag.len());
        let (name, after) = flag.split_at(name_ends);
        words.push_str(before);
        // A dash within a word or by itself is not a flag.
        if dashes == 2 && !name.is_empty() && !before.ends_with(char::is_alphanumeric) {
            words.push_str("the setting ");
            words.push_str(&name.replace('-', "_"));
        } else {
            words.push_str(from.split_at(from.len() - after.len()).0);
        }
        rest = after;
    }
    words.push_str(rest);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_become_settings_and_nothing_else_changes() {
        for (text, expected) in [
            (
                "stopped (--timeout-idle allows more)",
                "stopped (the setting timeout_idle allows more)",
            ),
            ("check --upstream", "check the setting upstream"),
            ("`--keep` sets it", "`the setting keep` sets it"),
            ("a -- b, c--d, --- and é--é", "a -- b, c--d, --- and é--é"),
            ("--", "--"),
            ("", ""),
        ] {
            assert_eq!(without_flags(text), expected);
        }
    }
}
