//! What can go wrong in a run, each in one sentence that says what to do.

use std::time::Duration;

/// Why a run ended without the guest's own word.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The file cannot be read.
    #[error("cannot read the component {path}: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// The file is no command that can be run.
    #[error(
        "{path} cannot be run: {problem}; wanted is a WASI 0.2 command component (target wasm32-wasip2)"
    )]
    NoCommand {
        /// The file.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The sandbox could not be set up.
    #[error("cannot set up the sandbox: {0}")]
    Setup(String),
    /// It ran too long.
    #[error("the component was stopped: it ran for more than {} s of its own time (waiting not counted)", .limit.as_secs())]
    Cpu {
        /// The bound.
        limit: Duration,
    },
    /// It took too long.
    #[error("the component was stopped: it did not end within {} s; --max-seconds allows more", .limit.as_secs())]
    Total {
        /// The bound.
        limit: Duration,
    },
    /// It wanted too much memory.
    #[error("the component was stopped: it asked for more than {} MiB of memory", .limit >> 20)]
    Memory {
        /// The bound in bytes.
        limit: usize,
    },
    /// It trapped.
    #[error("the component failed: {0}")]
    Trap(String),
}
