//! The Brave Answers API without its network: what to send, how to read the reply, how to show it.
//!
//! No I/O, no clock and no standard library: what the component does not carry cannot be in it. Nothing here
//! panics on any input, and time is linear in the bytes.

#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod blocking;
mod citations;
mod collect;
#[cfg(feature = "serde")]
mod embedded;
mod envelope;
mod event;
mod failure;
mod fence;
mod float;
mod json;
mod limits;
mod links;
mod outcome;
mod parser;
mod question;
mod render;
mod request;
mod research;
mod seen;
mod sse;
mod tags;
mod template;
mod text;
mod url;
mod usage;
mod warnings;

pub use event::{
    Analyzing, Batch, Citation, Cost, Entity, Event, EventKind, Header, Mode, Progress,
    StreamError, StreamErrorKind, Thinking, Usage, Warning,
};
pub use failure::{Failure, FailureKind, failure};
pub use limits::{
    DEFAULT_LINE_BYTES, DEFAULT_STREAM_BYTES, DEFAULT_TAG_BYTES, DEFAULT_TEXT_BYTES, Limits,
};
pub use outcome::{Finished, Outcome, OutcomeError, Source};
pub use parser::{Parser, infer_mode, parse_all};
pub use question::{HttpRequest, InvalidField, Location, Question};
pub use render::{Format, render};
pub use request::build;
