//! HTTP/1 on a connection: where messages begin and end, what a proxy must dial, WebSocket frames.

mod framer;
mod target;

pub use framer::{Event, Framed, Framer, FramerLimits, Side, Tunnelled};
pub use target::{Target, target};
