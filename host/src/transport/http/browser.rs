//! Response headers for browsers: CORS, and headers that restrict how a reply may be used.

use http::{HeaderMap, HeaderValue, Response, StatusCode, header};

use super::reply::{self, Body};

/// Request headers that a page of an allowed origin may send.
const ALLOWED_HEADERS: &str = "Content-Type, Accept, Authorization, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, Last-Event-ID";
/// Response headers that such a page may read.
const EXPOSED_HEADERS: &str = "Mcp-Session-Id, WWW-Authenticate";

/// Answers a preflight of an allowed origin.
pub fn preflight(origin: HeaderValue, asked: &HeaderMap) -> Response<Body> {
    let mut response = reply::empty(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    share(headers, origin);
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, POST, DELETE"),
    );
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed_headers(asked));
    headers.insert(
        header::ACCESS_CONTROL_MAX_AGE,
        HeaderValue::from_static("3600"),
    );
    if asked.contains_key("access-control-request-private-network") {
        let name = header::HeaderName::from_static("access-control-allow-private-network");
        headers.insert(name, HeaderValue::from_static("true"));
    }
    harden(headers);
    response
}

/// Returns the request headers that a page may send: those of the protocol, and the `Mcp-Param-*` headers it asked for.
fn allowed_headers(asked: &HeaderMap) -> HeaderValue {
    let asked = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS);
    let asked = asked
        .and_then(|asked| asked.to_str().ok())
        .unwrap_or_default();
    let mut allowed = ALLOWED_HEADERS.to_owned();
    for name in asked.split(',').map(str::trim) {
        let lower = name.to_ascii_lowercase();
        let token = lower
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if lower.starts_with("mcp-param-") && token {
            allowed.push_str(", ");
            allowed.push_str(name);
        }
    }
    HeaderValue::from_str(&allowed).unwrap_or_else(|_| HeaderValue::from_static(ALLOWED_HEADERS))
}

/// Adds the headers that let a page of an allowed origin read the reply.
pub fn share(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static(EXPOSED_HEADERS),
    );
}

/// Adds headers that keep browsers from sniffing, framing or executing a reply.
pub fn harden(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "same-origin"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'"),
        (header::VARY, "Origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
