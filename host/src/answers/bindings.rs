//! The typed bindings of the world `answers`, generated from the WIT.
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
    path: "../wit/answers",
    world: "answers",
    additional_derives: [Clone, PartialEq],
});
