//! Decides whether a request of a component may be sent, and records its result.

use std::future::Future;
use std::pin::Pin;

use http::{HeaderMap, Method, StatusCode};
use tokio::time::Instant;
use url::Url;

/// The future of [`RequestAdmission::admit`]. Its error is a sentence for users.
pub type AdmitFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Box<dyn AdmittedRequest>, String>> + Send + 'a>>;

/// The future that settles an admitted request.
pub type SettleFuture<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// A request as it will be sent, without the key.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingRequest<'a> {
    /// The method.
    pub method: &'a Method,
    /// The URL, which has the allowed origin.
    pub url: &'a Url,
    /// The headers that the guest set.
    pub headers: &'a HeaderMap,
    /// The body.
    pub body: &'a [u8],
}

/// Decides by rate and budget whether a request may be sent.
pub trait RequestAdmission: Send + Sync {
    /// Waits until the request may be sent, at most until the deadline.
    fn admit<'a>(&'a self, request: OutgoingRequest<'a>, deadline: Instant) -> AdmitFuture<'a>;
}

/// A request that was admitted. If it is dropped without a report, it may have been billed.
pub trait AdmittedRequest: Send {
    /// Reports the status and headers of the reply.
    fn replied(self: Box<Self>, status: StatusCode, headers: &HeaderMap) -> SettleFuture<'static>;
    /// Reports that the request was not sent because no connection could be made.
    fn unsent(self: Box<Self>) -> SettleFuture<'static>;
}
