//! The component: the world `traffic` over the library `traffic`, and nothing of its own.

#![cfg(target_family = "wasm")]

mod analysis;
mod bindings;
mod connection;
mod convert;
mod intake;
mod message;
mod output;
mod redact;

use bindings::exports::glovebox::traffic as wit;

/// What implements the world.
struct Component;
