//! The budget and the rate of calls: what was spent, what may still be spent, and when the next request may be sent.

pub mod budget;
pub mod limiter;
pub mod reservation;
