//! `glovebox serve` and its transport from outside: real sockets, on the loopback.
//!
//! What needs tools that wait, flood or ask runs against [`fixture`]: other tools, over the same transport and gate,
//! in this process.

pub mod client;
mod conformance;
mod external;
mod fixture;
mod gate;
mod legacy;
mod limits;
mod metrics;
mod pair;
pub mod program;
mod stateless;
mod supervisor;
mod takeover;
