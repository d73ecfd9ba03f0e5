//! What can go wrong in a run, each in one sentence that says what to do.

use std::time::Duration;

use crate::sandbox::SandboxError;

/// Why a run ended without the guest's own word.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The file is no command that can be run.
    #[error("{0}; wanted is a WASI 0.2 command component (target wasm32-wasip2)")]
    NoCommand(SandboxError),
    /// The HTTP client could not be set up.
    #[error("cannot set up the HTTP client: {0}")]
    Setup(String),
    /// It took too long.
    #[error("the component was stopped: it did not end within {} s; --max-seconds allows more", .limit.as_secs())]
    Total {
        /// The bound.
        limit: Duration,
    },
    /// The sandbox stopped it.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}
