//! What MCP clients see: tools, tasks, resources, prompts. No transport is known here.
//!
//! [`Service`] is one for a process, [`Server`] one for a connection. [`Guarded`] is what a transport serves: a
//! [`Server`] whose panics become errors.

mod agent_words;
mod args;
mod call;
mod call_of;
mod completion;
mod fit;
mod guard;
mod notices;
mod part;
mod prompts;
mod reply;
mod resources;
mod server;
mod service;
mod structured;
mod table;
mod task;
mod tasks;
mod tools;

pub use guard::Guarded;
pub use reply::{LEAST_OUTPUT_BYTES, OUTPUT_BYTES};
pub use server::Server;
pub use service::{Config, KeyState, Runs, Service};
pub use structured::{CLIENTS, Client, Shows, Structured};
pub use table::{Hints, Policy, TOOLS, Tool};
