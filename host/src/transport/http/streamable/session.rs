//! Streamable HTTP of 2025-03-26 to 2025-11-25: sessions, and streams that a client can resume.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use rmcp::model::{ErrorCode, ProtocolVersion};
use serde_json::Value;

use super::super::event_id::{EventId, StreamId};
use super::super::events::{self, Style};
use super::super::gate::Principal;
use super::super::limits::RETRY_AFTER;
use super::super::log::{Log, Next, Resume};
use super::super::reply::{self, Body};
use super::super::sessions::{NoSession, Posted, Session};
use super::super::state::Http;
use super::accept::Accept;
use super::headers;
use super::stateless::{First, first};
use crate::rpc::{Envelope, ErrorReply};

/// The header with the session's id.
pub const SESSION: &str = "mcp-session-id";
/// The header with the last event that a client saw.
const LAST_EVENT: &str = "last-event-id";
/// The error code that clients know for a session that is not there.
const SESSION_NOT_FOUND: ErrorCode = ErrorCode(-32_001);

/// Serves what a client posted.
pub async fn post(
    http: &Arc<Http>,
    headers: &HeaderMap,
    principal: &Principal,
    accept: Accept,
    envelope: Envelope,
) -> Response<Body> {
    let id = envelope.id().map(|id| id.clone().into_json_value());
    let id = id.unwrap_or_default();
    if envelope.method() == Some("initialize") && envelope.id().is_some() {
        return initialize(http, principal, accept, envelope, id).await;
    }
    let session = match find(http, headers, principal, &id).await {
        Ok(session) => session,
        Err(refused) => return *refused,
    };
    session.touch();
    let call = http.metrics.call(&*http.endpoint, &envelope);
    match session.post(envelope, call).await {
        Posted::Call(stream, log) => {
            let response = answer(http, &session, accept, stream, &log).await;
            http.sessions.save(&session).await;
            response
        }
        Posted::Accepted => reply::empty(StatusCode::ACCEPTED),
        Posted::Refused(error) => refused(&error),
        Posted::Ended => not_found(id),
    }
}

/// Returns the reply for a message that the session did not take. What is a request gets its answer as any other.
fn refused(error: &ErrorReply) -> Response<Body> {
    let status = match error.code() {
        ErrorCode::METHOD_NOT_FOUND | ErrorCode::INVALID_PARAMS => StatusCode::OK,
        _ => StatusCode::BAD_REQUEST,
    };
    reply::rpc_error(status, error)
}

async fn initialize(
    http: &Arc<Http>,
    principal: &Principal,
    accept: Accept,
    envelope: Envelope,
    id: Value,
) -> Response<Body> {
    let (name, session) = match http.sessions.create(principal.clone()) {
        Ok(created) => created,
        Err(error) => return no_place(error, id),
    };
    let (stream, log) = match session.post(envelope, None).await {
        Posted::Call(stream, log) => (stream, log),
        Posted::Refused(error) => {
            http.sessions.abandon(&session);
            return refused(&error);
        }
        Posted::Accepted | Posted::Ended => {
            http.sessions.abandon(&session);
            return not_found(id);
        }
    };
    let mut reader = log.attach(None);
    let Next::Event(event) = reader.next().await else {
        http.sessions.abandon(&session);
        return not_found(id);
    };
    // Stored before the client knows its id: it is then known to whatever serves it next.
    http.sessions.save(&session).await;
    if !session.is_begun() {
        http.sessions.abandon(&session);
        return reply::full(StatusCode::OK, "application/json", event.data);
    }
    let mut response = if accept.json {
        session.forget(stream);
        reply::full(StatusCode::OK, "application/json", event.data)
    } else {
        events::response(
            reader,
            style(http, &session, stream),
            Some(event),
            None,
            session.open(),
        )
    };
    if let Ok(name) = HeaderValue::from_str(&name) {
        response.headers_mut().insert(SESSION, name);
    }
    response
}

async fn answer(
    http: &Http,
    session: &Arc<Session>,
    accept: Accept,
    stream: StreamId,
    log: &Arc<Log>,
) -> Response<Body> {
    let mut reader = log.attach(None);
    let event = match first(&mut reader, accept).await {
        First::Answer(event) => {
            session.forget(stream);
            return reply::full(StatusCode::OK, "application/json", event.data);
        }
        // It was cancelled: then there is no answer.
        First::Nothing => None,
        First::Stream(event) => event,
    };
    session.keep(stream);
    let guard = (session.open(), http.metrics.stream());
    events::response(reader, style(http, session, stream), event, None, guard)
}

