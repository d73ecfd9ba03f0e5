//! The limit on how often requests are sent, as the client asks for it.

use std::future::Future;
use std::pin::Pin;

use tokio::time::Instant;

/// The upstream's limit for this API: requests in a sliding second.
pub const REQUESTS: u32 = 2;

/// Why a request may not be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoSlot(
    /// One sentence.
    pub String,
);

/// A wait for a slot.
pub type SlotFuture<'a> = Pin<Box<dyn Future<Output = Result<(), NoSlot>> + Send + 'a>>;

/// Decides when a request may be sent. The request is written at once after `acquire` returned `Ok`, so an implementation
/// may also record there that the call was sent.
pub trait SendLimiter: Send + Sync {
    /// Waits for a slot, first come first served, no longer than to the deadline.
    fn acquire(&self, deadline: Instant) -> SlotFuture<'_>;
}
