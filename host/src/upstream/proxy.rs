//! The proxy that the environment names for calls to the upstream.
//!
//! The HTTP library reads the same variables, but takes one that it cannot parse as absent: the call would go past the
//! proxy without a word.

use std::fmt;

use url::Url;

/// The variables that may name a proxy for https, the first that is set counts.
pub const PROXY_VARIABLES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// The variables that may name a proxy for plain http, the first that is set counts.
pub const PLAIN_PROXY_VARIABLES: [&str; 4] = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/// The variables that name what is reached without a proxy, the first that is set counts.
pub const EXEMPT_VARIABLES: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// A proxy, and what is reached without it.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    url: Url,
    exempt: Option<String>,
}

/// Without the address, which may hold a password.
impl fmt::Debug for Proxy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Proxy").finish_non_exhaustive()
    }
}

/// Why a variable names no proxy. The value is not shown: it may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{variable} (from the environment) {reason}; give an address such as http://proxy.example:3128, or unset it"
)]
pub struct ProxyError {
    variable: String,
    reason: String,
}

impl Proxy {
    /// Reads the proxy for https; `variable` gives one that is set and not empty. White space and quotes around a value
    /// are no part of it.
    ///
    /// # Errors
    /// What is wrong with the variable that counts.
    pub fn read<'a>(
        variable: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Option<Self>, ProxyError> {
        Self::read_from(&PROXY_VARIABLES, variable)
    }

    /// Reads the proxy from the first of these variables that is set, as [`read`](Self::read) does.
    ///
    /// # Errors
    /// What is wrong with the variable that counts.
    pub fn read_from<'a>(
        variables: &[&'static str],
        variable: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Option<Self>, ProxyError> {
        let first = |names: &[&'static str]| {
            names.iter().find_map(|name| {
                let value = trimmed(variable(name)?);
                (!value.is_empty()).then_some((*name, value))
            })
        };
        let Some((name, value)) = first(variables) else {
            return Ok(None);
        };
        let url = parse(value).map_err(|reason| ProxyError {
            variable: name.to_owned(),
            reason,
        })?;
        Ok(Some(Self {
            url,
            exempt: first(&EXEMPT_VARIABLES).map(|(_, value)| value.to_owned()),
        }))
    }

    /// Sends all calls of a client through this proxy.
    ///
    /// # Errors
    /// When the HTTP library does not take the address.
    pub fn apply(
        &self,
        builder: reqwest::ClientBuilder,
    ) -> reqwest::Result<reqwest::ClientBuilder> {
        let exempt = self
            .exempt
            .as_deref()
            .and_then(reqwest::NoProxy::from_string);
        let proxy = reqwest::Proxy::all(self.url.clone())?.no_proxy(exempt);
        Ok(builder.no_proxy().proxy(proxy))
    }
}

/// Returns the value without white space and quotes around it.
fn trimmed(value: &str) -> &str {
    value.trim_matches(|letter: char| letter.is_whitespace() || matches!(letter, '"' | '\''))
}

fn parse(value: &str) -> Result<Url, String> {
    let text = if value.contains("://") {
        value.to_owned()
    } else {
        // As everywhere: an address without a scheme is one of http.
        format!("http://{value}")
    };
    if text.contains(char::is_whitespace) {
        return Err("is no proxy address: there is white space in it".to_owned());
    }
    let url = Url::parse(&text).map_err(|error| format!("is no proxy address ({error})"))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        "http" | "https" => Err("is no proxy address: it names no host".to_owned()),
        scheme => Err(format!(
            "names a proxy of the kind {scheme}, which is not supported"
        )),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &'static str)]) -> Result<Option<String>, String> {
        let value = |name: &str| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1);
        Proxy::read(value)
            .map(|proxy| {
                proxy.map(|proxy| format!("{} {}", proxy.url, proxy.exempt.unwrap_or_default()))
            })
            .map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_trimmed_and_the_first_that_is_set_counts() {
        for (pairs, expected) in [
            (&[][..], None),
            (&[("HTTPS_PROXY", "http://a:1")], Some("http://a:1/ ")),
            (&[("https_proxy", " http://a:1 \t")], Some("http://a:1/ ")),
            (&[("HTTPS_PROXY", "\"http://a:1\"\r")], Some("http://a:1/ ")),
            (&[("ALL_PROXY", "'a:1'")], Some("http://a:1/ ")),
            (
                &[("HTTPS_PROXY", "\"\""), ("all_proxy", "https://u:p@a")],
                Some("https://u:p@a/ "),
            ),
            (
                &[("HTTPS_PROXY", "  "), ("https_proxy", "a")],
                Some("http://a/ "),
            ),
            (
                &[
                    ("HTTPS_PROXY", "a:1"),
                    ("ALL_PROXY", "nonsense:x"),
                    ("no_proxy", " \"b, .c\" "),
                ],
                Some("http://a:1/ b, .c"),
            ),
            (&[("NO_PROXY", "b")], None),
        ] {
            assert_eq!(read(pairs).unwrap().as_deref(), expected, "{pairs:?}");
        }
    }

    #[test]
    fn what_names_no_proxy_is_an_error_that_names_the_variable_alone() {
        for bad in [
            "http://secret:pass word@a:1",
            "http://secret@a:port",
            "http://",
            "://secret",
            "socks5://secret@a:1",
            "ftp://secret@a",
            "secret@a:99999",
            "http://[::secret",
        ] {
            let error = read(&[("https_proxy", bad), ("ALL_PROXY", "a:1")]).unwrap_err();
            assert!(
                error.starts_with("https_proxy (from the environment)"),
                "{error}"
            );
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
