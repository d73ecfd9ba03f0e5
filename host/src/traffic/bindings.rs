//! The typed bindings of the world `traffic`, generated from the WIT.
#![allow(
    missing_docs,
    unsafe_code,
    unused_qualifications,
    clippy::all,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "generated code"
)]

wasmtime::component::bindgen!({
    path: "../wit/traffic",
    world: "traffic",
    additional_derives: [Clone, PartialEq],
});
