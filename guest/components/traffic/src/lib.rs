//! The component: the world `traffic` over the library `traffic`, and nothing of its own.

#![cfg(target_family = "wasm")]

/// The generated bindings. The canonical ABI passes addresses, so they alone need unsafe code.
#[allow(
    unsafe_code,
    missing_docs,
    clippy::all,
    clippy::restriction,
    unused_qualifications
)]
mod bindings {
    wit_bindgen::generate!({
        path: "../../../wit/traffic",
        world: "traffic",
    });
}

mod analysis;
mod connection;
mod convert;
mod intake;
mod message;
mod output;
mod redact;

use bindings::exports::glovebox::traffic as wit;

/// What implements the world.
struct Component;

#[allow(unsafe_code)]
mod export {
    use super::bindings;
    bindings::export!(Component with_types_in bindings);
    use super::Component;
}
