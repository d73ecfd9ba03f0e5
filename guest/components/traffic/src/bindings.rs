//! The bindings of the world, generated from the WIT, and its exported functions.
#![allow(
    missing_docs,
    unsafe_code,
    unused_qualifications,
    clippy::all,
    clippy::restriction,
    reason = "generated code; passing values through linear memory takes unsafe code"
)]

wit_bindgen::generate!({
    path: "../../../wit/traffic",
    world: "traffic",
});

export!(Component);

use crate::Component;
