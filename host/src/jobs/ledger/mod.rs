//! The budget, reservations and rate limit of calls.

pub mod budget;
pub mod limiter;
pub mod reservation;
