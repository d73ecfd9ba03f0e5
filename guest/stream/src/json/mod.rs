//! JSON as Python writes it: `NaN` and `Infinity` occur (read as null), strings may hold raw control characters, and a
//! surrogate without its other half becomes U+FFFD.
//!
//! [`scanner`] finds the end of a value byte by byte, [`cursor`] walks over a value without building it, `value` builds
//! it, and [`text`] reads the inside of strings. All accept the same language.

pub mod cursor;
pub mod scanner;
pub mod text;
mod value;

pub use value::{Json, Read};

/// Deepest nesting of JSON that is followed. Replies nest six deep; the bound keeps the recursion of a reader that builds
/// values well inside a sandbox's stack. A multiple of 64.
pub const MAX_DEPTH: u32 = 512;

/// Most values of one JSON text that are built. A `thinking` tag has some 70, all results of a research would have 3,000; a
/// value takes up to 60 bytes of memory for 2 bytes of text.
pub const MAX_VALUES: u32 = 32 * 1024;
