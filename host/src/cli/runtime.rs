//! What every command that waits needs: the async runtime, the diagnostics, the interrupt.

use std::future::Future;
use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;

/// What is logged where `RUST_LOG` says nothing: results speak for themselves, and stderr belongs to the person.
const DEFAULT_LOG: &str = "error";

/// Sends diagnostics to standard error, as `RUST_LOG` says. Standard output is never logged to.
pub fn start_log() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(DEFAULT_LOG));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal() && !no_colour());
    // An error says that a log was started already.
    let _ = log.try_init();
}

/// Whether `NO_COLOR` asks for none.
#[must_use]
pub fn no_colour() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Runs a future to its end.
///
/// # Errors
/// When the system gives no threads.
pub fn block_on<T>(future: impl Future<Output = T>) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(future);
    // A blocking read of standard input may never return; what matters has ended.
    runtime.shutdown_background();
    Ok(result)
}
