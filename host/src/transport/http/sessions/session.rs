//! One session of a client with a handshake: its running calls, their streams, and the state to restore it from.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetExtensions as _, GetMeta as _,
    InitializeRequestParams, JsonRpcMessage, ProgressToken, ProtocolVersion, RequestId,
    ServerJsonRpcMessage, ServerNotification, ServerResult,
};
use rmcp::service::OriginatingRequestId;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::channel::{Incoming, Sink};
use super::super::event_id::StreamId;
use super::super::gate::Principal;
use super::super::limits::{ANSWERS_KEPT, ANSWERS_KEPT_BYTES, Limits};
use super::super::log::{Kind, Log, Resume};
use super::super::metrics::ToolCall;
use crate::jobs::StoredSession;
use crate::rpc::{Connection, Envelope, Received, encode};

/// A session.
pub struct Session {
    /// A digest of its id.
    pub key: String,
    /// Who may use it.
    pub principal: Principal,
    connection: Connection,
    incoming: Incoming,
    limits: Limits,
    state: Mutex<State>,
    /// Cancelled when the session has ended.
    pub stop: CancellationToken,
}

struct State {
    initialize: Option<Box<InitializeRequestParams>>,
    begun: bool,
    calls: HashMap<RequestId, Call>,
    /// Streams, including ended ones that a client may still resume.
    streams: BTreeMap<StreamId, Stream>,
    /// The stream that belongs to no request, which the client reads with GET.
    common: StreamId,
    next_stream: u64,
    open: usize,
    idle_since: Instant,
    replay: BTreeMap<String, String>,
    changed: bool,
}

struct Call {
    stream: StreamId,
    token: Option<ProgressToken>,
    setup: Option<Setup>,
    tool: Option<ToolCall>,
}

/// A change of the session's state by a request, under a name by which a later request replaces it.
struct Setup {
    name: String,
    request: Option<String>,
}

struct Stream {
    log: Arc<Log>,
    /// Whether its client has received an event id to resume from.
    resumable: bool,
    ended: Option<Instant>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Session")
            .field("calls", &state.calls.len())
            .field("streams", &state.streams.len())
            .finish_non_exhaustive()
    }
}

/// The result of a message that a client posted.
#[derive(Debug)]
pub enum Posted {
    /// A request. Its answer is sent on this stream.
    Call(StreamId, Arc<Log>),
    /// A message that is not answered.
    Accepted,
    /// A message that is answered with an error at once.
    Refused(crate::rpc::ErrorReply),
    /// The session has ended meanwhile.
    Ended,
}

impl Session {
    /// Creates a session. Messages for its service are sent to `incoming`. Its streams are numbered from `first` on.
    pub fn new(
        key: String,
        principal: Principal,
        connection: Connection,
        incoming: Incoming,
        limits: Limits,
        stop: CancellationToken,
        first: u64,
    ) -> Self {
        let number = StreamId::Common(first);
        let common = Stream {
            log: Arc::new(Log::new(Resume::Can)),
            resumable: true,
            ended: None,
        };
        Self {
            key,
            principal,
            connection,
            incoming,
            limits,
            state: Mutex::new(State {
                initialize: None,
                begun: false,
                calls: HashMap::new(),
                streams: BTreeMap::from([(number, common)]),
                common: number,
                next_stream: first + 1,
                open: 0,
                idle_since: Instant::now(),
                replay: BTreeMap::new(),
                changed: false,
            }),
            stop,
        }
    }

