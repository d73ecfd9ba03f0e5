//! Who decides whether a request may be sent, and is told what became of it.

use std::future::Future;
use std::pin::Pin;

use http::HeaderMap;
use tokio::time::Instant;

/// A wait for leave to send.
pub type Leave<'a> = Pin<Box<dyn Future<Output = Result<Box<dyn Ticket>, String>> + Send + 'a>>;

/// Asked before every request, with its body: rate and budget are decided here.
pub trait Gate: Send + Sync {
    /// Waits for leave, no longer than to the deadline; an error is a sentence for a person.
    fn admit<'a>(&'a self, body: &'a [u8], deadline: Instant) -> Leave<'a>;
}

/// One request that was let through. Dropped without a word, it may have been billed.
pub trait Ticket: Send {
    /// A reply came with this status and head.
    fn replied(self: Box<Self>, status: u16, headers: &HeaderMap);
    /// Nothing was sent: there was no connection.
    fn unsent(self: Box<Self>);
}
