//! Requests and responses: heads, bodies, parameters, cookies, tokens, differences.

pub mod body;
mod charset;
mod coding;
pub(crate) mod fields;
pub mod head;
pub(crate) mod json;
pub mod jwt;
pub(crate) mod media;
pub(crate) mod url;

pub use body::{Decoded, decode};
pub use head::{Head, Header};
