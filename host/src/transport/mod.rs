//! How clients reach the server. Nothing here knows a tool.

pub mod bridge;
pub mod http;
pub mod stdio;
