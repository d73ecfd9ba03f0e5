//! From a request to its reply: the gate, then the path.

use std::sync::Arc;

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;

use super::gate::{self, Decision, Denial, Facts, HEALTH, Principal, READY, Reason, SHUTDOWN};
use super::reply::{self, Body};
use super::state::Http;
use super::{admin, browser, rotation, sse, streamable};

/// The path that shows what was counted.
const METRICS: &str = "/__mcp/metrics";

/// Serves a request.
pub async fn serve(http: Arc<Http>, request: Request<Incoming>) -> Response<Body> {
    let (head, content) = request.into_parts();
    let facts = Facts::of(&head.method, &head.uri, &head.headers);
    let (principal, origin) = match gate::decide(&facts, &http.rules(facts.path)) {
        Decision::Allow { principal, origin } => (principal, origin),
        Decision::Preflight(origin) => return browser::preflight(origin, &head.headers),
        Decision::Deny(denial) => {
            http.metrics.denial(denial.reason);
            http.endpoint.gate_denied(denial.reason.name());
            let mut response = denial.response();
            browser::harden(response.headers_mut());
            return response;
        }
    };
    let (name, mut response) = match http.valid(&principal) {
        None => route(&http, &head, content, &principal).await,
        Some(valid) => {
            let routed = route(&http, &head, content, &principal);
            let Some((name, response)) = valid.run_until_cancelled(routed).await else {
                let denial = Denial::of(Reason::WrongToken);
                http.metrics.denial(denial.reason);
                return denial.response();
            };
            (name, rotation::until_invalid(response, valid.clone()))
        }
    };
    http.metrics.request(name, response.status());
    if let Some(origin) = origin {
        browser::share(response.headers_mut(), origin);
    }
    browser::harden(response.headers_mut());
    response
}

async fn route(
    http: &Arc<Http>,
    head: &http::request::Parts,
    content: Incoming,
    principal: &Principal,
) -> (&'static str, Response<Body>) {
    let (method, headers) = (&head.method, &head.headers);
    match head.uri.path() {
        "/mcp" | "/mcp/" => {
            let served = streamable::serve(http, method, headers, content, principal);
            ("/mcp", served.await)
        }
        "/sse" | "/sse/" => ("/sse", sse::open(http, method, principal)),
        sse::MESSAGE => {
            let served = sse::post(http, method, &head.uri, content, principal);
            (sse::MESSAGE, served.await)
        }
        HEALTH => (HEALTH, admin::health(http, method)),
        READY => (READY, admin::ready(http, method).await),
        METRICS => (METRICS, admin::metrics(http, method).await),
        SHUTDOWN => (SHUTDOWN, admin::shutdown(http, method)),
        path if gate::is_oauth_probe(path) => ("oauth", no_oauth()),
        _ => {
            let text = "there is nothing here; MCP is at /mcp, and at /sse for older clients";
            let response = reply::error(StatusCode::NOT_FOUND, "not_found", text);
            ("other", response)
        }
    }
}

/// Tells a client that looks for an OAuth server that there is none, in the form it can read.
fn no_oauth() -> Response<Body> {
    let text = "this server has no OAuth; where it needs a token, that is a fixed one in the header Authorization: Bearer TOKEN";
    reply::error(StatusCode::NOT_FOUND, "not_found", text)
}
