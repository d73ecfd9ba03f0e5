//! Tests from outside: real processes, real sockets, real kills. A module a subject.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

mod ask;
mod browser;
mod clients;
mod connect;
mod faults;
mod homes;
mod http;
mod jobs;
mod keys;
mod layers;
mod mcp;
mod mcp_eras;
mod mcp_jobs;
mod mcp_life;
mod mcp_trap;
mod network;
mod replay;
mod rpc;
mod run;
mod sandbox;
mod simulator;
mod spend;
mod support;
mod upstream;
