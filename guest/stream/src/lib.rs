//! Reads the bytes of a reply: server-sent events, the chunks in them, and the tags in their text.
//!
//! - [`EventReader`] cuts a stream into its events and finds the content in each chunk.
//! - [`TagScanner`] separates the text of the contents from the tags in it.
//! - [`json`] finds where a JSON value ends that arrives in pieces, and unescapes strings.
//!
//! Every byte of a reply passes through here, so this crate is compiled for speed and the crates that interpret what it
//! finds are compiled for size. It keeps only the event and the possible tag whose end has not come.

mod completion;
mod events;
pub mod json;
mod sse;
mod tags;
mod template;

pub use completion::{CompletionChunk, text_at};
pub use events::{Data, Event, EventReader};
pub use sse::TooLong;
pub use tags::{Sink, Tag, TagScanner};
