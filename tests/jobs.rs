//! Tests of jobs with real processes, which are killed, on one store.

mod concurrent;
mod dead;
mod faults;
mod limiter;
mod moved;
mod stops;
pub mod store;
mod workers;
