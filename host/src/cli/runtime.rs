//! What every command that waits needs: the async runtime, the diagnostics, the interrupt.

use std::future::Future;
use std::io;

use tracing_subscriber::EnvFilter;

use super::output::Diagnostics;

/// What is logged where `RUST_LOG` says nothing: results speak for themselves, and stderr belongs to the person.
const DEFAULT_LOG: &str = "error";

/// Sends diagnostics to standard error, as `RUST_LOG` says. Standard output is never logged to.
pub fn start_log() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(DEFAULT_LOG));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        // Colours are sequences too, and a log repeats foreign text: the filter leaves neither.
        .with_writer(Diagnostics::default)
        .with_ansi(false);
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

/// From here on, the signals that end a process are taken and ignored: what is being written now is written to its
/// end, and the process ends right after. Nothing happens outside of the async runtime.
#[cfg(unix)]
pub fn hold_signals() {
    use tokio::signal::unix::{SignalKind, signal};
    for kind in [
        SignalKind::terminate(),
        SignalKind::interrupt(),
        SignalKind::hangup(),
    ] {
        // An error says that the signal goes on to end the process; a temporary file may then be left.
        if let Err(error) = signal(kind) {
            tracing::warn!(%error, "a signal cannot be held");
        }
    }
}

#[cfg(not(unix))]
pub fn hold_signals() {}
