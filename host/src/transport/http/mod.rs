//! MCP over HTTP: streamable HTTP in all protocol versions, and the older HTTP+SSE transport.
//!
//! The [`listener`] accepts connections within [`limits`], and the [`supervisor`] restarts it. Every request passes the
//! [`gate`] first. What is served is an [`Endpoint`]; each session, and each request without a session, has a service of
//! its own.

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
pub mod supervisor;
pub mod takeover;
pub mod tls;
pub mod token;

pub use channel::Channel;
pub use endpoint::{Endpoint, Start, run};
pub use metrics::Metrics;
pub use state::{Config, Http};
