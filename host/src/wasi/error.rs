//! The errors of a run. Each message says what to do.

use std::time::Duration;

use crate::sandbox::SandboxError;

/// The reason why a run ended before the guest exited.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The file is not a command component.
    #[error("{0}; wanted is a WASI 0.2 command component (target wasm32-wasip2)")]
    NoCommand(SandboxError),
    /// The HTTP client could not be created.
    #[error("cannot set up the HTTP client: {0}")]
    Setup(String),
    /// The run exceeded the total time limit.
    #[error("the component was stopped: it did not end within {} s; --max-seconds allows more", .limit.as_secs())]
    Total {
        /// The limit.
        limit: Duration,
    },
    /// The sandbox stopped the guest.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}
