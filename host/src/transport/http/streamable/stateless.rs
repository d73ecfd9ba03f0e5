//! Streamable HTTP of 2026-07-28: each request is served by itself, and ends with its connection.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use http::{HeaderMap, Response, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ErrorCode, GetMeta as _, JsonRpcMessage, ProtocolVersion,
    ServerJsonRpcMessage,
};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::super::channel::{Channel, Incoming, Sink};
use super::super::endpoint::Start;
use super::super::events::{self, Style};
use super::super::gate::Principal;
use super::super::limits::ANSWER_AS_JSON;
use super::super::log::{Event, Kind, Log, Next, Reader, Resume};
use super::super::metrics::ToolCall;
use super::super::reply::{self, Body};
use super::super::state::Http;
use super::accept::Accept;
use super::{era, headers};
use crate::rpc::{Connection, Envelope, ErrorReply, Received, encode};

/// Serves what a client of 2026-07-28 posted.
pub async fn post(
    http: &Arc<Http>,
    headers: &HeaderMap,
    principal: &Principal,
    accept: Accept,
    envelope: Envelope,
) -> Response<Body> {
    if envelope.method().is_none() {
        let text = "in 2026-07-28 a client sends no replies";
        let error = ErrorReply::of(serde_json::Value::Null, ErrorCode::INVALID_REQUEST, text);
        return reply::rpc_error(StatusCode::BAD_REQUEST, &error);
    }
    if envelope.id().is_none() {
        // A notification has no effect here: a request is cancelled by closing its stream.
        return reply::empty(StatusCode::ACCEPTED);
    }
    match read(http, headers, envelope) {
        Ok((message, call)) => serve(http, principal, accept, message, call).await,
        Err((status, error)) => reply::rpc_error(status, &error),
    }
}

fn read(
    http: &Http,
    headers: &HeaderMap,
    envelope: Envelope,
) -> Result<(ClientJsonRpcMessage, Option<ToolCall>), (StatusCode, ErrorReply)> {
    let bad = |error| (StatusCode::BAD_REQUEST, error);
    era::check_version(headers, &envelope).map_err(bad)?;
    let tool = envelope
        .param("name")
        .and_then(serde_json::Value::as_str)
        .filter(|_| envelope.method() == Some("tools/call"));
    let schema = tool.and_then(|tool| http.endpoint.input_schema(tool));
    headers::check(headers, &envelope, schema.as_deref()).map_err(|text| {
        let id = envelope.id().map(|id| id.clone().into_json_value());
        bad(ErrorReply::of(
            id.unwrap_or_default(),
            ErrorCode::HEADER_MISMATCH,
            text,
        ))
    })?;
    let call = http.metrics.call(&*http.endpoint, &envelope);
    match Connection::open().admit(envelope) {
        Received::Message(message) => Ok((*message, call)),
        Received::Refused(error) => Err((status(error.code(), false), error)),
        // It is a request, which is never left without an answer.
        Received::Ignored => Err(bad(ErrorReply::of(
            serde_json::Value::Null,
            ErrorCode::INVALID_REQUEST,
            "the request cannot be read",
        ))),
    }
}

/// Returns the status of a reply that is an error. `malformed` says that the request lacks what each must have.
fn status(code: ErrorCode, malformed: bool) -> StatusCode {
    match code {
        ErrorCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
        | ErrorCode::HEADER_MISMATCH
        | ErrorCode::PARSE_ERROR
        | ErrorCode::INVALID_REQUEST => StatusCode::BAD_REQUEST,
        ErrorCode::INVALID_PARAMS if malformed => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// Where the answer to one request goes.
struct Outlet {
    log: Arc<Log>,
    error: OnceLock<ErrorCode>,
    /// The queue's end tells the service that nothing more comes.
    incoming: Mutex<Option<Incoming>>,
    call: Option<ToolCall>,
}

impl fmt::Debug for Outlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outlet").finish_non_exhaustive()
    }
}

impl Outlet {
    fn close(&self) {
        let mut incoming = self.incoming.lock().unwrap_or_else(PoisonError::into_inner);
        *incoming = None;
    }
}

