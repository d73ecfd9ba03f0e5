//! The bindings of the world, generated from the WIT, and its exported functions.
#![allow(
    missing_docs,
    unsafe_code,
    unused_qualifications,
    clippy::all,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "generated code; passing values through linear memory takes unsafe code"
)]

wit_bindgen::generate!({
    path: "../../../wit/answers",
    world: "answers",
});

export!(Component);

use crate::component::Component;
