//! The parts of a request that the gate looks at.

use http::uri::Uri;
use http::{HeaderMap, HeaderValue, Method};

use super::authority::Authority;
use super::denial::{Denial, Reason};
use super::origin::Origin;

/// The head of a request.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The method.
    pub method: &'a Method,
    /// The path, without the query.
    pub path: &'a str,
    /// The authority of the request's target: `:authority` in HTTP/2, an absolute URI's in HTTP/1.1.
    pub target: Option<&'a str>,
    /// The headers.
    pub headers: &'a HeaderMap,
}

impl<'a> Facts<'a> {
    /// Returns the facts of a request.
    #[must_use]
    pub fn of(method: &'a Method, uri: &'a Uri, headers: &'a HeaderMap) -> Self {
        Self {
            method,
            path: uri.path(),
            target: uri.authority().map(http::uri::Authority::as_str),
            headers,
        }
    }

    /// Returns the authority that the request is for.
    ///
    /// # Errors
    /// When none is named, more than one is, or it is malformed.
    pub fn authority(&self) -> Result<Authority, Denial> {
        let mut hosts = self.headers.get_all("host").iter();
        let host = hosts.next();
        if hosts.next().is_some() {
            return Err(Denial::of(Reason::HostTwice));
        }
        let host = host.map(|host| parse(host.to_str().ok())).transpose()?;
        let target = self.target.map(|target| parse(Some(target))).transpose()?;
        match (target, host) {
            (Some(target), Some(host)) if target != host => Err(Denial::of(Reason::HostTwice)),
            (Some(authority), _) | (None, Some(authority)) => Ok(authority),
            (None, None) => Err(Denial::of(Reason::NoHost)),
        }
    }

    /// Returns the origin, parsed and as it was sent; `None` where there is no such header.
    ///
    /// # Errors
    /// When there is more than one, or one that cannot be allowed, such as `null`.
    pub fn origin(&self) -> Result<Option<(Origin, HeaderValue)>, Denial> {
        let mut origins = self.headers.get_all("origin").iter();
        let (origin, more) = (origins.next(), origins.next());
        match (origin, more) {
            (None, _) => Ok(None),
            (Some(value), None) => {
                let text = value.to_str().ok();
                let origin = text.and_then(|text| text.parse().ok());
                let origin = origin.ok_or(Denial::of(Reason::Origin))?;
                Ok(Some((origin, value.clone())))
            }
            (Some(_), Some(_)) => Err(Denial::of(Reason::Origin)),
        }
    }

    /// Returns what follows `Bearer ` in the one `Authorization` header.
    ///
    /// # Errors
    /// When there is none, more than one, or one of another scheme.
    pub fn bearer(&self) -> Result<&'a [u8], Denial> {
        let mut values = self.headers.get_all("authorization").iter();
        match (values.next(), values.next()) {
            (None, _) => Err(Denial::of(Reason::TokenMissing)),
            (Some(value), None) => value
                .as_bytes()
                .strip_prefix(b"Bearer ")
                .ok_or(Denial::of(Reason::WrongToken)),
            (Some(_), Some(_)) => Err(Denial::of(Reason::WrongToken)),
        }
    }
}

fn parse(text: Option<&str>) -> Result<Authority, Denial> {
    text.and_then(|text| Authority::parse(text).ok())
        .ok_or(Denial::of(Reason::HostMalformed))
}
