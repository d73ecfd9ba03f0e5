//! The bearer token and the headers that go with every request to the server.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use http::{HeaderMap, HeaderName, HeaderValue, header};
use secrecy::{ExposeSecret as _, SecretString};

use crate::upstream::{KeyFilter, is_placeholder};

/// What stands where a secret was.
pub const TAKEN_OUT: &str = "[secret]";
/// The longest token file that is read, in bytes.
const LONGEST: u64 = 16 << 10;
/// Headers that the transport itself sets, or that would change how a request is read.
const RESERVED: [&str; 17] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "content-encoding",
    "expect",
    "host",
    "keep-alive",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Parts of names of headers that hold secrets.
const SECRET_NAMES: [&str; 8] = [
    "auth",
    "cookie",
    "token",
    "key",
    "secret",
    "password",
    "session",
    "credential",
];

/// Why a credential cannot be used. The texts hold no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// The variable is not set, or is empty.
    #[error("{0} is not set in the environment; set it, or name another variable")]
    NotSet(String),
    /// Nobody replaced the placeholder.
    #[error(
        "{0} holds the text of a placeholder, not its value: the program that starts glovebox does not replace it; put the value itself there"
    )]
    Placeholder(String),
    /// The value cannot be sent.
    #[error("{0} holds {1}, which cannot be sent in a header; copy it again")]
    Characters(String, &'static str),
    /// The file cannot be read.
    #[error("the file {0} cannot be read: {1}")]
    File(String, String),
    /// The header is not for users.
    #[error("the header {0} is set by the bridge itself")]
    Reserved(String),
    /// The name is none.
    #[error("`{0}` is no name of a header")]
    Name(String),
}

/// Where the bearer token is read from.
#[derive(Clone, Debug)]
pub enum Bearer {
    /// There is none.
    None,
    /// A token that was in the environment.
    Fixed(Secret),
    /// A file, which is read again when it changes.
    File(PathBuf),
}

/// A header's value that no log or message shows.
#[derive(Clone)]
pub struct Secret(SecretString);

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(…)")
    }
}

impl Secret {
    /// Checks a value as it was found in `source`. White space around it is no part of it.
    ///
    /// # Errors
    /// What is wrong with it, without showing it.
    pub fn parse(text: &str, source: &str) -> Result<Self, CredentialError> {
        let value = text.strip_prefix('\u{feff}').unwrap_or(text).trim();
        let source = source.to_owned();
        if value.is_empty() {
            return Err(CredentialError::NotSet(source));
        }
        if is_placeholder(value) {
            return Err(CredentialError::Placeholder(source));
        }
        let unfit = if value.contains(['\n', '\r']) {
            Some("a line end")
        } else if value.contains(char::is_control) {
            Some("a control character")
        } else if !value.is_ascii() {
            Some("a character that is not ASCII")
        } else {
            None
        };
        match unfit {
            Some(what) => Err(CredentialError::Characters(source, what)),
            None => Ok(Self(value.to_owned().into())),
        }
    }

    fn header(&self, prefix: &str) -> Option<HeaderValue> {
        let text = format!("{prefix}{}", self.0.expose_secret());
        let mut value = HeaderValue::from_str(&text).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// A header that goes with every request.
#[derive(Clone, Debug)]
pub struct Extra {
    name: HeaderName,
    value: Secret,
    secret: bool,
}

impl Extra {
    /// Checks a header. `secret` says that its value came from a place for secrets.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(name: &str, value: Secret, secret: bool) -> Result<Self, CredentialError> {
        let header = HeaderName::from_bytes(name.trim().as_bytes())
            .map_err(|_| CredentialError::Name(name.trim().to_owned()))?;
        let text = header.as_str();
        if RESERVED.contains(&text) || text.starts_with("mcp-param-") || text.starts_with("proxy-")
        {
            return Err(CredentialError::Reserved(text.to_owned()));
        }
        Ok(Self {
            secret: secret || names_secret(text),
            name: header,
            value,
        })
    }

    /// Returns whether the value must not be shown or sent without encryption.
    #[must_use]
    pub const fn is_secret(&self) -> bool {
        self.secret
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_str()
    }
}

/// Returns whether a header of this name usually holds a secret.
#[must_use]
pub fn names_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|part| name.contains(part))
}

/// What goes with every request.
#[derive(Debug)]
pub struct Credentials {
    bearer: Bearer,
    extra: Vec<Extra>,
    current: Mutex<Option<(Stamp, Arc<Current>)>>,
}

/// When a file was written, and how long it is.
type Stamp = Option<(SystemTime, u64)>;

/// The headers, and the filters that take their values out of texts.
#[derive(Debug)]
pub struct Current {
    headers: HeaderMap,
    filters: Vec<KeyFilter>,
}

impl Credentials {
    /// Takes the credentials of a bridge. Nothing is read yet.
    #[must_use]
    pub const fn new(bearer: Bearer, extra: Vec<Extra>) -> Self {
        Self {
            bearer,
            extra,
            current: Mutex::new(None),
        }
    }

