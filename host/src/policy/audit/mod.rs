//! The audit log: one JSON line an event, in a chain of hashes that goes on across files and processes.
//!
//! Every line carries the hash of the line before it, an HMAC where a key is given. All processes of a state folder append
//! to one chain, one at a time by a lock. `head.json` names the newest line, so that a log that was cut short is found. No
//! line has the contents of a call: arguments and results are there as HMACs with a key of the folder.

mod chain;
mod coalesce;
mod error;
mod event;
mod files;
mod head;
mod log;
mod query;
mod recorder;
mod tail;
mod verify;
mod writer;

pub use chain::{ChainKey, LineHash};
pub use error::AuditError;
pub use event::{Event, Kind};
pub use files::AuditDir;
pub use log::{AuditConfig, AuditLog, ROTATE_BYTES};
pub use query::{Query, newest};
pub use recorder::{OnFailure, Recorder};
pub use tail::Follow;
pub use verify::{Expected, Fault, Finding, Verified, verify};

/// Returns bytes as hexadecimal text.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}
