//! Replies without a stream.

use std::convert::Infallible;

use crate::rpc::ErrorReply;
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Empty, Full};
use rmcp::model::ErrorCode;
use serde_json::{Value, json};

/// The body of a reply.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Returns a reply with a body of one piece.
#[must_use]
pub fn full(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Full::new(body.into()).boxed_unsync());
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Returns a reply without a body.
#[must_use]
pub fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Empty::new().boxed_unsync());
    *response.status_mut() = status;
    response
}

/// Returns an error as one line of JSON: a name for programs, and a sentence.
#[must_use]
pub fn error(status: StatusCode, name: &str, text: &str) -> Response<Body> {
    let body = json!({ "error": name, "error_description": text });
    full(status, "application/json", format!("{body}\n"))
}

/// Returns a JSON-RPC error as a reply. Clients of both eras look for one in the body of a 4xx.
#[must_use]
pub fn rpc_error(status: StatusCode, error: &ErrorReply) -> Response<Body> {
    match serde_json::to_vec(error) {
        Ok(body) => full(status, "application/json", body),
        Err(error) => self::error(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            &format!("an error could not be written: {error}"),
        ),
    }
}

/// Returns the reply for a body without a message.
#[must_use]
pub fn no_message() -> Response<Body> {
    let error = ErrorReply::of(Value::Null, ErrorCode::PARSE_ERROR, "the body is empty");
    rpc_error(StatusCode::BAD_REQUEST, &error)
}

/// Returns the reply for a method that a path does not take.
#[must_use]
pub fn method_not_allowed(allow: &'static str) -> Response<Body> {
    let text = format!("this path takes {allow}");
    let mut response = error(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", &text);
    response
        .headers_mut()
        .insert(header::ALLOW, HeaderValue::from_static(allow));
    response
}
