//! Cookies of an exchange.

use serde::Serialize;

use super::{fields, head};
use crate::types::Exchange;

/// A cookie.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cookie {
    /// The name.
    pub name: String,
    /// The value, as written.
    pub value: String,
    /// Whether the response set it; else the request sent it.
    pub set: bool,
    /// The attribute `Domain`, or the host of the exchange.
    pub domain: String,
    /// The attribute `Path`, empty where it is not set.
    pub path: String,
    /// The attribute `Expires`, as written.
    pub expires: String,
    /// The attribute `Max-Age`, as written.
    pub max_age: String,
    /// Whether `Secure` is set.
    pub secure: bool,
    /// Whether `HttpOnly` is set.
    pub http_only: bool,
    /// The attribute `SameSite`, as written.
    pub same_site: String,
}

/// Returns the cookies that the request sent and those that the response set.
#[must_use]
pub fn cookies(exchange: &Exchange) -> Vec<Cookie> {
    let host = exchange
        .origin
        .as_ref()
        .map_or(String::new(), |origin| origin.host.clone());
    let mut found = Vec::new();
    let request = head::request(&exchange.request.bytes);
    for value in request.all("cookie") {
        for pair in fields::cookies(value.as_bytes(), 0) {
            found.push(cookie(value, pair, &[], false, &host));
        }
    }
    if let Some(response) = &exchange.response {
        let head = head::response(&response.bytes);
        for value in head.all("set-cookie") {
            if let Some((pair, rest)) = fields::set_cookie(value.as_bytes(), 0) {
                found.push(cookie(value, pair, &rest, true, &host));
            }
        }
    }
    found
}

fn cookie(text: &str, pair: fields::Pair, rest: &[fields::Pair], set: bool, host: &str) -> Cookie {
    let bytes = text.as_bytes();
    let read = |span: crate::types::Span| String::from_utf8_lossy(span.of(bytes)).into_owned();
    let attribute = |name: &str| -> Option<String> {
        rest.iter()
            .find(|pair| pair.name.of(bytes).eq_ignore_ascii_case(name.as_bytes()))
            .map(|pair| read(pair.value))
    };
    Cookie {
        name: read(pair.name),
        value: read(pair.value),
        set,
        domain: attribute("domain")
            .filter(|domain| !domain.is_empty())
            .unwrap_or_else(|| host.to_owned()),
        path: attribute("path").unwrap_or_default(),
        expires: attribute("expires").unwrap_or_default(),
        max_age: attribute("max-age").unwrap_or_default(),
        secure: attribute("secure").is_some(),
        http_only: attribute("httponly").is_some(),
        same_site: attribute("samesite").unwrap_or_default(),
    }
}
