//! What a call may do, and what it may cost, whichever tool makes it.

pub mod budget;
pub mod limiter;
