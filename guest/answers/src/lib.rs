//! The Brave Answers API without the network: builds requests, reads replies and renders outcomes.
//!
//! No I/O and no clock. Nothing here panics on any input, and time and memory are linear in the bytes.

mod blocking;
mod citations;
mod cited_text;
mod collect;
mod event;
mod failure;
mod limits;
mod outcome;
mod parser;
mod place_index;
mod question;
mod raw_json;
mod render;
mod request;
mod research;
mod text;
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
pub use request::{MAX_QUERY_BYTES, build};
