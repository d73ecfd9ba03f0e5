//! Captured HTTP traffic: what reads, redacts, searches, checks and shows it.
//!
//! Plain Rust without I/O, clock or randomness: keys, times and random bytes are passed in. Every function takes any bytes
//! and never panics; what is wrong with them is part of the result.

mod bytes;
pub mod checks;
pub mod codec;
pub mod h1;
pub mod intake;
pub mod issues;
pub mod limits;
pub mod message;
pub mod redact;
pub mod search;
mod types;
pub mod view;
pub mod websocket;

pub use bytes::to_text;
pub use types::{
    Direction, Exchange, Message, Origin, Part, Provenance, Span, Warning, WebSocketMessage,
};
