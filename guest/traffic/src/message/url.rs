//! URLs as they are written: split, never normalised, except for the origin.

use crate::types::Origin;

/// The pieces of a URL, as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Url<'a> {
    pub(crate) scheme: &'a str,
    /// Without `@`; empty where there is none.
    pub(crate) user: &'a str,
    /// As written; an IPv6 address with brackets.
    pub(crate) host: &'a str,
    /// As written, without the colon.
    pub(crate) port: &'a str,
    pub(crate) path: &'a str,
    /// Without the question mark; `None` where there is none.
    pub(crate) query: Option<&'a str>,
    /// Without the number sign; `None` where there is none.
    pub(crate) fragment: Option<&'a str>,
}

/// Splits a URL or a target in origin form. An authority is only looked for after `scheme://` or at the start with `//`.
pub(crate) fn split(text: &str) -> Url<'_> {
    let mut url = Url::default();
    let (rest, fragment) = cut(text, '#');
    url.fragment = fragment;
    let (rest, query) = cut(rest, '?');
    url.query = query;
    url.path = rest;
    let authority = match rest.split_once("://") {
        Some((scheme, after)) if is_scheme(scheme) => {
            url.scheme = scheme;
            after
        }
        _ => match rest.strip_prefix("//") {
            Some(after) => after,
            None => return url,
        },
    };
    let slash = authority.find(['/', '\\']).unwrap_or(authority.len());
    let (authority, path) = authority.split_at_checked(slash).unwrap_or((authority, ""));
    url.path = path;
    let host = match authority.rsplit_once('@') {
        Some((user, host)) => {
            url.user = user;
            host
        }
        None => authority,
    };
    (url.host, url.port) = host_and_port(host);
    url
}

fn cut(text: &str, at: char) -> (&str, Option<&str>) {
    match text.split_once(at) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// Splits `host`, `host:port`, `[v6]` and `[v6]:port`.
pub(crate) fn host_and_port(text: &str) -> (&str, &str) {
    if text.starts_with('[') {
        return match text.find(']') {
            Some(end) => {
                let (host, rest) = text.split_at_checked(end + 1).unwrap_or((text, ""));
                (host, rest.strip_prefix(':').unwrap_or(rest))
            }
            None => (text, ""),
        };
    }
    match text.rsplit_once(':') {
        // Several colons without brackets are an IPv6 address.
        Some((host, _)) if host.contains(':') => (text, ""),
        Some((host, port)) => (host, port),
        None => (text, ""),
    }
}

/// Returns the port that a scheme implies.
pub(crate) fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" | "ws" => Some(80),
        "https" | "wss" => Some(443),
        _ => None,
    }
}

/// Returns the origin of the pieces, or `None` where host, port or scheme are missing or wrong.
pub(crate) fn origin_of(scheme: &str, host: &str, port: &str) -> Option<Origin> {
    let scheme = scheme.to_ascii_lowercase();
    let port = if port.is_empty() {
        default_port(&scheme)?
    } else {
        // A port that is out of range is wrong, not absent.
        port.parse().ok().filter(|&port: &u16| port != 0)?
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let bad = |byte: u8| byte <= b' ' || byte == 0x7f || b"/\\?#@[]<>\"'{}|^`".contains(&byte);
    (!host.is_empty() && !host.bytes().any(bad)).then_some(Origin { scheme, host, port })
}

/// Returns the origin of an absolute URL.
pub(crate) fn origin(text: &str) -> Option<Origin> {
    let url = split(text);
    origin_of(url.scheme, url.host, url.port)
}

impl Origin {
    /// Returns the origin as a URL without a path; a default port is left out.
    #[must_use]
    pub fn to_url(&self) -> String {
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        if default_port(&self.scheme) == Some(self.port) {
            format!("{}://{host}", self.scheme)
        } else {
            format!("{}://{host}:{}", self.scheme, self.port)
        }
    }
}

/// Decodes percent-encoding and, in queries and forms, `+`. Broken escapes stay as written.
pub(crate) fn decode(bytes: &[u8], form: bool) -> Vec<u8> {
    if form && bytes.contains(&b'+') {
        let spaced: Vec<u8> = bytes
            .iter()
            .map(|&byte| if byte == b'+' { b' ' } else { byte })
            .collect();
        return percent_encoding::percent_decode(&spaced).collect();
    }
    percent_encoding::percent_decode(bytes).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_split_as_written() {
        let url = split("HTTPS://user:pw@Host.Example.:8443/a/b?c=d#e");
        assert_eq!(
            (
                url.scheme,
                url.user,
                url.host,
                url.port,
                url.path,
                url.query,
                url.fragment
            ),
            (
                "HTTPS",
                "user:pw",
                "Host.Example.",
                "8443",
                "/a/b",
                Some("c=d"),
                Some("e")
            )
        );
        assert_eq!(
            origin("HTTPS://Host.Example.:8443/").unwrap().to_url(),
            "https://host.example:8443"
        );
    }

    #[test]
    fn a_url_inside_a_query_is_no_authority() {
        let url = split("/login?next=https://other.example/");
        assert_eq!((url.host, url.path), ("", "/login"));
    }

    #[test]
    fn addresses_keep_their_ports_apart() {
        assert_eq!(origin("http://[::1]:8080/").unwrap().host, "::1");
        assert_eq!(origin("http://[::1]/").unwrap().to_url(), "http://[::1]");
        assert_eq!(origin("http://h:99999/"), None);
        assert_eq!(origin("http://h:x/"), None);
        assert_eq!(origin("ftp://h/"), None);
    }
}
