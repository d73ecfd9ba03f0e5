//! Jobs from outside: real processes that are really killed, on one store.

mod faults;
mod store;
mod storm;
mod workers;
