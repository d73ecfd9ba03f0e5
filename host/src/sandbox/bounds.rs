//! The bounds of a session, each with its reason.

use std::time::Duration;

/// Linear memory of one session. A component's own limits on text are far below; this stops a component that
/// ignores them, and 500 hostile sessions at once stay within the address space.
const MEMORY_BYTES: usize = 128 << 20;

/// Bytes that one call may hand to the host. The result of a 16 MiB reply fits more than twice; a list that
/// claims more is refused before the host allocates for it.
const OUTPUT_BYTES: usize = 64 << 20;

/// CPU of one call. A call with [`CHUNK_BYTES`] of input takes well under a millisecond, one that hands over
/// the result of a large reply takes tens of them. The rest is room for a busy machine, since an epoch counts
/// time and not work.
const CPU_PER_CALL: Duration = Duration::from_secs(2);

/// Live handles of one session. Parsers need a handful; more is a leak.
const HANDLES: usize = 1024;

/// Size of a component that is compiled. Compile time grows with it and is bounded by nothing else.
const COMPONENT_BYTES: u64 = 8 << 20;

/// Elements of all tables of one session. A component in Rust has one table of some hundred functions.
const TABLE_ELEMENTS: usize = 100_000;

/// Core instances, memories and tables of one session, each. A component that was linked from one module has one
/// to three.
const INSTANCES: usize = 16;

/// Bytes given to a component in one call: large enough that the cost of the call does not matter, small
/// enough that it is over in well under a millisecond and the thread that made it is free again.
pub const CHUNK_BYTES: usize = 64 << 10;

/// How often the epoch moves while a call runs, and so how exactly CPU is bounded.
pub(super) const TICK: Duration = Duration::from_millis(10);

/// What a component and each of its sessions may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Linear memory of one session, over all its memories, in bytes.
    pub memory_bytes: usize,
    /// What one call may hand to the host, in bytes.
    pub output_bytes: usize,
    /// CPU of one call. Time in which an asynchronous call waits is not counted.
    pub cpu: Duration,
    /// Live handles of one session.
    pub handles: usize,
    /// Size of the component, in bytes.
    pub component_bytes: u64,
    /// Elements of all tables of one session.
    pub table_elements: usize,
    /// Core instances of one session; also its memories, and its tables.
    pub instances: usize,
}

impl Default for Bounds {
    /// The bounds of a component that parses or rewrites text.
    fn default() -> Self {
        Self {
            memory_bytes: MEMORY_BYTES,
            output_bytes: OUTPUT_BYTES,
            cpu: CPU_PER_CALL,
            handles: HANDLES,
            component_bytes: COMPONENT_BYTES,
            table_elements: TABLE_ELEMENTS,
            instances: INSTANCES,
        }
    }
}

impl Bounds {
    /// The CPU bound in ticks: one more than fits, since the first tick may come at once.
    pub(super) fn ticks(&self) -> u64 {
        let ticks = self.cpu.as_millis().div_ceil(TICK.as_millis());
        u64::try_from(ticks)
            .unwrap_or(u64::MAX / 2)
            .saturating_add(1)
    }
}
