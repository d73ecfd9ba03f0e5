//! Who decides whether a request may be sent, and is told what became of it.

use std::future::Future;
use std::pin::Pin;

use http::{HeaderMap, Method, StatusCode};
use tokio::time::Instant;
use url::Url;

/// A wait for leave to send.
pub type Leave<'a> =
    Pin<Box<dyn Future<Output = Result<Box<dyn AdmittedRequest>, String>> + Send + 'a>>;

/// A request as it will be sent, without the key.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The method.
    pub method: &'a Method,
    /// The address, on the one origin.
    pub url: &'a Url,
    /// The headers that the guest chose.
    pub headers: &'a HeaderMap,
    /// The body.
    pub body: &'a [u8],
}

/// Asked before every request: rate and budget are decided here.
pub trait Gate: Send + Sync {
    /// Waits for leave, no longer than to the deadline; an error is a sentence for a person.
    fn admit<'a>(&'a self, asked: Asked<'a>, deadline: Instant) -> Leave<'a>;
}

/// One request that was let through. Dropped without a word, it may have been billed.
pub trait AdmittedRequest: Send {
    /// A reply came with this status and head.
    fn replied(self: Box<Self>, status: StatusCode, headers: &HeaderMap);
    /// Nothing was sent: there was no connection.
    fn unsent(self: Box<Self>);
}
