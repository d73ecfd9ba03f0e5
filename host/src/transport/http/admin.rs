//! The administrative endpoints: health, readiness, metrics and shutdown.

use http::{HeaderValue, Method, Response, StatusCode};

use super::gate::Mode;
use super::reply::{self, Body, full};
use super::state::Http;

/// Marks an instance of this program that another may take the port over from.
pub(super) const MARKER: (&str, &str) = ("x-glovebox", "mcp");

/// Answers a liveness probe.
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

/// Answers a readiness probe: 200, or 503 with the reason.
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

/// Returns the metrics of the transport and of what it serves.
pub async fn metrics(http: &Http, method: &Method) -> Response<Body> {
    if method != Method::GET {
        return reply::method_not_allowed("GET");
    }
    let sessions = http.sessions.count() + http.pairs.count();
    let mut text = http.metrics.text(sessions);
    text.push_str(&http.endpoint.metrics().await);
    full(StatusCode::OK, "text/plain; version=0.0.4", text)
}

/// Begins to stop the server. The reply is sent before the listener closes.
pub fn shutdown(http: &Http, method: &Method) -> Response<Body> {
    if method != Method::POST {
        return reply::method_not_allowed("POST");
    }
    http.stopping.cancel();
    full(StatusCode::OK, "text/plain", "shutting down")
}
