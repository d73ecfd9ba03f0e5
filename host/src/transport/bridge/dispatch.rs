//! From the client's lines to what is done with each message.

use std::sync::Arc;

use rmcp::model::ErrorCode;
use serde_json::Value;

use super::limits::{IN_ORDER, MESSAGE};
use super::message::{CANCELLED, INITIALIZE, Kind, Message};
use super::pending::Reply;
use super::requests;
use super::server::{Link, Server};
use crate::rpc::{ErrorReply, encode};
use crate::transport::stdio::Line;

/// Takes a line of the client.
pub async fn take(server: &Arc<Server>, line: Line) {
    let core = &server.core;
    let messages = match line {
        Line::Whole(line) => Message::read(line.into()),
        Line::Oversized { id } => Err(ErrorReply::of(
            id,
            ErrorCode::PARSE_ERROR,
            format!("the line is longer than {MESSAGE} bytes"),
        )),
    };
    match messages {
        Ok(messages) => {
            for message in messages {
                dispatch(server, message).await;
            }
        }
        Err(reply) => core.post(encode(&reply)),
    }
}

async fn dispatch(server: &Arc<Server>, message: Message) {
    let core = &server.core;
    match message.kind().clone() {
        Kind::Request(id) => {
            let flight = match core.pending.start(&id, &message, None) {
                Ok(flight) => flight,
                Err(error) => {
                    let id = message
                        .raw_id()
                        .and_then(|id| serde_json::from_str(id).ok());
                    let id: Value = id.unwrap_or_default();
                    let reply = ErrorReply::of(id, ErrorCode::INVALID_REQUEST, error.to_string());
                    core.post(encode(&reply));
                    return;
                }
            };
            if message.method() == INITIALIZE {
                // Nothing else is sent before there is a session.
                requests::run(server, &message, &flight).await;
                return;
            }
            let server = Arc::clone(server);
            tokio::spawn(async move { requests::run(&server, &message, &flight).await });
        }
        Kind::Notification if message.method() == CANCELLED => {
            let request = message
                .cancelled_id()
                .and_then(|id| core.pending.cancel(&id));
            // Since 2026-07-28 the end of the request's connection says it.
            let stateless = request.is_some_and(|request| request.stateless_version().is_some());
            if !(stateless && matches!(server.link(), Link::Streamable(_))) {
                tell(server, message).await;
            }
        }
        Kind::Notification | Kind::Reply(None) => tell(server, message).await,
        Kind::Reply(Some(id)) => match core.pending.replied(&id, core.session.generation()) {
            Reply::Send(None) => tell(server, message).await,
            Reply::Send(Some(original)) => {
                if let Some(message) = message.with_id(&original) {
                    tell(server, message).await;
                }
            }
            Reply::Stale => {
                core.say("a reply of the client was left out: the session that asked has ended");
            }
        },
    }
}

/// Sends a message that has no answer. The client's next one waits until the server took it, or for a moment.
async fn tell(server: &Arc<Server>, message: Message) {
    let core = &server.core;
    // The semaphore is never closed.
    let Ok(permit) = Arc::clone(&core.telling).acquire_owned().await else {
        return;
    };
    let sending = Arc::clone(server);
    let sent = core.tells.spawn(async move {
        requests::tell(&sending, &message).await;
        drop(permit);
    });
    let _ = tokio::time::timeout(IN_ORDER, sent).await;
}
