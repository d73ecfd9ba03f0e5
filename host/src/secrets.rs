//! Recognises what looks like a key, so that a key in the wrong place is not repeated in a message, a report or a result.

use std::borrow::Cow;

/// What stands in the place of what is not shown.
pub const HIDDEN: &str = "(not shown: it looks like a key)";

/// Words shorter than this are names.
const SHORTEST: usize = 16;
/// A random word is recognised from this length on; shorter ones cannot be told from names with a number.
const SHORTEST_RANDOM: usize = 20;
/// In random words of letters and digits about every second character is of another kind than the one before it (in
/// hexadecimal ones too); in names one of ten or less is. This is the least: one of so many.
const CHANGE_EVERY: usize = 5;
/// The beginning of the upstream's keys. Any long word that begins so is taken for one.
const UPSTREAM: &str = "BSA";
/// The beginnings of other services' keys, which are put into the wrong place as easily.
const OTHERS: [&str; 11] = [
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
/// After such a beginning fewer changes are enough: one of so many characters.
const CHANGE_EVERY_AFTER_BEGINNING: usize = 8;

/// Whether a text as a whole looks like a key: one word that begins as keys do, or that looks random.
#[must_use]
pub fn looks_like_key(text: &str) -> bool {
    let text = text.trim();
    text.chars().all(is_of_word) && (begins_like_key(text) || is_random(text))
}

/// Whether a text is, or contains, a word that begins as keys do.
#[must_use]
pub fn holds_key(text: &str) -> bool {
    looks_like_key(text) || words(text).any(|(word, _)| begins_like_key(word))
}

/// The text with [`HIDDEN`] in the place of every word that begins as keys do. Words that only look random stay: ids and
/// file names do.
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

/// A value that a person gave, as a message may repeat it: without a key, and without the user part and the query of an
/// address.
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
    // The last one: a password may contain others.
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

/// The words of a text, each with what is between it and the next.
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
    if word.len() < SHORTEST {
        return false;
    }
    // The host of an address is in lower case, whatever was given.
    let upstream = word
        .get(..UPSTREAM.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(UPSTREAM));
    upstream
        || OTHERS.iter().any(|start| word.starts_with(start))
            && changes(word) * CHANGE_EVERY_AFTER_BEGINNING >= word.len()
}

fn is_random(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let letters = word.chars().filter(char::is_ascii_alphabetic).count();
    word.len() >= SHORTEST_RANDOM
        && digits > 1
        && letters > 1
        && !is_id(word)
        && changes(word) * CHANGE_EVERY >= word.len()
}

/// How often a character is of another kind than the one before it. Hyphens and underscores part words of names, so they
/// count for nothing.
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

/// Whether it is an id as jobs have one.
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
