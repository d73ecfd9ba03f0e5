//! Jobs from outside: real processes that are really killed, on one store.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

#[path = "jobs/faults.rs"]
mod faults;
#[path = "jobs/store.rs"]
mod store;
#[path = "jobs/storm.rs"]
mod storm;
#[path = "jobs/support.rs"]
mod support;
#[path = "jobs/workers.rs"]
mod workers;