fn style(http: &Http, session: &Session, stream: StreamId) -> Style {
    let primed = session
        .version()
        .is_some_and(|version| version >= ProtocolVersion::V_2025_11_25);
    Style {
        stream: Some(stream),
        primed,
        named: false,
        keepalive: http.limits.keepalive,
    }
}

/// Serves a stream that belongs to no request, or one that a client resumes.
pub async fn get(
    http: &Arc<Http>,
    headers: &HeaderMap,
    principal: &Principal,
    accept: Accept,
) -> Response<Body> {
    if !accept.events {
        let text = "this is a stream of events: accept text/event-stream";
        return reply::error(StatusCode::NOT_ACCEPTABLE, "not_acceptable", text);
    }
    let session = match find(http, headers, principal, &Value::Null).await {
        Ok(session) => session,
        Err(refused) => return *refused,
    };
    session.touch();
    let (stream, after) = match last_event(headers) {
        Ok(None) => (session.common(), None),
        // It is of the stream of before a restart: nothing of this one was seen.
        Ok(Some(EventId {
            stream: StreamId::Common(number),
            ..
        })) if StreamId::Common(number) != session.common() => (session.common(), None),
        Ok(Some(event)) => (event.stream, Some(event.seq)),
        Err(text) => return reply::error(StatusCode::BAD_REQUEST, "last_event_id", &text),
    };
    // What is no longer kept is an empty stream: an error would make its client give the session up.
    let log = session.stream(stream).unwrap_or_else(|| {
        let none = Arc::new(Log::new(Resume::Can));
        none.end();
        none
    });
    let reader = log.attach(after);
    let guard = (session.open(), http.metrics.stream());
    events::response(reader, style(http, &session, stream), None, None, guard)
}

/// Ends a session.
pub async fn delete(
    http: &Arc<Http>,
    headers: &HeaderMap,
    principal: &Principal,
) -> Response<Body> {
    match find(http, headers, principal, &Value::Null).await {
        Ok(session) => {
            http.sessions.remove(&session).await;
            reply::empty(StatusCode::NO_CONTENT)
        }
        Err(refused) => *refused,
    }
}

async fn find(
    http: &Http,
    headers: &HeaderMap,
    principal: &Principal,
    id: &Value,
) -> Result<Arc<Session>, Box<Response<Body>>> {
    let name = match headers::one(headers, SESSION) {
        Ok(Some(name)) => name,
        Ok(None) => {
            let text = "the header Mcp-Session-Id is missing: begin with initialize, or with a request of 2026-07-28";
            let error = ErrorReply::of(id.clone(), ErrorCode::INVALID_REQUEST, text);
            return Err(Box::new(reply::rpc_error(StatusCode::BAD_REQUEST, &error)));
        }
        Err(text) => {
            let error = ErrorReply::of(id.clone(), ErrorCode::INVALID_REQUEST, text);
            return Err(Box::new(reply::rpc_error(StatusCode::BAD_REQUEST, &error)));
        }
    };
    let found = http.sessions.find(name, principal).await;
    found.map_err(|error| match error {
        NoSession::Unknown => Box::new(not_found(id.clone())),
        NoSession::Full | NoSession::Random => Box::new(no_place(error, id.clone())),
    })
}

fn not_found(id: Value) -> Response<Body> {
    let text = "there is no such session: it has ended; begin a new one with initialize";
    let error = ErrorReply::of(id, SESSION_NOT_FOUND, text);
    reply::rpc_error(StatusCode::NOT_FOUND, &error)
}

fn no_place(error: NoSession, id: Value) -> Response<Body> {
    let text = match error {
        NoSession::Random => "the system gives no random bytes for a session's id",
        _ => "all sessions are in use; try again later",
    };
    let error = ErrorReply::of(id, ErrorCode::INTERNAL_ERROR, text);
    let mut response = reply::rpc_error(StatusCode::SERVICE_UNAVAILABLE, &error);
    response
        .headers_mut()
        .insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER));
    response
}

/// Returns the last event that a client saw.
fn last_event(headers: &HeaderMap) -> Result<Option<EventId>, String> {
    let text = headers::one(headers, LAST_EVENT)?;
    let parsed = text.map(str::parse::<EventId>).transpose();
    parsed.map_err(|error| error.to_string())
}
