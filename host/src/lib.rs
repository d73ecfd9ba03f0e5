//! Glovebox: a sandboxed MCP server.
//!
//! WebAssembly components without imports build, parse and rewrite all untrusted content. This crate is their host. It
//! owns the network, the key, the disk and the clients, and gets typed values from the components.
//!
//! [`cli`] depends on all other modules; no other module depends on [`cli`].

pub mod answers;
pub mod cli;
pub mod exit;
pub mod files;
pub mod jobs;
pub mod mcp;
pub mod money;
pub mod policy;
pub mod rpc;
pub mod sandbox;
pub mod secrets;
pub mod settings;
pub mod simulator;
pub mod traffic;
pub mod transport;
pub mod upstream;
pub mod wasi;
