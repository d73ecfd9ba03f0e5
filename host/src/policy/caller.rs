//! Who makes a call.

/// The longest part of a client's name or version that is kept, in characters.
const NAME_CHARACTERS: usize = 64;

/// How a call reached the server, as the transport knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The transport: `stdio`, `http` or `sse`.
    pub transport: &'static str,
    /// Who makes the call: `local`, or `bearer:` and the digest of the token.
    pub principal: String,
    /// A name of the session, by which nobody can use it; `None` where each request stands alone.
    pub session: Option<String>,
}

impl Caller {
    /// Returns the caller of a connection over standard input and output.
    #[must_use]
    pub fn stdio() -> Self {
        Self {
            transport: "stdio",
            principal: "local".to_owned(),
            session: Some(format!("{:016x}", fastrand::u64(..))),
        }
    }
}

/// The client's own words about itself, made fit for a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Client {
    /// Takes the name and the version of a client, without control characters and no longer than a log should hold.
    #[must_use]
    pub fn new(name: &str, version: &str) -> Self {
        Self {
            name: printable(name),
            version: printable(version),
        }
    }
}

fn printable(text: &str) -> String {
    text.chars()
        .filter(|letter| !letter.is_control() && !is_bidi_control(*letter))
        .take(NAME_CHARACTERS)
        .collect()
}

const fn is_bidi_control(letter: char) -> bool {
    matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_a_log_should_not_hold() {
        let client = Client::new("a\u{1b}[31m\nb\u{202e}c", &"9".repeat(100));
        assert_eq!(client.name, "a[31mbc");
        assert_eq!(client.version.len(), 64);
    }
}
