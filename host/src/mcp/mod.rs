//! The MCP server, independent of the transport: tools, tasks, resources and prompts.
//!
//! There is one [`Service`] in a process and one [`Server`] for each connection. Transports serve a [`Guarded`], a
//! [`Server`] that answers requests whose handling panics.

mod admission;
mod agent_text;
mod args;
mod completion;
mod elicitation;
mod families;
mod family;
mod fit;
mod notices;
mod panic_guard;
mod planned_call;
mod prompts;
mod reply;
mod resources;
mod server;
mod service;
mod structured;
mod structured_part;
mod task;
mod tasks;
mod tool;
mod tool_call;
mod tools;

pub use args::{Args, Kind, Param, Presence};
pub use families::FAMILIES;
pub use family::{Families, Family};
pub use panic_guard::Guarded;
pub use reply::{LEAST_OUTPUT_BYTES, OUTPUT_BYTES, Reply, ResultBounds, ToolResult};
pub use server::Server;
pub use service::{Config, KeyState, Runs, Service};
pub use structured::{CLIENTS, Client, Shows, Structured};
pub use tool::{Hints, Run, Spending, Tool};
pub use tool_call::ToolCall;
