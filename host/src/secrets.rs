//! Detects keys in texts, so that messages, reports and results do not repeat a key that was entered in the wrong
//! place.

use std::borrow::Cow;

/// The text that replaces a key.
pub const HIDDEN: &str = "(not shown: it looks like a key)";

/// Shorter words are never taken for keys.
const MIN_LENGTH: usize = 16;
/// The length from which a random word is taken for a key. Shorter ones cannot be distinguished from names with a
/// number.
const MIN_RANDOM_LENGTH: usize = 20;
/// The kind of character (letter or digit) changes at about every second character of a random word, also in
/// hexadecimal, and at every tenth or less in names. A word is random if the kind changes at one of this many
/// characters or more.
const MAX_CHARS_PER_CHANGE: usize = 5;
/// The prefix of the keys of the upstream. Every long word with this prefix is taken for a key.
const UPSTREAM_PREFIX: &str = "BSA";
/// The prefixes of keys of other services, which users may enter by mistake.
const OTHER_PREFIXES: [&str; 11] = [
    "sk-",
    "sk_",
    "pk_",
    "ghp_",
    "gho_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "AIza",
    "hf_",
];
/// With such a prefix a word is random if the kind changes at one of this many characters or more.
const MAX_CHARS_PER_CHANGE_WITH_PREFIX: usize = 8;

/// Returns whether a text is a single word that has the prefix of a key or looks random.
#[must_use]
pub fn looks_like_key(text: &str) -> bool {
    let text = text.trim();
    text.chars().all(is_of_word) && (begins_like_key(text) || is_random(text))
}

/// Returns whether a text contains a word with the prefix of a key.
#[must_use]
pub fn holds_key(text: &str) -> bool {
    looks_like_key(text) || words(text).any(|(word, _)| begins_like_key(word))
}

/// Replaces every word with the prefix of a key by [`HIDDEN`]. Words that only look random remain, because ids and file
/// names look random.
#[must_use]
pub fn masked(text: &str) -> Cow<'_, str> {
    if !words(text).any(|(word, _)| begins_like_key(word)) {
        return Cow::Borrowed(text);
    }
    let parts = words(text).flat_map(|(word, after)| {
        let word = if begins_like_key(word) { HIDDEN } else { word };
        [word, after]
    });
    Cow::Owned(parts.collect())
}

/// Returns a value that the user entered for use in a message: without keys, and without the user information and the
/// query of a URL.
#[must_use]
pub fn shown(value: &str) -> String {
    if looks_like_key(value) {
        return HIDDEN.to_owned();
    }
    let end = value.find(['?', '#']).unwrap_or(value.len());
    let (address, query) = value.split_at_checked(end).unwrap_or((value, ""));
    let (scheme, rest) = match address.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), address),
    };
    // Split at the last `@`, because a password may contain others.
    let (user, rest) = match rest.rsplit_once('@') {
        Some((_, rest)) => ("…@", rest),
        None => ("", rest),
    };
    let query = if query.is_empty() { "" } else { "?…" };
    masked(&format!("{scheme}{user}{rest}{query}")).into_owned()
}

fn is_of_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '-' || letter == '_'
}

/// Splits a text into words, each with the separator after it.
fn words(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(|letter| !is_of_word(letter));
        let (word, after) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
        let next = after.find(is_of_word).unwrap_or(after.len());
        let (between, next) = after.split_at_checked(next)?;
        rest = next;
        Some((word, between))
    })
}

fn begins_like_key(word: &str) -> bool {
    if word.len() < MIN_LENGTH {
        return false;
    }
    // Hosts of URLs are converted to lower case.
    let upstream = word
        .get(..UPSTREAM_PREFIX.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(UPSTREAM_PREFIX));
    upstream
        || OTHER_PREFIXES.iter().any(|start| word.starts_with(start))
            && changes(word) * MAX_CHARS_PER_CHANGE_WITH_PREFIX >= word.len()
}

fn is_random(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let letters = word.chars().filter(char::is_ascii_alphabetic).count();
    word.len() >= MIN_RANDOM_LENGTH
        && digits > 1
        && letters > 1
        && !is_id(word)
        && changes(word) * MAX_CHARS_PER_CHANGE >= word.len()
}

/// Counts the changes between kinds of characters. Hyphens and underscores separate words of names and do not count.
fn changes(word: &str) -> usize {
    let kind = |letter: char| match letter {
        'a'..='z' => 0,
        'A'..='Z' => 1,
        _ => 2,
    };
    let kinds: Vec<u8> = word
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(kind)
        .collect();
    kinds
        .windows(2)
        .filter(|pair| pair.first() != pair.last())
        .count()
}

/// Returns whether a word is the id of a job.
fn is_id(word: &str) -> bool {
    const HYPHENATED: usize = 36;
    word.len() == HYPHENATED && uuid::Uuid::parse_str(word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 7] = [
        "BSAqtestkey0123456789zyxw",
        "BSA-secret-of-the-user",
        "bsaqtestkey0123456789zyxw",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "sk-proj-Ab3dE5gH7jK9mN1pQ3sT5vW7",
        "q7R2mZ9xK4vB8nT1wL6pY3cD",
        "9f86d081884c7d659a2feaa0c55ad015",
    ];

    #[test]
    fn keys_are_recognised_and_names_are_not() {
        for key in KEYS {
            assert!(looks_like_key(key), "{key}");
            assert!(looks_like_key(&format!(" {key}\n")), "{key}");
        }
        for name in [
            "",
            "https://api.search.brave.com",
            "/home/user/.local/state/glovebox",
            "my-research-state-folder-2026",
            "sk-learn-experiments",
            "BRAVE_ANSWERS_KEY_FILE",
            "01990000-1111-7222-8333-444455556666",
            "glovebox-2026-11-30T10-00-00",
            "research_maximum_number_of_queries",
            "24h",
        ] {
            assert!(!looks_like_key(name) && !holds_key(name), "{name}");
            assert_eq!(masked(name), name);
        }
    }

    #[test]
    fn what_is_shown_of_a_value_holds_no_secret() {
        let key = KEYS[0];
        for value in [
            key.to_owned(),
            format!("/home/{key}/x"),
            format!("https://{key}@example.org"),
            format!("https://user:{key}@example.org"),
            format!("https://u:a/b@{key}@example.org"),
            format!("https://example.org/?key={key}"),
            format!("https://example.org/#{key}"),
            format!("https://{key}.example.org"),
            format!("https://example.org/{key}/x"),
            format!("user:{key}@example.org"),
        ] {
            let shown = shown(&value);
            assert!(!shown.contains(key), "{shown}");
        }
        assert_eq!(
            shown("https://user:hunter2@example.org/x?token=hunter2"),
            "https://…@example.org/x?…"
        );
        assert_eq!(shown("http://example.org"), "http://example.org");
        assert_eq!(
            masked(&format!("no {key}, and \"{key}\"")),
            format!("no {HIDDEN}, and \"{HIDDEN}\"")
        );
    }
}
