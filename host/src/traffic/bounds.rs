//! The bounds of a session of the traffic component, each with its reason.

use std::time::Duration;

use crate::sandbox::Bounds;

/// Linear memory of one session. The largest exchange has two bodies of 8 MiB and a WebSocket conversation beside them;
/// a HAR entry with that much holds its JSON text, the values read from it and the exchange at the same time.
const MEMORY_BYTES: usize = 256 << 20;

/// Bytes that one call may hand to the host: the largest exchange, with a placeholder in place of every secret and the list
/// of what was replaced.
const OUTPUT_BYTES: usize = 128 << 20;

/// CPU of one call. The longest is the redaction of an exchange with two bodies of 8 MiB of nothing but secrets; the rest
/// is room for a busy machine, since an epoch counts time and not work.
const CPU_PER_CALL: Duration = Duration::from_secs(10);

/// Returns what a session of the traffic component may use.
#[must_use]
pub fn bounds() -> Bounds {
    Bounds {
        memory_bytes: MEMORY_BYTES,
        output_bytes: OUTPUT_BYTES,
        cpu: CPU_PER_CALL,
        ..Bounds::default()
    }
}
