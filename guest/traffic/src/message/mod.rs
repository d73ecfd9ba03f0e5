//! Requests and responses: heads, bodies, parameters, cookies, tokens, differences.

pub mod body;
mod charset;
mod coding;
pub mod head;
pub(crate) mod media;
pub(crate) mod url;

pub use body::{Decoded, decode};
pub use head::{Head, Header};
