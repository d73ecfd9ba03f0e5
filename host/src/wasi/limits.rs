//! The limits of a command component, each with its reason.

use std::time::Duration;

use crate::sandbox::Bounds;

/// The most linear memory of all memories, in bytes. A command that streams text needs a few MiB.
pub const MEMORY_BYTES: usize = 256 << 20;
/// The most elements of all tables. A large command has some ten thousand functions.
pub const TABLE_ELEMENTS: usize = 1_000_000;
/// The most CPU time of the guest. Waiting for the network does not count, and parsing a research result of 2 MB takes
/// milliseconds, so a guest that reaches this limit is in an endless loop.
pub const CPU: Duration = Duration::from_secs(10);
/// The default of the total time, including compilation and waiting: the longest research plus a reserve.
pub const TOTAL: Duration = Duration::from_secs(660);
/// The largest total time that can be set: one day. A command that runs longer is a service, and much larger values
/// overflow the clock.
pub const MAX_TOTAL: Duration = Duration::from_secs(24 * 3600);
/// The default number of requests per run. A question needs one request, and each further request costs money.
pub const REQUESTS: u32 = 1;
/// The most bytes of a request body, which is held in memory. No question is this long.
pub const REQUEST_BYTES: usize = 1 << 20;
/// The most bytes of all request bodies that are held at the same time: eight of the largest. A run may open as many
/// requests as `--max-requests` allows, and each body is held until it is sent.
pub const OPEN_REQUEST_BYTES: usize = 8 * REQUEST_BYTES;
/// The most bytes of a decompressed reply. A research result with 100 pages is smaller than 2 MB.
pub const REPLY_BYTES: u64 = 64 << 20;
/// The time limit of a connection with its handshake.
pub const CONNECT: Duration = Duration::from_secs(10);
/// The largest component file, in bytes. The compilation time grows with the size and has no other limit.
pub const COMPONENT_BYTES: u64 = 32 << 20;
/// The most core instances, memories and tables, each. A command consists of its module and adapters, and a composed
/// command of several of these.
pub const INSTANCES: usize = 64;
/// The most live resources, such as streams and headers. More than this is a leak.
pub const RESOURCES: usize = 4096;

/// The limits of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// The limits of the sandbox.
    pub bounds: Bounds,
    /// The total time limit.
    pub total: Duration,
    /// The most requests.
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
