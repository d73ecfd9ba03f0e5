//! Sends a message once, over whichever transport the server has.

use tokio::sync::oneshot;

use super::failure::Failure;
use super::message::{Kind, Message};
use super::pending::Flight;
use super::probe;
use super::server::{Link, Server};

/// Sends a request once and passes on what comes, until its answer was among it.
///
/// # Errors
/// Why there was no answer.
pub async fn exchange(server: &Server, message: &Message, flight: &Flight) -> Result<(), Failure> {
    match server.link() {
        Link::Undecided => probe::exchange(server, message, flight).await,
        Link::Streamable(streamable) => streamable.exchange(&server.core, message, flight).await,
        Link::Older(older) => older.exchange(&server.core, message, flight).await,
    }
}

/// Sends a message that has no answer, once.
///
/// # Errors
/// Why the server did not take it.
pub async fn tell(server: &Server, message: &Message) -> Result<(), Failure> {
    match server.link() {
        // Nobody is there yet who could have asked or begun anything.
        Link::Undecided => Ok(()),
        Link::Streamable(streamable) => streamable.tell(&server.core, message).await,
        Link::Older(older) => older.tell(&server.core, message).await,
    }
}

/// Sends a request of the bridge itself, once, and returns its answer.
///
/// # Errors
/// Why there was no answer.
pub async fn ask(server: &Server, message: &Message) -> Result<Message, Failure> {
    let Kind::Request(id) = message.kind() else {
        return Err(Failure::NotMcp("only requests are answered".to_owned()));
    };
    let (sender, answer) = oneshot::channel();
    let pending = &server.core.pending;
    let flight = pending
        .start(id, message, Some(sender))
        .map_err(|error| Failure::NotMcp(error.to_string()))?;
    let result = exchange(server, message, &flight).await;
    pending.cancel(id);
    result?;
    answer
        .await
        .map_err(|_| Failure::Broken("its answer was lost".to_owned()))
}

/// Ends the session with the server.
pub async fn close(server: &Server) {
    if let Link::Streamable(streamable) = server.link() {
        streamable.close(&server.core).await;
    }
}
