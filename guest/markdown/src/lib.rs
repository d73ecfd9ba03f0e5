//! Reads untrusted Markdown: its links, its code fences, its invisible characters, and its blocks as styled spans for a
//! terminal.
//!
//! No I/O. Nothing here panics on any input, and time and memory are linear in the bytes.

pub mod fence;
mod find;
pub mod invisible;
mod links;
mod spans;
pub mod url;

pub use links::links;
pub use spans::{
    Alignment, Block, BlockKind, Code, Heading, Item, MAX_BYTES, Span, Style, Styled, Table, spans,
};
