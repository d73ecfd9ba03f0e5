//! Requests and responses: heads, bodies, parameters, cookies, tokens, differences.

pub mod body;
mod charset;
mod coding;
pub mod cookies;
pub mod diff;
pub mod endpoints;
pub(crate) mod fields;
pub mod head;
pub(crate) mod json;
pub mod jwt;
pub(crate) mod media;
pub mod parameters;
pub(crate) mod url;

pub(crate) use body::coding_of;
pub use body::{Decoded, decode};
pub(crate) use coding::chunk_size;
pub use head::{Head, Header};
