//! Floats from text and back, to the last digit.
//!
//! The standard library does both, faster and with 30 KB of tables and code, a quarter of what the whole
//! component may weigh. A stream has a dozen floats, so exact arithmetic on big numbers serves as well. The
//! tests hold every result against the standard library's.

mod big;
mod read;
mod write;

pub(crate) use read::read;
pub(crate) use write::write;
