//! Parses the authority of a URI or of a `Host` header: a host, and a port where one is written.
//!
//! `http::uri::Authority` takes `localhost:70000`, `localhost:8080x` and `user@localhost` as authorities without a
//! port or with one, which an access check must tell apart.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use thiserror::Error;

/// The longest host name, in bytes: the limit of the domain name system.
const LONGEST_NAME: usize = 253;
/// The most digits of a port.
const PORT_DIGITS: usize = 5;

/// A host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A name, in lower case.
    Name(String),
    /// An IPv4 address.
    V4(Ipv4Addr),
    /// An IPv6 address.
    V6(Ipv6Addr),
}

impl Host {
    /// Parses a host, an IPv6 address with or without brackets.
    ///
    /// # Errors
    /// When it is empty or has characters that no host has.
    pub fn parse(text: &str) -> Result<Self, AuthorityError> {
        if let Some(inside) = text.strip_prefix('[') {
            let inside = inside.strip_suffix(']').ok_or(AuthorityError::Brackets)?;
            return inside
                .parse()
                .map(Self::V6)
                .map_err(|_| AuthorityError::Brackets);
        }
        if text.is_empty() {
            return Err(AuthorityError::NoHost);
        }
        if let Ok(address) = text.parse() {
            return Ok(Self::V6(address));
        }
        if let Ok(address) = text.parse() {
            return Ok(Self::V4(address));
        }
        let in_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        if text.len() > LONGEST_NAME || !text.bytes().all(in_name) {
            return Err(AuthorityError::Characters);
        }
        Ok(Self::Name(text.to_ascii_lowercase()))
    }

    /// Returns whether this is `localhost`, 127.0.0.1 or ::1.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Name(name) => name == "localhost",
            Self::V4(address) => *address == Ipv4Addr::LOCALHOST,
            Self::V6(address) => *address == Ipv6Addr::LOCALHOST,
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::V4(address) => address.fmt(f),
            Self::V6(address) => write!(f, "[{address}]"),
        }
    }
}

/// A host, and a port where one is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// The host.
    pub host: Host,
    /// The port, 1 to 65535.
    pub port: Option<u16>,
}

/// What is wrong with an authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AuthorityError {
    /// Nothing before the port.
    #[error("it has no host")]
    NoHost,
    /// `user@host`.
    #[error("it has user information")]
    UserInfo,
    /// Brackets that do not hold an IPv6 address.
    #[error("its brackets hold no IPv6 address")]
    Brackets,
    /// A character that no host name has.
    #[error("its host has characters that no host name has")]
    Characters,
    /// A colon with nothing after it.
    #[error("its port is empty")]
    EmptyPort,
    /// A port that is no plain number.
    #[error("its port is not a number")]
    Port,
    /// A port that is 0 or above 65535.
    #[error("its port is not between 1 and 65535")]
    PortRange,
}

impl Authority {
    /// Parses an authority: `name`, `name:port`, `1.2.3.4:port`, `::1` (then without a port) or `[::1]:port`.
    ///
    /// # Errors
    /// What is wrong with it. A port that is out of range is an error, not an absent port.
    pub fn parse(text: &str) -> Result<Self, AuthorityError> {
        if text.contains('@') {
            return Err(AuthorityError::UserInfo);
        }
        let (host, port) = split(text)?;
        Ok(Self {
            host: Host::parse(host)?,
            port: port.map(parse_port).transpose()?,
        })
    }

    /// Returns the port, or `default` where none is written.
    #[must_use]
    pub fn port_or(&self, default: u16) -> u16 {
        self.port.unwrap_or(default)
    }
}

fn split(text: &str) -> Result<(&str, Option<&str>), AuthorityError> {
    if text.starts_with('[') {
        let end = text.find(']').ok_or(AuthorityError::Brackets)? + 1;
        let (host, rest) = text.split_at(end);
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(AuthorityError::Characters),
        };
    }
    match text.split_once(':') {
        // More than one colon: an IPv6 address, which cannot have a port without brackets.
        Some((_, rest)) if rest.contains(':') => Ok((text, None)),
        Some((host, port)) => Ok((host, Some(port))),
        None => Ok((text, None)),
    }
}

fn parse_port(text: &str) -> Result<u16, AuthorityError> {
    if text.is_empty() {
        return Err(AuthorityError::EmptyPort);
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) || text.starts_with('0') && text.len() > 1 {
        return Err(AuthorityError::Port);
    }
    if text.len() > PORT_DIGITS {
        return Err(AuthorityError::PortRange);
    }
    match text.parse() {
        Ok(0) | Err(_) => Err(AuthorityError::PortRange),
        Ok(port) => Ok(port),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_are_told_apart() {
        use AuthorityError as E;
        let name = |name: &str, port| {
            Ok(Authority {
                host: Host::Name(name.to_owned()),
                port,
            })
        };
        let v6 = |port| {
            Ok(Authority {
                host: Host::V6(Ipv6Addr::LOCALHOST),
                port,
            })
        };
        let v4 = |port| {
            Ok(Authority {
                host: Host::V4(Ipv4Addr::LOCALHOST),
                port,
            })
        };
        for (text, expected) in [
            ("localhost", name("localhost", None)),
            ("LocalHost:9876", name("localhost", Some(9876))),
            ("127.0.0.1", v4(None)),
            ("127.0.0.1:1", v4(Some(1))),
            ("::1", v6(None)),
            ("0:0:0:0:0:0:0:1", v6(None)),
            ("[::1]", v6(None)),
            ("[::1]:65535", v6(Some(65535))),
            ("", Err(E::NoHost)),
            (":80", Err(E::NoHost)),
            ("localhost:", Err(E::EmptyPort)),
            ("[::1]:", Err(E::EmptyPort)),
            ("localhost:0", Err(E::PortRange)),
            ("localhost:70000", Err(E::PortRange)),
            ("localhost:999999999999", Err(E::PortRange)),
            ("[::1]:99999", Err(E::PortRange)),
            ("localhost:8080x", Err(E::Port)),
            ("localhost:+80", Err(E::Port)),
            ("localhost: 80", Err(E::Port)),
            ("localhost:080", Err(E::Port)),
            ("evil@localhost", Err(E::UserInfo)),
            ("evil:1@localhost:80", Err(E::UserInfo)),
            ("[::1", Err(E::Brackets)),
            ("[localhost]", Err(E::Brackets)),
            ("[::1%lo]", Err(E::Brackets)),
            ("[::1]80", Err(E::Characters)),
            ("::1]", Err(E::Characters)),
            ("local host", Err(E::Characters)),
            ("localhost/", Err(E::Characters)),
            ("localhost,evil", Err(E::Characters)),
            ("a::b::c", Err(E::Characters)),
        ] {
            assert_eq!(Authority::parse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn loopback_is_three_hosts_and_no_more() {
        for (text, expected) in [
            ("localhost", true),
            ("LOCALHOST", true),
            ("127.0.0.1", true),
            ("::1", true),
            ("[0:0:0:0:0:0:0:1]", true),
            ("localhost.", false),
            ("127.0.0.2", false),
            ("0.0.0.0", false),
            ("::ffff:127.0.0.1", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.nip.io", false),
            ("2130706433", false),
            ("127.1", false),
        ] {
            let loopback = Host::parse(text).is_ok_and(|host| host.is_loopback());
            assert_eq!(loopback, expected, "{text}");
        }
    }
}
