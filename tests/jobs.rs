//! Jobs from outside: real processes that are really killed, on one store.

mod dead;
mod faults;
mod limiter;
mod moved;
mod stops;
mod store;
mod storm;
mod workers;
