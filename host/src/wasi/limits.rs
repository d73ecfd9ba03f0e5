//! What a command component may use, each bound with its reason.

use std::time::Duration;

use crate::sandbox::Bounds;

/// Linear memory, over all of its memories: a command that streams text needs a few MiB.
pub const MEMORY_BYTES: usize = 256 << 20;
/// Elements of all tables: a large command has some ten thousand functions.
pub const TABLE_ELEMENTS: usize = 1_000_000;
/// Time that the guest itself runs. Waiting for the network does not count, parsing a research of 2 MB takes
/// milliseconds, so this is a loop that does not end.
pub const CPU: Duration = Duration::from_secs(10);
/// From start to end, compiling and waiting included: the longest research and some room.
pub const TOTAL: Duration = Duration::from_secs(660);
/// The longest time that can be asked for: a day. A command that runs longer is a service, and far larger numbers
/// have no place on the clock.
pub const TOTAL_MOST: Duration = Duration::from_secs(24 * 3600);
/// Requests of one run. One question is one request; more is more money.
pub const REQUESTS: u32 = 1;
/// Bytes of a request's body, held in memory before it is sent: a question of this length is none.
pub const REQUEST_BYTES: usize = 1 << 20;
/// Bytes of all request bodies of a run that are held at once: eight of the largest. A run may open as many requests as
/// `--max-requests` allows, and their bodies are held until they are sent.
pub const OPEN_REQUEST_BYTES: usize = 8 * REQUEST_BYTES;
/// Bytes of one reply after decompression: a research of 100 pages stays under 2 MB.
pub const REPLY_BYTES: u64 = 64 << 20;
/// A handshake beyond this is a network that does not answer.
pub const CONNECT: Duration = Duration::from_secs(10);
/// Size of a component file that is worth compiling: compile time grows with it and is bounded by nothing else.
pub const COMPONENT_BYTES: u64 = 32 << 20;
/// Core instances, memories and tables, each: a command is linked from its module and the adapters around it, and a
/// composed one from several of these.
pub const INSTANCES: usize = 64;
/// Live resources of one run, such as streams and headers; more is a leak.
pub const RESOURCES: usize = 4096;

/// The bounds of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// What the sandbox bounds.
    pub bounds: Bounds,
    /// From start to end.
    pub total: Duration,
    /// Requests.
    pub requests: u32,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            bounds: Bounds {
                memory_bytes: MEMORY_BYTES,
                cpu: CPU,
                handles: RESOURCES,
                component_bytes: COMPONENT_BYTES,
                table_elements: TABLE_ELEMENTS,
                instances: INSTANCES,
                ..Bounds::default()
            },
            total: TOTAL,
            requests: REQUESTS,
        }
    }
}
