//! Streamable HTTP, the transport since 2025-03-26, at one path for all its revisions.

mod accept;
mod era;
mod headers;
mod session;
mod stateless;

use std::sync::Arc;

use http::{HeaderMap, Method, Response, StatusCode};
use hyper::body::Incoming;

use super::body;
use super::gate::Principal;
use super::reply::{self, Body};
use super::state::Http;
use crate::rpc::Envelope;
use accept::Accept;
use era::Era;

/// Serves a request to the path.
pub async fn serve(
    http: &Arc<Http>,
    method: &Method,
    headers: &HeaderMap,
    content: Incoming,
    principal: &Principal,
) -> Response<Body> {
    let accept = Accept::of(headers);
    if accept.is_nothing() {
        let text = "the server answers with application/json or text/event-stream";
        return reply::error(StatusCode::NOT_ACCEPTABLE, "not_acceptable", text);
    }
    match *method {
        Method::POST => post(http, headers, content, principal, accept).await,
        Method::GET | Method::DELETE if Era::is_stateless(headers) => {
            reply::method_not_allowed("POST")
        }
        Method::GET => session::get(http, headers, principal, accept).await,
        Method::DELETE => session::delete(http, headers, principal).await,
        _ => reply::method_not_allowed("GET, POST, DELETE"),
    }
}

async fn post(
    http: &Arc<Http>,
    headers: &HeaderMap,
    content: Incoming,
    principal: &Principal,
    accept: Accept,
) -> Response<Body> {
    let content = match body::read(content, &http.limits).await {
        Ok(content) => content,
        Err(refused) => return *refused,
    };
    let envelope = match Envelope::read(&content) {
        Ok(Some(envelope)) => envelope,
        Ok(None) => return reply::no_message(),
        Err(error) => return reply::rpc_error(StatusCode::BAD_REQUEST, &error),
    };
    match Era::of(headers, &envelope) {
        Era::Stateless => stateless::post(http, headers, principal, accept, envelope).await,
        Era::Session => session::post(http, headers, principal, accept, envelope).await,
    }
}
