//! What every command that waits needs: the async runtime, the diagnostics, the interrupt.

use std::future::Future;
use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;

use super::{output, stderr};

/// What is logged where `RUST_LOG` says nothing: results speak for themselves, and stderr belongs to the person.
const DEFAULT_LOG: &str = "error";

/// Sends diagnostics to standard error, as `RUST_LOG` says. Standard output is never logged to.
pub fn start_log() {
    stderr::report_panics();
    let filter = log_filter();
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(stderr::Diagnostics::default)
        .with_ansi(io::stderr().is_terminal() && !no_colour());
    // An error says that a log was started already.
    let _ = log.try_init();
}

/// The filter in `RUST_LOG`. One that cannot be read is said to be so, and is not used.
fn log_filter() -> EnvFilter {
    let read = match std::env::var(EnvFilter::DEFAULT_ENV) {
        Ok(text) if !text.trim().is_empty() => text.parse().map_err(|error| format!("{error}")),
        Err(std::env::VarError::NotUnicode(_)) => Err("it is not UTF-8".to_owned()),
        Ok(_) | Err(std::env::VarError::NotPresent) => Ok(EnvFilter::new(DEFAULT_LOG)),
    };
    read.unwrap_or_else(|error| {
        output::message(&format_args!(
            "glovebox: RUST_LOG is not a filter of diagnostics ({error}); errors alone are shown"
        ));
        EnvFilter::new(DEFAULT_LOG)
    })
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
