//! The component: the world `answers` over the library `answers`, and nothing of its own.
//!
//! It speaks the canonical ABI itself ([`abi`]) in place of generated bindings: those spell out every field at every
//! function that carries it and came to a third of the component's size, whereas here each type says once how it
//! is stored and loaded. There is no standard library either, only an allocator ([`bare`]): what would word panics for nobody is
//! left out, and a panic, which no input should bring about, is a trap without a message.
//!
//! `cargo components` encodes the module against the WIT, so a function that does not fit its type is refused
//! there; that fields are in the WIT's order is shown by the golden vectors, which carry every one of them.

#![cfg(target_family = "wasm")]
#![no_std]

extern crate alloc;

mod abi;
mod bare;
mod exports;
mod types;
