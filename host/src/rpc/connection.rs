//! The JSON-RPC state of one client: its requests in flight, and whether its conversation has begun.

use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, GetMeta as _,
    JsonRpcMessage, ProtocolVersion, RequestId, ServerJsonRpcMessage, ServerNotification,
};

use super::{Envelope, ErrorReply, InFlight};

/// What to do with something that a client sent.
#[derive(Debug)]
pub enum Received {
    /// Hand it to the handler.
    Message(Box<ClientJsonRpcMessage>),
    /// Send this error; the handler does not see the message.
    Refused(ErrorReply),
    /// Do nothing: it is empty, or a notification that cannot be read or comes too early.
    Ignored,
}

/// One client: its requests in flight, and whether its conversation has begun.
#[derive(Debug, Default)]
pub struct Connection {
    in_flight: InFlight,
    open: AtomicBool,
}

impl Connection {
    /// Creates a connection before its first request.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a connection that accepts every message at once: for a restored session, or for a single request.
    #[must_use]
    pub fn open() -> Self {
        Self {
            open: AtomicBool::new(true),
            ..Self::default()
        }
    }

    /// Parses and checks a message, and updates the requests in flight.
    #[must_use]
    pub fn receive(&self, text: &[u8]) -> Received {
        match Envelope::read(text) {
            Ok(Some(envelope)) => self.admit(envelope),
            Ok(None) => Received::Ignored,
            Err(reply) => Received::Refused(reply),
        }
    }

    /// Checks a parsed message, and updates the requests in flight.
    #[must_use]
    pub fn admit(&self, envelope: Envelope) -> Received {
        let message = match envelope.check() {
            Ok(Some(message)) => message,
            Ok(None) => return Received::Ignored,
            Err(reply) => return Received::Refused(reply),
        };
        match &message {
            JsonRpcMessage::Request(request) => {
                let token = request.request.get_meta().get_progress_token();
                if !self.in_flight.start(&request.id, token) {
                    return Received::Refused(id_in_use(&request.id));
                }
                if opens(&request.request) {
                    self.open.store(true, Ordering::Release);
                }
            }
            // The library ends a connection that begins with anything but a request.
            _ if !self.open.load(Ordering::Acquire) => return Received::Ignored,
            JsonRpcMessage::Notification(notification) => {
                self.note_cancellation(&notification.notification);
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Received::Message(Box::new(message))
    }

    fn note_cancellation(&self, notification: &ClientNotification) {
        if let ClientNotification::CancelledNotification(cancelled) = notification
            && let Some(id) = &cancelled.params.request_id
        {
            self.in_flight.end(id);
        }
    }

    /// Returns whether a message may be sent, and takes a request off the list of those in flight by its reply.
    /// Nothing may be sent for a request that was cancelled or answered.
    #[must_use]
    pub fn may_send(&self, message: &ServerJsonRpcMessage) -> bool {
        match message {
            JsonRpcMessage::Response(response) => self.in_flight.end(&response.id),
            JsonRpcMessage::Error(error) => {
                error.id.as_ref().is_none_or(|id| self.in_flight.end(id))
            }
            JsonRpcMessage::Notification(notification) => match &notification.notification {
                ServerNotification::ProgressNotification(progress) => {
                    self.in_flight.may_report(&progress.params.progress_token)
                }
                _ => true,
            },
            JsonRpcMessage::Request(_) => true,
        }
    }
}

fn id_in_use(id: &RequestId) -> ErrorReply {
    ErrorReply::of(
        id.clone().into_json_value(),
        ErrorCode::INVALID_REQUEST,
        "a request with this id is in flight",
    )
}

/// Returns whether a request begins the conversation, as the library sees it.
fn opens(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => {
            let meta = request.get_meta();
            let complete = meta
                .missing_required_keys(&ProtocolVersion::V_2026_07_28)
                .is_empty();
            let served = meta
                .protocol_version()
                .is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version));
            complete && served
        }
    }
}
