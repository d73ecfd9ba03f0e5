//! What an operator asks the server: whether it is up, whether it can do its work, what it counted; and to stop.

use http::{HeaderValue, Method, Response, StatusCode};

use super::gate::Mode;
use super::reply::{self, Body, full};
use super::state::Http;

/// Marks a glovebox that another may take the port over from.
const MARKER: (&str, &str) = ("x-glovebox", "mcp");

/// Says that the server is up.
pub fn health(http: &Http, method: &Method) -> Response<Body> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return reply::method_not_allowed("GET");
    }
    let mut response = full(StatusCode::OK, "text/plain", "ok");
    if matches!(http.mode(), Mode::Local { .. }) {
        let (name, value) = MARKER;
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Says whether the server can do its work.
pub async fn ready(http: &Http, method: &Method) -> Response<Body> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return reply::method_not_allowed("GET");
    }
    let reason = if http.stopping.is_cancelled() {
        Some("the server stops".to_owned())
    } else {
        http.endpoint.unready().await
    };
    match reason {
        None => full(StatusCode::OK, "text/plain", "ready"),
        Some(reason) => reply::error(StatusCode::SERVICE_UNAVAILABLE, "not_ready", &reason),
    }
}

/// Returns what was counted.
pub async fn metrics(http: &Http, method: &Method) -> Response<Body> {
    if method != Method::GET {
        return reply::method_not_allowed("GET");
    }
    let sessions = http.sessions.count() + http.pairs.count();
    let mut text = http.metrics.text(sessions);
    text.push_str(&http.endpoint.metrics().await);
    full(StatusCode::OK, "text/plain; version=0.0.4", text)
}

/// Stops the server. The reply is sent before it does.
pub fn shutdown(http: &Http, method: &Method) -> Response<Body> {
    if method != Method::POST {
        return reply::method_not_allowed("POST");
    }
    http.stopping.cancel();
    full(StatusCode::OK, "text/plain", "shutting down")
}
