//! The component: the world `answers` of `wit/answers` over the library `answers`.
//!
//! `bindings` is generated from the WIT, `convert` turns the library's types into the generated ones and back, and
//! `component` implements the exported functions.

#![cfg(target_family = "wasm")]

mod bindings;
mod component;
mod convert;
