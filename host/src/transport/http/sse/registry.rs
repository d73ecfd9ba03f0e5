//! The sessions of the HTTP+SSE transport.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};

use super::super::channel::{Incoming, Sink};
use super::super::gate::Principal;
use super::super::log::{Kind, Log, Resume};
use super::super::metrics::ToolCall;
use crate::rpc::{Connection, encode};

/// The sessions of this transport.
#[derive(Debug, Default)]
pub struct Pairs(Mutex<HashMap<String, Arc<Pair>>>);

impl Pairs {
    /// Returns the number of sessions.
    #[must_use]
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// Ends each session once no request runs in it.
    pub fn drain(&self) {
        for pair in self.lock().values() {
            pair.draining.store(true, Ordering::Release);
            pair.settle();
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Pair>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One session.
pub struct Pair {
    pub(super) principal: Principal,
    pub(super) connection: Connection,
    pub(super) incoming: Incoming,
    pub(super) log: Arc<Log>,
    /// The requests in flight; for tool calls, with what counts them.
    calls: Mutex<HashMap<RequestId, Option<ToolCall>>>,
    draining: AtomicBool,
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pair").finish_non_exhaustive()
    }
}

impl Pair {
    /// Creates a session whose service reads from `incoming`.
    #[must_use]
    pub fn new(principal: Principal, incoming: Incoming) -> Self {
        Self {
            principal,
            connection: Connection::new(),
            incoming,
            log: Arc::new(Log::new(Resume::Cannot)),
            calls: Mutex::default(),
            draining: AtomicBool::new(false),
        }
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<RequestId, Option<ToolCall>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a request, or removes one that was cancelled.
    pub(super) fn note(&self, message: &ClientJsonRpcMessage, call: Option<ToolCall>) {
        match message {
            JsonRpcMessage::Request(request) => {
                self.calls().insert(request.id.clone(), call);
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.calls().remove(id);
                    self.settle();
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }

    /// Ends the stream if the server is stopping and no request runs.
    fn settle(&self) {
        if self.draining.load(Ordering::Acquire) && self.calls().is_empty() {
            self.log.end();
        }
    }
}

impl Sink for Pair {
    fn deliver(&self, message: ServerJsonRpcMessage) {
        if !self.connection.may_send(&message) {
            return;
        }
        let (kind, id) = match &message {
            JsonRpcMessage::Response(response) => (Kind::Answer, Some(&response.id)),
            JsonRpcMessage::Error(error) => (Kind::Answer, error.id.as_ref()),
            JsonRpcMessage::Request(_) => (Kind::Request, None),
            JsonRpcMessage::Notification(_) => (Kind::Notice, None),
        };
        if let Some(Some(call)) = id.and_then(|id| self.calls().remove(id)) {
            call.ended(&message);
        }
        self.log.push(kind, encode(&message).into());
        self.settle();
    }
}