    /// Checks a message that a client posted and passes it to the service.
    pub async fn post(&self, envelope: Envelope, tool: Option<ToolCall>) -> Posted {
        let setup = Setup::of(&envelope);
        let message = match self.connection.admit(envelope) {
            Received::Message(message) => message,
            Received::Refused(reply) => return Posted::Refused(reply),
            Received::Ignored => return Posted::Accepted,
        };
        let posted = match &*message {
            JsonRpcMessage::Request(request) => {
                let token = request.request.get_meta().get_progress_token();
                let (stream, log) = self.begin(request.id.clone(), token, setup, tool);
                if let ClientRequest::InitializeRequest(initialize) = &request.request {
                    self.state().initialize = Some(Box::new(initialize.params.clone()));
                }
                Posted::Call(stream, log)
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.finish(id);
                }
                Posted::Accepted
            }
            _ => Posted::Accepted,
        };
        if self.incoming.send(message).await.is_err() {
            return Posted::Ended;
        }
        posted
    }

    /// Registers a call and opens its stream.
    fn begin(
        &self,
        id: RequestId,
        token: Option<ProgressToken>,
        setup: Option<Setup>,
        tool: Option<ToolCall>,
    ) -> (StreamId, Arc<Log>) {
        let mut state = self.state();
        state.prune(Instant::now(), &self.limits);
        let stream = StreamId::Call(state.next_stream);
        state.next_stream += 1;
        let log = Arc::new(Log::new(Resume::Can));
        state.streams.insert(
            stream,
            Stream {
                log: Arc::clone(&log),
                resumable: false,
                ended: None,
            },
        );
        let call = Call {
            stream,
            token,
            setup,
            tool,
        };
        state.calls.insert(id, call);
        (stream, log)
    }

    /// Ends a call without an answer.
    fn finish(&self, id: &RequestId) {
        let mut state = self.state();
        if let Some(call) = state.calls.remove(id) {
            state.end_stream(call.stream);
        }
    }

    /// Returns the stream that belongs to no request.
    #[must_use]
    pub fn common(&self) -> StreamId {
        self.state().common
    }

    /// Returns a stream that a client may read or resume.
    #[must_use]
    pub fn stream(&self, stream: StreamId) -> Option<Arc<Log>> {
        let state = self.state();
        let stream = state.streams.get(&stream)?;
        Some(Arc::clone(&stream.log))
    }

    /// Keeps a stream for resumption, because the client gets an event id of it.
    pub fn keep(&self, stream: StreamId) {
        if let Some(stream) = self.state().streams.get_mut(&stream) {
            stream.resumable = true;
        }
    }

    /// Removes a stream whose answer was sent at once.
    pub fn forget(&self, stream: StreamId) {
        self.state().streams.remove(&stream);
    }

    /// Marks a stream as being read until the returned value is dropped.
    #[must_use]
    pub fn open(self: &Arc<Self>) -> Open {
        self.state().open += 1;
        Open(Arc::clone(self))
    }

    /// Returns since when the session is idle, or `None` if a stream is open or a call is running.
    #[must_use]
    pub fn idle_since(&self) -> Option<Instant> {
        let state = self.state();
        let idle = state.open == 0 && state.calls.is_empty();
        idle.then_some(state.idle_since)
    }

    /// Resets the idle clock.
    pub fn touch(&self) {
        self.state().idle_since = Instant::now();
    }

    /// Removes ended streams that were kept for long enough.
    pub fn prune(&self) {
        self.state().prune(Instant::now(), &self.limits);
    }

    /// Returns the negotiated protocol version, or `None` before the handshake.
    #[must_use]
    pub fn version(&self) -> Option<ProtocolVersion> {
        let state = self.state();
        let initialize = state.initialize.as_ref().filter(|_| state.begun)?;
        Some(initialize.protocol_version.clone())
    }

    /// Returns whether the handshake is complete.
    #[must_use]
    pub fn is_begun(&self) -> bool {
        self.state().begun
    }

    /// Returns the session's state for the store, or `None` if it has not changed since the last time.
    #[must_use]
    pub fn to_store(&self) -> Option<StoredSession> {
        let mut state = self.state();
        if !std::mem::take(&mut state.changed) {
            return None;
        }
        let initialize = serde_json::to_string(state.initialize.as_deref()?).ok()?;
        Some(StoredSession {
            key: self.key.clone(),
            owner: owner(&self.principal),
            initialize,
            replay: state.replay.values().cloned().collect(),
        })
    }

    /// Restores stored state.
    pub fn restore(&self, initialize: InitializeRequestParams, replay: &[String]) {
        let mut state = self.state();
        state.initialize = Some(Box::new(initialize));
        state.begun = true;
        for request in replay {
            let envelope = Envelope::read(request.as_bytes()).ok().flatten();
            if let Some(setup) = envelope.as_ref().and_then(Setup::of) {
                state.replay.insert(setup.name, request.clone());
            }
        }
    }

    /// Passes a message to the service that no client sent. Its answer is dropped.
    pub fn inject(&self, message: ClientJsonRpcMessage) {
        if self.incoming.try_send(Box::new(message)).is_err() {
            tracing::warn!("a restored session is not as it was: its queue is full");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, id: &RequestId, message: &ServerJsonRpcMessage) {
        let mut state = self.state();
        let state = &mut *state;
        let Some(call) = state.calls.remove(id) else {
            return;
        };
        if let Some(tool) = &call.tool {
            tool.ended(message);
        }
        if let JsonRpcMessage::Response(response) = message {
            if let ServerResult::InitializeResult(result) = &response.result {
                let version = result.protocol_version.clone();
                if let Some(initialize) = &mut state.initialize {
                    initialize.protocol_version = version;
                    state.begun = true;
                    state.changed = true;
                }
            }
            if let Some(setup) = call.setup {
                state.set_up(setup);
            }
        }
        state.push(call.stream, Kind::Answer, message);
        state.end_stream(call.stream);
    }
}

