//! The bounds of the sandbox, each with its reason.

use std::path::PathBuf;
use std::time::Duration;

/// Linear memory of one stream. The guest's own text limit (see its `limits`) is far below; this is what
/// stops a component that ignores it, and 500 hostile streams at once stay within address space.
pub const MEMORY_BYTES: usize = 128 << 20;

/// Bytes that one call may hand back. The outcome of a stream at its text limit fits twice; a list that
/// claims more is refused before the host allocates for it.
pub const OUTPUT_BYTES: usize = 64 << 20;

/// CPU of one call. A push of [`CHUNK_BYTES`] takes well under a millisecond, the outcome of a stream at its limits
/// tens of them; the rest is room for a busy machine, since an epoch counts time and not work.
pub const CPU_PER_CALL: Duration = Duration::from_secs(2);

/// Live handles of one stream. The world needs one; more is a leak.
pub const HANDLES: usize = 1024;

/// Bytes given to the guest at a time. Large enough that the crossing costs nothing, small enough that
/// a call is over in well under a millisecond and the async worker it runs on is free again.
pub const CHUNK_BYTES: usize = 64 << 10;

/// Size of a component file that is worth compiling. The built-in one is under 320 KB; compile time grows
/// with size and is bounded by nothing else.
pub const COMPONENT_BYTES: u64 = 8 << 20;

/// Elements of all tables of one stream. A Rust guest has one table of some hundred functions.
pub const TABLE_ELEMENTS: usize = 100_000;

/// Core instances of one stream. A component without imports has one to three.
pub const INSTANCES: usize = 16;

/// Tables, and memories, of one stream.
pub const TABLES: usize = 16;

/// How often the epoch moves while a call runs, and so how exactly CPU is bounded.
pub const TICK: Duration = Duration::from_millis(10);

/// Which component to run and within what bounds.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// The component's file; the embedded one where absent.
    pub component: Option<PathBuf>,
    /// Where compiled code is kept, so that the next start is fast. It is native code, so the folder is
    /// only used when it belongs to this user and nobody else can write to it. Nothing is kept where absent.
    pub cache: Option<PathBuf>,
    /// Linear memory of one stream, in bytes.
    pub memory_bytes: usize,
    /// What one call may hand back, in bytes.
    pub output_bytes: usize,
    /// CPU of one call.
    pub cpu: Duration,
    /// Live handles of one stream.
    pub handles: usize,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            component: None,
            cache: None,
            memory_bytes: MEMORY_BYTES,
            output_bytes: OUTPUT_BYTES,
            cpu: CPU_PER_CALL,
            handles: HANDLES,
        }
    }
}

impl EngineConfig {
    /// The CPU bound in ticks. One more than fits, since the first tick may come at once.
    pub(super) fn ticks(&self) -> u64 {
        let ticks = self.cpu.as_millis().div_ceil(TICK.as_millis());
        u64::try_from(ticks)
            .unwrap_or(u64::MAX / 2)
            .saturating_add(1)
    }

    /// What to call the component in a message.
    pub(super) fn component_name(&self) -> String {
        match &self.component {
            Some(path) => path.display().to_string(),
            None => "the built-in component".to_owned(),
        }
    }
}
