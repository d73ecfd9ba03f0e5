//! Why a message was not answered, and what its sender is told.

use std::time::Duration;

use serde_json::{Value, json};

use super::message::{CALL, Message};
use crate::rpc::encode;

/// The code of the bridge's own errors: the first of those that JSON-RPC leaves to implementations.
const CODE: i64 = -32000;

/// Why the server gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// No connection was made, so nothing was sent. Another attempt may succeed.
    #[error("{0}")]
    Unreachable(String),
    /// The server was waited for, and cannot be reached.
    #[error("{0}")]
    Away(String),
    /// No connection was made, and none will be without a change of the configuration.
    #[error("{0}")]
    Misconfigured(String),
    /// The connection ended before the answer.
    #[error("the connection ended before the answer: {0}")]
    Broken(String),
    /// Nothing came for too long.
    #[error("the server sent nothing for {} s", .0.as_secs_f64())]
    Silent(Duration),
    /// The server does not know the session.
    #[error("the server no longer knows the session")]
    SessionLost {
        /// Whether the server was sent the message in that session.
        sent: Sent,
        /// Whether another session is open.
        renewed: bool,
    },
    /// The session was to be opened again, and could not be.
    #[error("the session could not be opened again: {0}")]
    NotRenewed(String),
    /// The server refused the request with a status.
    #[error("{text}")]
    Refused {
        /// The status.
        status: u16,
        /// What it means, and what the server said.
        text: String,
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
    /// The server answered with something else than MCP.
    #[error("{0}")]
    NotMcp(String),
    /// The server moved to another address of the same origin.
    #[error("the server moved the request to another address, which the next request uses")]
    Moved,
    /// The server has the older transport, which was not known when the message was sent.
    #[error(
        "the server does not speak streamable HTTP; the bridge has now opened the older transport"
    )]
    OlderTransport,
    /// The input ended, and what was in flight did not end in time.
    #[error("the input ended, and the answer did not come in time")]
    Ended,
}

/// Whether the server was sent the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It cannot have been.
    No,
    /// It was, and the server said that it did not act on it.
    Refused,
    /// It may have been, and the server may have acted on it.
    Maybe,
}

impl Failure {
    /// Returns whether the server was sent the message.
    #[must_use]
    pub const fn sent(&self) -> Sent {
        match self {
            Self::Unreachable(_) | Self::Away(_) | Self::Misconfigured(_) | Self::NotRenewed(_) => {
                Sent::No
            }
            Self::SessionLost { sent, .. } => *sent,
            Self::Moved | Self::OlderTransport => Sent::Refused,
            // A proxy that gave up waiting may say 408, 502 or 504; the server may still act.
            Self::Refused { status, .. } if (*status < 500 && *status != 408) || *status == 503 => {
                Sent::Refused
            }
            Self::Broken(_)
            | Self::Silent(_)
            | Self::Refused { .. }
            | Self::NotMcp(_)
            | Self::Ended => Sent::Maybe,
        }
    }

    const fn kind(&self) -> &'static str {
        match self {
            Self::Unreachable(_) | Self::Away(_) => "unreachable",
            Self::Misconfigured(_) => "configuration",
            Self::Broken(_) => "connection_ended",
            Self::Silent(_) => "timed_out",
            Self::SessionLost { .. } => "session_lost",
            Self::NotRenewed(_) => "session_not_renewed",
            Self::Refused { .. } => "refused",
            Self::NotMcp(_) => "not_mcp",
            Self::Moved | Self::OlderTransport => "moved",
            Self::Ended => "ended",
        }
    }

    /// Returns the error reply to a request, as a line without its end.
    #[must_use]
    pub fn reply(&self, request: &Message) -> Vec<u8> {
        let (what, sent) = self.outcome(request);
        let mut data = json!({ "source": "glovebox bridge", "kind": self.kind(), "sent": sent });
        if let (Self::Refused { status, .. }, Value::Object(data)) = (self, &mut data) {
            data.insert("status".to_owned(), (*status).into());
        }
        error_reply(request, &format!("glovebox bridge: {self}. {what}"), data)
    }

    /// Returns what became of the request and what to do now, and the same in a word.
    fn outcome(&self, request: &Message) -> (String, &'static str) {
        let method = request.method();
        let (state, next) = (self.state(), self.next_step());
        let join = |text: &str| {
            let parts = [text, state, next];
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            parts.join(" ")
        };
        match (self.sent(), method) {
            (Sent::No, _) => (join(&format!("{method} was not sent.")), "no"),
            (Sent::Refused, CALL) => (
                join("The call was sent once, was refused, and is not sent again by the bridge."),
                "refused",
            ),
            (Sent::Refused, _) => (join(&format!("{method} was refused.")), "refused"),
            (Sent::Maybe, CALL) => (
                join(
                    "The call was sent once and is not sent again by the bridge: whether it took effect is unknown. Find out before calling again.",
                ),
                "unknown",
            ),
            (Sent::Maybe, _) if request.is_repeatable() => (join(""), "unknown"),
            (Sent::Maybe, _) => (
                join(&format!(
                    "{method} was sent once and is not sent again: whether it took effect is unknown."
                )),
                "unknown",
            ),
        }
    }

    /// What is kept.
    const fn state(&self) -> &'static str {
        match self {
            Self::SessionLost { renewed: true, .. } => {
                "A new session is open, with the subscriptions of the old one."
            }
            Self::SessionLost { renewed: false, .. } => {
                "The bridge opens a new session with the next request."
            }
            Self::Broken(_) | Self::Silent(_) => "The bridge goes on.",
            _ => "",
        }
    }

    const fn next_step(&self) -> &'static str {
        match self {
            Self::SessionLost { sent, .. } if !matches!(sent, Sent::Maybe) => {
                "The request can be made again now."
            }
            Self::Moved | Self::OlderTransport => "The request can be made again now.",
            Self::Unreachable(_) | Self::Away(_) => {
                "Start the server or correct the address; then try again."
            }
            Self::NotRenewed(_) => "Try again, or restart the client if this does not end.",
            Self::Silent(_) => "A longer time can be allowed with --timeout.",
            _ => "",
        }
    }
}

/// Returns an error reply of the bridge's own.
#[must_use]
pub fn error_reply(request: &Message, message: &str, data: Value) -> Vec<u8> {
    let id: Value = request
        .raw_id()
        .and_then(|id| serde_json::from_str(id).ok())
        .unwrap_or_default();
    let error = json!({ "code": CODE, "message": message, "data": data });
    let reply = json!({ "jsonrpc": "2.0", "id": id, "error": error });
    let line = encode(&reply);
    // A number that JSON's parser would round goes back as it was written.
    let exact = request.raw_id().and_then(|id| {
        let mut read = Message::read(line.clone().into()).ok()?;
        Some(read.pop()?.with_id(id)?.line())
    });
    exact.unwrap_or(line)
}
