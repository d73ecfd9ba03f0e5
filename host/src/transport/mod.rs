//! How clients reach the server. Nothing here knows a tool.

pub mod http;
pub mod stdio;
