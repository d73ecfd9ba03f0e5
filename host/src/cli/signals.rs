//! The signals that end a process.

/// Waits for a signal to end: SIGTERM, SIGINT, or Ctrl-C where there are no signals. Where they cannot be heard it
/// waits for ever, and they end the process by themselves.
#[cfg(unix)]
pub async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    );
    let (Ok(mut terminate), Ok(mut interrupt)) = signals else {
        tracing::warn!("signals are not heard");
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// Waits for Ctrl-C; for ever where it cannot be heard.
#[cfg(not(unix))]
pub async fn terminated() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

/// Ignores the end of the terminal, which the process is to outlive.
#[cfg(unix)]
pub fn ignore_hangup() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::hangup()) {
        Ok(mut hangup) => {
            tokio::spawn(async move { while hangup.recv().await.is_some() {} });
        }
        Err(error) => tracing::warn!(%error, "the end of the terminal ends this process"),
    }
}

/// Does nothing where there is no such signal.
#[cfg(not(unix))]
pub const fn ignore_hangup() {}
