//! The key: held as a secret, checked before it is used, never printed.

use std::fmt;

use http::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

/// What is sent to the simulator instead of a key: a text that no reply holds.
pub const SIMULATED_KEY: &str = "the-simulator-needs-no-key";

/// A key that is fit to be sent.
#[derive(Clone)]
pub struct ApiKey(SecretString);

impl fmt::Debug for ApiKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ApiKey(…)")
    }
}

/// Why there is no usable key. The texts never contain a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// None was given.
    #[error(
        "no API key is set\nset BRAVE_ANSWERS_KEY, or BRAVE_ANSWERS_KEY_FILE to a file that holds it; create one at https://api-dashboard.search.brave.com\n--simulate works without a key"
    )]
    Missing,
    /// A placeholder that nobody replaced.
    #[error(
        "{source_name} holds the text of a placeholder, not its value: the program that starts glovebox does not replace it; put the key itself there, or use BRAVE_ANSWERS_KEY_FILE"
    )]
    Placeholder {
        /// The variable or file.
        source_name: String,
    },
    /// Nothing but white space.
    #[error("{source_name} is blank: put the key there, or unset it")]
    Blank {
        /// The variable or file.
        source_name: String,
    },
    /// Inner white space, a control character, or not ASCII.
    #[error(
        "{source_name} does not hold a key: it contains {what}, and a key is one word of plain ASCII letters, digits, - and _; copy it again"
    )]
    Characters {
        /// The variable or file.
        source_name: String,
        /// What is in it that should not be.
        what: &'static str,
    },
    /// No file has the name that was given, and the name may be the key itself.
    #[error(
        "{variable} names no file, and its value may be the key itself, so it is not shown: {variable} takes the path of a file that holds the key; a key itself belongs into {}", .variable.trim_end_matches("_FILE")
    )]
    NoFileName {
        /// The variable.
        variable: String,
    },
    /// The file cannot be read.
    #[error("cannot read the key file {path} (named by {variable}): {reason}")]
    Unreadable {
        /// The variable.
        variable: String,
        /// The file.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// Others could put their own key there.
    #[error(
        "the key file {path} (named by {variable}) can be written by other users: run chmod 600 {path}"
    )]
    Writable {
        /// The variable.
        variable: String,
        /// The file.
        path: String,
    },
}

impl ApiKey {
    /// Checks a key as it was found in `source_name`. A line end after it is no part of it.
    ///
    /// # Errors
    /// What is wrong with it, without showing it.
    pub fn parse(text: &str, source_name: &str) -> Result<Self, KeyError> {
        let key = text.strip_prefix('\u{feff}').unwrap_or(text).trim();
        let source_name = source_name.to_owned();
        if key.is_empty() {
            return Err(KeyError::Blank { source_name });
        }
        if is_placeholder(key) {
            return Err(KeyError::Placeholder { source_name });
        }
        match unfit(key) {
            Some(what) => Err(KeyError::Characters { source_name, what }),
            None => Ok(Self(SecretString::from(key))),
        }
    }

    /// What is sent to the simulator.
    #[must_use]
    pub fn simulated() -> Self {
        Self(SecretString::from(SIMULATED_KEY))
    }

    /// The header's value, marked so that no log prints it.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(self.0.expose_secret()).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// Whether a text is a placeholder: `${NAME}`, `$NAME`, `{env:NAME}`, `{file:…}`, `{{NAME}}`, `%NAME%`, `<your key>`: as written in config files of
/// clients, and passed on literally by those that do not know them.
#[must_use]
pub fn is_placeholder(key: &str) -> bool {
    let key = key.trim();
    key.starts_with('$')
        || key.starts_with('{')
        || (key.starts_with('%') && key.ends_with('%'))
        || (key.starts_with('<') && key.ends_with('>'))
}

fn unfit(key: &str) -> Option<&'static str> {
    if key.contains(['\n', '\r']) {
        Some("a line end")
    } else if key.contains(char::is_whitespace) {
        Some("a space")
    } else if key.contains(char::is_control) {
        Some("a control character")
    } else if !key.is_ascii() {
        Some("a character that is not ASCII")
    } else if key.starts_with(['"', '\'']) {
        Some("quotation marks")
    } else {
        None
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_key_is_explained_and_never_shown() {
        for bad in [
            "${BRAVE_KEY}",
            "$KEY",
            "{env:BRAVE_KEY}",
            "%KEY%",
            "<your-key>",
            "",
            " \n",
            "a b",
            "a\nb",
            "clé",
            "a\u{1}b",
            "\"ab\"",
        ] {
            let error = ApiKey::parse(bad, "BRAVE_ANSWERS_KEY").unwrap_err();
            let text = format!("{error} {error:?}");
            assert!(text.contains("BRAVE_ANSWERS_KEY"), "{text}");
            assert!(bad.trim().len() < 4 || !text.contains(bad.trim()), "{text}");
        }
    }

    #[test]
    fn a_good_key_is_trimmed_and_sensitive() {
        let key = ApiKey::parse("\u{feff}BSA-secret_1\r\n", "the file").unwrap();
        let header = key.header().unwrap();
        assert_eq!(header, "BSA-secret_1");
        assert!(header.is_sensitive());
        assert!(!format!("{key:?}{header:?}").contains("secret"));
    }
}
