//! Glovebox: a sandboxed MCP server.
//!
//! Everything that builds, reads or rewrites what comes from the web is a WebAssembly component without
//! imports. This crate is its host: it owns the network, the key, the disk and the clients, and takes
//! typed values from the component.
//!
//! The direction of knowledge: [`cli`] knows everything below it; nothing below knows `cli`.

pub mod answers;
pub mod cli;
pub mod exit;
pub mod files;
pub mod jobs;
pub mod mcp;
pub mod money;
pub mod rpc;
pub mod sandbox;
pub mod secrets;
pub mod settings;
pub mod simulator;
pub mod traffic;
pub mod transport;
pub mod upstream;
pub mod wasi;
