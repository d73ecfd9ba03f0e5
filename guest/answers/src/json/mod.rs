//! JSON as this upstream writes it: Python's, so NaN and Infinity occur (read as null), strings may hold
//! raw control characters, and a lone surrogate becomes U+FFFD.
//!
//! Three readers for three needs: [`scanner`] finds the end of a value byte by byte, [`cursor`] walks
//! over a value without building it, [`value`] builds it. All accept the same language.

pub(crate) mod cursor;
pub(crate) mod raw;
pub(crate) mod scanner;
pub(crate) mod text;
pub(crate) mod value;

pub(crate) use value::{Json, Read};
