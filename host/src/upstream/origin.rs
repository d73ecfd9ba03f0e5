//! The one place that calls go to.

use std::fmt;
use std::net::IpAddr;

use url::{Host, Url};

/// Where calls go by default.
pub const DEFAULT_ORIGIN: &str = "https://api.search.brave.com";

/// An https origin, or a loopback one over plain http.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(Url);

/// Why a text is no [`Origin`]. Each is the end of a sentence that names the setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OriginError {
    /// No URL at all.
    #[error("is not a URL ({0}); give an origin such as {DEFAULT_ORIGIN}")]
    NotUrl(String),
    /// Neither http nor https.
    #[error(
        "must start with https:// (plain http:// only for this machine, such as http://127.0.0.1:8080)"
    )]
    Scheme,
    /// Plain http to another machine.
    #[error(
        "is plain http to another machine, which would show the key to the network; use https:// (http:// is for loopback only)"
    )]
    PlainHttp,
    /// A user name or password.
    #[error("holds a user name or password; give the origin alone, such as {DEFAULT_ORIGIN}")]
    Credentials,
    /// A path, query or fragment.
    #[error("holds a path; give the origin alone: {0}")]
    Path(String),
}

impl Origin {
    /// Reads an origin.
    ///
    /// # Errors
    /// What is wrong with the text, as the end of a sentence.
    pub fn parse(text: &str) -> Result<Self, OriginError> {
        let url =
            Url::parse(text.trim()).map_err(|error| OriginError::NotUrl(error.to_string()))?;
        match url.scheme() {
            "https" => {}
            "http" if is_loopback(&url) => {}
            "http" => return Err(OriginError::PlainHttp),
            _ => return Err(OriginError::Scheme),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(OriginError::Credentials);
        }
        if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
            return Err(OriginError::Path(url.origin().ascii_serialization()));
        }
        Ok(Self(url))
    }

    /// Whether it is this machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.0)
    }

    /// Whether calls are encrypted.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// The host's name.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// The URL of a path on this origin; `None` where the path would lead elsewhere.
    #[must_use]
    pub fn join(&self, path: &str) -> Option<Url> {
        if !path.starts_with('/') || path.starts_with("//") || path.contains('\\') {
            return None;
        }
        let url = self.0.join(path).ok()?;
        (url.origin() == self.0.origin()).then_some(url)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0.origin().ascii_serialization())
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        None => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_https_or_loopback() {
        for good in [
            "https://api.search.brave.com",
            "https://api.search.brave.com/",
            "http://127.0.0.1:1",
            "http://[::1]:80",
            "http://localhost:9",
        ] {
            assert!(Origin::parse(good).is_ok(), "{good}");
        }
        for (bad, kind) in [
            ("http://api.search.brave.com", OriginError::PlainHttp),
            ("http://127.0.0.1.example.org", OriginError::PlainHttp),
            ("ftp://127.0.0.1", OriginError::Scheme),
            ("https://user:pass@example.org", OriginError::Credentials),
        ] {
            assert_eq!(Origin::parse(bad), Err(kind), "{bad}");
        }
        assert!(matches!(
            Origin::parse("https://example.org/res/v1"),
            Err(OriginError::Path(_))
        ));
        assert!(matches!(
            Origin::parse("nonsense"),
            Err(OriginError::NotUrl(_))
        ));
    }

    #[test]
    fn a_path_never_leaves_the_origin() {
        let origin = Origin::parse("https://example.org").unwrap();
        assert!(origin.join("/res/v1/chat/completions").is_some());
        for bad in [
            "",
            "res",
            "//evil.example/x",
            "/\\evil.example",
            "https://evil.example/",
            "\\\\evil.example",
        ] {
            assert_eq!(origin.join(bad), None, "{bad}");
        }
    }
}
