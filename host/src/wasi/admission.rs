//! The decision whether a request of a component may be sent, and the report of what became of it.

use std::future::Future;
use std::pin::Pin;

use http::{HeaderMap, Method, StatusCode};
use tokio::time::Instant;
use url::Url;

/// A request that is waiting to be admitted. Its error is a sentence for a person.
pub type Admitting<'a> =
    Pin<Box<dyn Future<Output = Result<Box<dyn AdmittedRequest>, String>> + Send + 'a>>;

/// A request that is being settled.
pub type Settling<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// A request as it will be sent, without the key.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingRequest<'a> {
    /// The method.
    pub method: &'a Method,
    /// The address, on the one origin.
    pub url: &'a Url,
    /// The headers that the guest chose.
    pub headers: &'a HeaderMap,
    /// The body.
    pub body: &'a [u8],
}

/// Decides before every request whether it may be sent, by the rate and the budget.
pub trait RequestAdmission: Send + Sync {
    /// Waits until the request may be sent, no longer than to the deadline.
    fn admit<'a>(&'a self, request: OutgoingRequest<'a>, deadline: Instant) -> Admitting<'a>;
}

/// One request that was admitted. If it is dropped without a report, it may have been billed.
pub trait AdmittedRequest: Send {
    /// Reports that a reply came with this status and these headers.
    fn replied(self: Box<Self>, status: StatusCode, headers: &HeaderMap) -> Settling<'static>;
    /// Reports that nothing was sent: there was no connection.
    fn unsent(self: Box<Self>) -> Settling<'static>;
}
