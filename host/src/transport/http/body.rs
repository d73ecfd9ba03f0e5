//! Reads the body of a request, within bounds.

use bytes::{Bytes, BytesMut};
use http::{Response, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use tokio::time::{Instant, timeout_at};

use super::limits::Limits;
use super::reply::{self, Body};
use crate::rpc::{ErrorReply, IdScanner};
use rmcp::model::ErrorCode;
use serde_json::Value;

/// Reads a body whole.
///
/// # Errors
/// Returns the reply to give when the body is too long, too slow or incomplete.
pub async fn read(
    mut body: hyper::body::Incoming,
    limits: &Limits,
) -> Result<Bytes, Box<Response<Body>>> {
    let cap = limits.max_body;
    let announced = body.size_hint().lower();
    if announced > cap as u64 {
        return Err(too_long(cap, Value::Null));
    }
    let end = Instant::now() + limits.body_total;
    let mut all = BytesMut::new();
    loop {
        let until = end.min(Instant::now() + limits.body_idle);
        let frame = match timeout_at(until, body.frame()).await {
            Ok(None) => return Ok(all.freeze()),
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(error))) => {
                let text = format!("the body broke off: {error}");
                return Err(refused(StatusCode::BAD_REQUEST, "body_broken", &text));
            }
            Err(_) => {
                let text = "the body did not come in time; send the request again";
                return Err(refused(StatusCode::REQUEST_TIMEOUT, "body_slow", text));
            }
        };
        // Trailers are ignored.
        if let Ok(data) = frame.into_data() {
            if all.len() + data.len() > cap {
                let mut scanner = IdScanner::default();
                scanner.push(&all);
                scanner.push(&data);
                return Err(too_long(cap, scanner.finish()));
            }
            if all.is_empty() && body.is_end_stream() {
                return Ok(data);
            }
            all.extend_from_slice(&data);
        }
    }
}

/// Returns the reply for a body that is too long, with the id of the request where it was among the bytes that were
/// read.
fn too_long(cap: usize, id: Value) -> Box<Response<Body>> {
    let text = format!("a request may have {cap} bytes; --max-body allows more");
    let error = ErrorReply::of(id, ErrorCode::PARSE_ERROR, text);
    Box::new(reply::rpc_error(StatusCode::PAYLOAD_TOO_LARGE, &error))
}

fn refused(status: StatusCode, name: &str, text: &str) -> Box<Response<Body>> {
    Box::new(reply::error(status, name, text))
}
