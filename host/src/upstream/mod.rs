//! The one HTTP client: one configured origin, the key added by the host alone, no redirects, and
//! limits on every wait.
//!
//! The contract, for whoever sends a call:
//!
//! - A [`Request`] comes from the component and is not trusted: it cannot choose the origin, and headers
//!   that belong to the host (the key, the length, the connection) are dropped.
//! - [`Client::send`] takes a slot from a [`SendLimiter`] before every attempt, retries only what cannot have
//!   been billed, and keeps one deadline over all of it.
//! - Where the key comes back in a reply, it is taken out before anybody sees it.
//! - A bad status is classified by the caller's function (the component's), so no body is parsed here.
//! - A [`Reply`] is read by a task of its own. A consumer that falls behind never holds up the upstream;
//!   dropping the reply closes the connection at once.

mod body;
mod client;
mod error;
mod error_text;
mod key;
mod key_filter;
mod limits;
mod origin;
mod proxy;
mod reply;
mod send_limiter;
mod spelling;

pub(crate) use body::{Body, BodyError};
pub(crate) use client::accepting;
pub use client::{Client, UpstreamConfig};
pub(crate) use error::{Network, network};
pub use error::{Phase, UpstreamError};
pub use key::{ApiKey, KeyError, SIMULATED_KEY, is_placeholder};
pub use key_filter::KeyFilter;
pub use limits::{CallKind, CallLimits, RetryPolicy, Timeouts};
pub use origin::{DEFAULT_ORIGIN, Origin, OriginError};
pub use proxy::{EXEMPT_VARIABLES, PLAIN_PROXY_VARIABLES, PROXY_VARIABLES, Proxy, ProxyError};
pub use reply::Reply;
pub use send_limiter::{NoSlot, REQUESTS, SendLimiter, SlotFuture};

use crate::answers::Failure;

/// The header that carries the key.
pub const KEY_HEADER: &str = "x-subscription-token";

/// What stands in a reply where the key was.
pub const KEY_TAKEN_OUT: &str = "[key]";

/// A header's name and its value; bytes that are not UTF-8 are replaced.
pub type Header = (String, String);

/// What to send: everything but the origin and the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The method, in upper case.
    pub method: String,
    /// Path and query, with a leading slash.
    pub path: String,
    /// Headers, without host, length and key.
    pub headers: Vec<Header>,
    /// The body.
    pub body: Vec<u8>,
}

/// Classifies an unsuccessful reply: status, headers and the start of the body.
pub type Classify<'a> = dyn Fn(u16, &[Header], &[u8]) -> Failure + Send + Sync + 'a;
