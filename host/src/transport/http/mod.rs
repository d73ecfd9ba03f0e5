//! MCP over HTTP: the streamable transport of all revisions, and the older one with its two paths.
//!
//! [`listener`] takes connections, within [`limits`]. Every request passes the [`gate`] first. What is served is an
//! [`Endpoint`], of which each session and each request without a session has one service of its own.

mod admin;
mod body;
mod browser;
mod channel;
mod endpoint;
mod event_id;
mod events;
pub mod gate;
pub mod limits;
pub mod listener;
mod log;
mod metrics;
mod reply;
mod rotation;
mod route;
mod sessions;
mod sse;
mod state;
mod streamable;
pub mod token;

pub use channel::Channel;
pub use endpoint::{Endpoint, Start, run};
pub use metrics::Metrics;
pub use state::{Config, Http};
