//! What a store holds.

use super::Bounds;
use super::memory_limiter::MemoryLimiter;

/// The data of a store: the limiter of its session, and what the world's imports work on.
#[derive(Debug)]
pub struct Held<T> {
    pub(super) limiter: MemoryLimiter,
    /// What the world's imports work on.
    pub data: T,
}

impl<T> Held<T> {
    pub(super) const fn new(bounds: &Bounds, data: T) -> Self {
        Self {
            limiter: MemoryLimiter::new(bounds),
            data,
        }
    }
}