impl Sink for Outlet {
    fn deliver(&self, message: ServerJsonRpcMessage) {
        let kind = match &message {
            JsonRpcMessage::Response(_) => Kind::Answer,
            JsonRpcMessage::Error(error) => {
                let _ = self.error.set(error.error.code);
                Kind::Answer
            }
            JsonRpcMessage::Notification(_) => Kind::Notice,
            // This revision has none.
            JsonRpcMessage::Request(_) => return,
        };
        if kind == Kind::Answer
            && let Some(call) = &self.call
        {
            call.ended(&message);
        }
        self.log.push(kind, encode(&message).into());
        if kind == Kind::Answer {
            self.log.end();
            self.close();
        }
    }
}

async fn serve(
    http: &Arc<Http>,
    principal: &Principal,
    accept: Accept,
    message: ClientJsonRpcMessage,
    call: Option<ToolCall>,
) -> Response<Body> {
    let malformed = match &message {
        JsonRpcMessage::Request(request) => {
            let meta = request.request.get_meta();
            !meta
                .missing_required_keys(&ProtocolVersion::V_2026_07_28)
                .is_empty()
        }
        _ => false,
    };
    let (sender, incoming) = mpsc::channel(1);
    // There is room for one.
    let _ = sender.try_send(Box::new(message));
    let outlet = Arc::new(Outlet {
        log: Arc::new(Log::new(Resume::Cannot)),
        error: OnceLock::new(),
        incoming: Mutex::new(Some(sender)),
        call,
    });
    let stop = CancellationToken::new();
    let leaving = http.leaving.child_token();
    let channel = Channel::new(
        incoming,
        Arc::clone(&outlet) as _,
        principal.caller("http", None),
    );
    let served = http
        .endpoint
        .serve(channel, Start::Direct(None), leaving, stop.clone());
    let (ended, tasks) = (Arc::clone(&outlet), http.sessions.tasks());
    tasks.spawn(async move {
        served.await;
        // Where a service ended without an answer, so does its stream.
        ended.log.end();
    });
    let gone = stop.drop_guard();
    answer(http, accept, &outlet, malformed, gone).await
}

async fn answer(
    http: &Http,
    accept: Accept,
    outlet: &Outlet,
    malformed: bool,
    gone: DropGuard,
) -> Response<Body> {
    let mut reader = outlet.log.attach(None);
    let first = first(&mut reader, accept).await;
    match first {
        First::Answer(event) => {
            gone.disarm();
            let code = outlet.error.get();
            let status = code.map_or(StatusCode::OK, |code| status(*code, malformed));
            reply::full(status, "application/json", event.data)
        }
        First::Stream(event) => {
            let style = Style {
                stream: None,
                primed: false,
                named: false,
                keepalive: http.limits.keepalive,
            };
            events::response(reader, style, event, None, (gone, http.metrics.stream()))
        }
        First::Nothing => {
            let text = "the server stops; send the request again";
            reply::error(StatusCode::SERVICE_UNAVAILABLE, "stopping", text)
        }
    }
}

/// How a reply begins.
#[derive(Debug)]
pub enum First {
    /// With the answer, so that it is all.
    Answer(Event),
    /// As a stream, with something else than the answer or with nothing yet.
    Stream(Option<Event>),
    /// With its end.
    Nothing,
}

/// Waits for what decides how a reply begins.
pub async fn first(reader: &mut Reader, accept: Accept) -> First {
    if !accept.json {
        return First::Stream(None);
    }
    let until = Instant::now() + ANSWER_AS_JSON;
    loop {
        let next = if accept.events {
            match timeout_at(until, reader.next()).await {
                Ok(next) => next,
                Err(_) => return First::Stream(None),
            }
        } else {
            reader.next().await
        };
        match next {
            Next::Event(event) if event.kind == Kind::Answer => return First::Answer(event),
            Next::Event(event) if accept.events => return First::Stream(Some(event)),
            // The client takes one message and no more.
            Next::Event(_) => {}
            Next::End => return First::Nothing,
        }
    }
}
