//! The HTTP+SSE transport of 2024-11-05: a stream at one path, and messages posted to another. A session ends with its
//! stream.

pub mod registry;

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Response, StatusCode, Uri};
use hyper::body::Incoming;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::body;
use super::channel::Channel;
use super::endpoint::Start;
use super::events::{self, Style};
use super::gate::Principal;
use super::limits::INCOMING;
use super::log::Kind;
use super::reply::{self, Body};
use super::state::Http;
use super::token::{random_text, sha256_hex};
use crate::rpc::{Envelope, ErrorReply, Received, encode};
use registry::Pair;

/// The path that messages are posted to.
pub const MESSAGE: &str = "/message";
/// Characters of a digest of a session's id by which it is named in logs.
const SHOWN_CHARACTERS: usize = 16;
/// The name of the session's id in its query.
const SESSION: &str = "sessionId";

/// Ends a session when its stream does.
#[derive(Debug)]
struct Ending {
    http: Arc<Http>,
    id: String,
    _stop: DropGuard,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.http.pairs.lock().remove(&self.id);
    }
}

/// Opens a stream and its session.
pub fn open(http: &Arc<Http>, method: &Method, principal: &Principal) -> Response<Body> {
    if method != Method::GET {
        return reply::method_not_allowed("GET");
    }
    let Ok(id) = random_text() else {
        let text = "the system gives no random bytes for a session's id";
        return reply::error(StatusCode::SERVICE_UNAVAILABLE, "no_random", text);
    };
    let (sender, incoming) = mpsc::channel(INCOMING);
    let pair = Arc::new(Pair::new(principal.clone(), sender));
    {
        let mut pairs = http.pairs.lock();
        if pairs.len() >= http.limits.sessions {
            let text = "all sessions are in use; try again later";
            return reply::error(StatusCode::SERVICE_UNAVAILABLE, "sessions_full", text);
        }
        pairs.insert(id.clone(), Arc::clone(&pair));
    }
    let shown = sha256_hex(&id).chars().take(SHOWN_CHARACTERS).collect();
    let caller = principal.caller("sse", Some(shown));
    let stop = CancellationToken::new();
    let channel = Channel::new(incoming, Arc::clone(&pair) as _, caller);
    let leaving = http.leaving.child_token();
    let served = http
        .endpoint
        .serve(channel, Start::Handshake, leaving, stop.clone());
    let log = Arc::clone(&pair.log);
    http.sessions.tasks().spawn(async move {
        served.await;
        log.end();
    });
    // Relative, because a proxy may have placed the server below another path.
    let endpoint = format!("event: endpoint\ndata: {MESSAGE}?{SESSION}={id}\n\n");
    let ending = Ending {
        http: Arc::clone(http),
        id,
        _stop: stop.drop_guard(),
    };
    let style = Style {
        stream: None,
        primed: false,
        named: true,
        keepalive: http.limits.keepalive,
    };
    let reader = pair.log.attach(None);
    let guard = (ending, http.metrics.stream());
    events::response(reader, style, None, Some(Bytes::from(endpoint)), guard)
}

/// Handles a message that a client posted.
pub async fn post(
    http: &Arc<Http>,
    method: &Method,
    uri: &Uri,
    content: Incoming,
    principal: &Principal,
) -> Response<Body> {
    if method != Method::POST {
        return reply::method_not_allowed("POST");
    }
    let Some(pair) = find(http, uri, principal) else {
        let text = "there is no such session: it ended with its stream; open a new one at /sse";
        return reply::error(StatusCode::NOT_FOUND, "session_not_found", text);
    };
    let content = match body::read(content, &http.limits).await {
        Ok(content) => content,
        Err(refused) => return *refused,
    };
    let envelope = match Envelope::read(&content) {
        Ok(Some(envelope)) => envelope,
        Ok(None) => return reply::no_message(),
        Err(error) => return refused(&pair, &error),
    };
    take(http, &pair, envelope).await
}

async fn take(http: &Http, pair: &Pair, envelope: Envelope) -> Response<Body> {
    let call = http.metrics.call(&*http.endpoint, &envelope);
    match pair.connection.admit(envelope) {
        Received::Message(message) => {
            pair.note(&message, call);
            if pair.incoming.send(message).await.is_err() {
                let text = "the session has ended; open a new one at /sse";
                return reply::error(StatusCode::NOT_FOUND, "session_not_found", text);
            }
        }
        Received::Refused(error) => return refused(pair, &error),
        Received::Ignored => {}
    }
    reply::full(StatusCode::ACCEPTED, "text/plain", "Accepted")
}

/// Sends an error on the stream, where the client waits for its answer. An error without an id is the reply itself.
fn refused(pair: &Pair, error: &ErrorReply) -> Response<Body> {
    if error.id().is_null() {
        return reply::rpc_error(StatusCode::BAD_REQUEST, error);
    }
    pair.log.push(Kind::Answer, encode(error).into());
    reply::full(StatusCode::ACCEPTED, "text/plain", "Accepted")
}

fn find(http: &Http, uri: &Uri, principal: &Principal) -> Option<Arc<Pair>> {
    let pairs = uri.query()?.split('&');
    let mut ids = pairs.filter_map(|pair| pair.strip_prefix(SESSION)?.strip_prefix('='));
    let id = ids.next()?;
    let pair = Arc::clone(http.pairs.lock().get(id)?);
    (pair.principal == *principal).then_some(pair)
}
