//! Tests from outside: real processes, real sockets, real kills. A module a subject.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::type_complexity,
    missing_docs
)]

mod architecture;
mod ask;
mod bridge;
mod browser;
mod caps;
mod clients;
mod connect;
mod connect_http;
mod examples;
mod faults;
mod files;
mod help;
mod hostile;
mod http;
mod jobs;
mod keys;
mod layers;
mod mcp;
mod mcp_eras;
mod mcp_jobs;
mod mcp_life;
mod mcp_structured;
mod mcp_trap;
mod messages;
mod network;
mod policy;
mod replay;
mod rpc;
mod run;
mod sandbox;
mod simulator;
mod spend;
mod streams;
mod support;
mod surroundings;
mod terminal;
mod terminal_layout;
mod traffic;
mod traps;
mod upstream;
