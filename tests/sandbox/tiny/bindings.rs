//! The bindings of the world, generated from its WIT.
#![allow(unsafe_code, unused_qualifications, reason = "generated code")]

wasmtime::component::bindgen!({ path: "../tests/sandbox/tiny.wit", world: "tiny" });