impl Sink for Session {
    fn deliver(&self, message: ServerJsonRpcMessage) {
        if !self.connection.may_send(&message) {
            return;
        }
        match &message {
            JsonRpcMessage::Response(response) => self.answer(&response.id, &message),
            JsonRpcMessage::Error(error) => {
                if let Some(id) = &error.id {
                    self.answer(id, &message);
                }
            }
            JsonRpcMessage::Notification(notification) => {
                let mut state = self.state();
                let stream = match &notification.notification {
                    ServerNotification::ProgressNotification(progress) => {
                        state.stream_of(&progress.params.progress_token)
                    }
                    _ => Some(state.common),
                };
                if let Some(stream) = stream {
                    state.push(stream, Kind::Notice, &message);
                }
            }
            JsonRpcMessage::Request(request) => {
                let origin = request.request.extensions().get::<OriginatingRequestId>();
                let mut state = self.state();
                let call = origin.and_then(|origin| state.calls.get(&origin.0));
                let stream = call.map_or(state.common, |call| call.stream);
                state.push(stream, Kind::Request, &message);
            }
        }
    }
}

impl State {
    fn push(&mut self, stream: StreamId, kind: Kind, message: &ServerJsonRpcMessage) {
        if let Some(stream) = self.streams.get(&stream) {
            stream.log.push(kind, encode(message).into());
        }
    }

    fn stream_of(&self, token: &ProgressToken) -> Option<StreamId> {
        let mut calls = self.calls.values();
        let call = calls.find(|call| call.token.as_ref() == Some(token))?;
        Some(call.stream)
    }

    fn end_stream(&mut self, stream: StreamId) {
        let now = Instant::now();
        self.idle_since = now;
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.ended = Some(now);
            stream.log.end();
        }
    }

    fn set_up(&mut self, setup: Setup) {
        self.changed = true;
        match setup.request {
            Some(request) => self.replay.insert(setup.name, request),
            None => self.replay.remove(&setup.name),
        };
    }

    /// Removes ended streams that cannot be resumed, those that were kept for long enough, and the oldest if there are too
    /// many.
    fn prune(&mut self, now: Instant, limits: &Limits) {
        self.streams.retain(|_, stream| match stream.ended {
            None => true,
            Some(ended) => stream.resumable && now.duration_since(ended) < limits.answer_kept,
        });
        let ended = |stream: &Stream| stream.ended.is_some();
        let kept = self.streams.values().filter(|stream| ended(stream));
        let (mut count, mut bytes) = kept.fold((0, 0), |(count, bytes), stream| {
            (count + 1, bytes + stream.log.bytes())
        });
        while count > ANSWERS_KEPT || bytes > ANSWERS_KEPT_BYTES {
            let oldest = self.streams.iter().find(|(_, stream)| ended(stream));
            let Some((number, size)) = oldest.map(|(number, kept)| (*number, kept.log.bytes()))
            else {
                return;
            };
            self.streams.remove(&number);
            count -= 1;
            bytes -= size;
        }
    }
}

impl Setup {
    fn of(envelope: &Envelope) -> Option<Self> {
        envelope.id()?;
        let uri = || Some(envelope.param("uri")?.as_str()?.to_owned());
        let (name, kept) = match envelope.method()? {
            "resources/subscribe" => (format!("subscribe {}", uri()?), true),
            "resources/unsubscribe" => (format!("subscribe {}", uri()?), false),
            "logging/setLevel" => ("level".to_owned(), true),
            _ => return None,
        };
        Some(Self {
            name,
            request: kept.then(|| envelope.to_json()),
        })
    }
}

/// Returns a principal as it is stored.
#[must_use]
pub fn owner(principal: &Principal) -> String {
    match principal {
        Principal::Local => "local".to_owned(),
        Principal::Bearer(digest) => digest.hex(),
    }
}

/// Keeps a stream of the session marked as being read.
#[derive(Debug)]
pub struct Open(Arc<Session>);

impl Drop for Open {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.open -= 1;
        state.idle_since = Instant::now();
    }
}