    /// Returns whether there is anything that may only be sent encrypted, or within this machine.
    #[must_use]
    pub fn has_secret(&self) -> bool {
        !matches!(self.bearer, Bearer::None) || self.extra.iter().any(Extra::is_secret)
    }

    /// Returns what goes with a request now. A file is read where it was not, or has changed.
    ///
    /// # Errors
    /// When the file cannot be read, or holds no token.
    pub fn current(&self) -> Result<Arc<Current>, CredentialError> {
        let stamp = self.stamp()?;
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match &*current {
            Some((read, kept)) if *read == stamp => Ok(Arc::clone(kept)),
            _ => {
                let new = Arc::new(self.read()?);
                *current = Some((stamp, Arc::clone(&new)));
                Ok(new)
            }
        }
    }

    fn stamp(&self) -> Result<Stamp, CredentialError> {
        let Bearer::File(path) = &self.bearer else {
            return Ok(None);
        };
        let failed = |reason: String| CredentialError::File(path.display().to_string(), reason);
        let found = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
        if !found.is_file() {
            return Err(failed("it is not a regular file".to_owned()));
        }
        if found.len() > LONGEST {
            return Err(failed("it is too long for a token".to_owned()));
        }
        let written = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        Ok(Some((written, found.len())))
    }

    fn read(&self) -> Result<Current, CredentialError> {
        let token = match &self.bearer {
            Bearer::None => None,
            Bearer::Fixed(token) => Some(token.clone()),
            Bearer::File(path) => {
                let shown = path.display().to_string();
                let text = std::fs::read_to_string(path)
                    .map_err(|error| CredentialError::File(shown.clone(), error.to_string()))?;
                Some(Secret::parse(&text, &format!("the file {shown}"))?)
            }
        };
        let secrets = self.extra.iter().filter(|extra| extra.secret);
        let secrets = secrets.map(|extra| &extra.value).chain(&token);
        let filters = secrets
            .map(|secret| KeyFilter::new(secret.0.expose_secret().as_bytes(), TAKEN_OUT))
            .collect();
        let mut headers = HeaderMap::new();
        for extra in &self.extra {
            if let Some(value) = extra.value.header("") {
                headers.append(extra.name.clone(), value);
            }
        }
        if let Some(value) = token.and_then(|token| token.header("Bearer ")) {
            headers.insert(header::AUTHORIZATION, value);
        }
        Ok(Current { headers, filters })
    }
}

impl Current {
    /// Returns the headers.
    #[must_use]
    pub const fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Returns a text without the secrets, however their characters are written.
    #[must_use]
    pub fn mask(&self, mut text: Vec<u8>) -> Vec<u8> {
        for filter in &self.filters {
            if let std::borrow::Cow::Owned(masked) = filter.whole(&text) {
                text = masked;
            }
        }
        text
    }

    /// Returns a text without the secrets.
    #[must_use]
    pub fn mask_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.mask(text.as_bytes().to_vec())).into_owned()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Result<Secret, CredentialError> {
        Secret::parse(text, "TOKEN")
    }

    #[test]
    fn what_cannot_be_sent_is_named_and_not_shown() {
        for bad in [
            "",
            "  ",
            "${TOKEN}",
            "hunter2\nhunter3",
            "hunter\u{1}2",
            "huntér2",
        ] {
            let error = secret(bad).unwrap_err().to_string();
            assert!(error.starts_with("TOKEN "), "{error}");
            assert!(!error.contains("hunter"), "{error}");
        }
        let good = secret(" hunter2-hunter2\r\n").unwrap();
        assert!(!format!("{good:?}").contains("hunter"));
        assert_eq!(good.header("Bearer ").unwrap(), "Bearer hunter2-hunter2");
    }

    #[test]
    fn headers_of_the_transport_are_reserved() {
        for name in [
            "Host",
            "MCP-Session-Id",
            "mcp-param-x",
            "Accept",
            "Proxy-Authorization",
        ] {
            let extra = Extra::new(name, secret("x").unwrap(), false);
            assert!(matches!(extra, Err(CredentialError::Reserved(_))), "{name}");
        }
        assert!(Extra::new("no name", secret("x").unwrap(), false).is_err());
        for (name, is_secret) in [("X-Api-Key", true), ("Cookie", true), ("X-Tenant", false)] {
            let extra = Extra::new(name, secret("x").unwrap(), false).unwrap();
            assert_eq!(extra.is_secret(), is_secret, "{name}");
        }
    }

    #[test]
    fn a_changed_file_is_read_again_and_its_token_masked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let extra = Extra::new("X-Api-Key", secret("another-secret").unwrap(), false).unwrap();
        let credentials = Credentials::new(Bearer::File(path.clone()), vec![extra]);
        assert!(credentials.current().is_err());
        for token in ["first-token-of-all", "the-second-token-is-longer"] {
            std::fs::write(&path, format!("{token}\n")).unwrap();
            let current = credentials.current().unwrap();
            assert_eq!(
                current.headers()[header::AUTHORIZATION],
                format!("Bearer {token}")
            );
            let masked = current.mask(format!("{token} another-secret x").into_bytes());
            assert_eq!(masked, b"[secret] [secret] x");
        }
    }
}
