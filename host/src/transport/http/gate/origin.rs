//! Web origins: scheme, host and port, as in an `Origin` header.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::authority::{Authority, AuthorityError, Host};

/// The scheme of an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// `http`.
    Http,
    /// `https`.
    Https,
}

impl Scheme {
    /// Returns the port of the scheme where none is written.
    #[must_use]
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// A web origin. Two are equal when a browser takes them for the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The scheme.
    pub scheme: Scheme,
    /// The host.
    pub host: Host,
    /// The port, the scheme's own where none was written.
    pub port: u16,
}

/// What is wrong with an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OriginError {
    /// Neither http nor https.
    #[error("it does not begin with http:// or https://")]
    Scheme,
    /// Its authority is malformed.
    #[error("{0}")]
    Authority(#[from] AuthorityError),
    /// Something after the port.
    #[error("it has a path")]
    Path,
}

impl FromStr for Origin {
    type Err = OriginError;

    /// Parses `scheme://host[:port]`.
    fn from_str(text: &str) -> Result<Self, OriginError> {
        let (origin, rest) = Self::split(text)?;
        if rest.is_empty() {
            Ok(origin)
        } else {
            Err(OriginError::Path)
        }
    }
}

impl Origin {
    /// Parses the origin of a URL, whatever its path.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of_url(text: &str) -> Result<Self, OriginError> {
        Self::split(text).map(|(origin, _)| origin)
    }

    fn split(text: &str) -> Result<(Self, &str), OriginError> {
        let (scheme, rest) = text.split_once("://").ok_or(OriginError::Scheme)?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(OriginError::Scheme),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let authority = Authority::parse(authority)?;
        let port = authority.port_or(scheme.default_port());
        let host = authority.host;
        Ok((Self { scheme, host, port }, path))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.text(), self.host)?;
        if self.port != self.scheme.default_port() {
            write!(f, ":{}", self.port)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let same = |left: &str, right: &str| left.parse::<Origin>() == right.parse::<Origin>();
        assert!(same("http://localhost", "HTTP://LOCALHOST:80"));
        assert!(same("https://a.example:443", "https://a.example"));
        assert!(!same("http://a.example", "https://a.example"));
        assert_eq!(
            "https://A.example:8443"
                .parse::<Origin>()
                .unwrap()
                .to_string(),
            "https://a.example:8443"
        );
    }

    #[test]
    fn what_is_no_origin_is_refused() {
        for (text, expected) in [
            ("null", OriginError::Scheme),
            ("", OriginError::Scheme),
            ("localhost:80", OriginError::Scheme),
            ("file://", OriginError::Scheme),
            ("chrome-extension://abc", OriginError::Scheme),
            ("http://localhost/", OriginError::Path),
            ("http://localhost?x", OriginError::Path),
            ("http://", OriginError::Authority(AuthorityError::NoHost)),
            (
                "http://a@localhost",
                OriginError::Authority(AuthorityError::UserInfo),
            ),
            (
                "http://localhost:70000",
                OriginError::Authority(AuthorityError::PortRange),
            ),
        ] {
            assert_eq!(text.parse::<Origin>(), Err(expected), "{text:?}");
        }
        let referer = Origin::of_url("http://localhost:1/a/b?c").unwrap();
        assert_eq!(referer.to_string(), "http://localhost:1");
    }
}
