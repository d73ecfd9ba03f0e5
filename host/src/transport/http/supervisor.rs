//! Watches the listener and restarts it when it dies or hangs.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep};

use super::listener::Listener;
use super::state::Http;
use super::takeover::BindError;

/// How the listener is watched.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// The interval of health checks.
    pub check_every: Duration,
    /// Failed checks in a row after which it counts as hanging. One may be due to a machine that was asleep or very busy.
    pub failed_checks: usize,
    /// The pause before a restart, in case the cause is temporary.
    pub restart_after: Duration,
    /// Restarts in a row.
    pub restarts: usize,
    /// After this long without a failure, restarts are counted from zero again.
    pub healthy_after: Duration,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            check_every: Duration::from_secs(10),
            failed_checks: 2,
            restart_after: Duration::from_secs(2),
            restarts: 4,
            healthy_after: Duration::from_secs(60),
        }
    }
}

/// How the supervisor opens and checks the sockets of the listener.
pub trait Sockets: Send + Sync {
    /// Binds the address again. The earlier sockets are closed.
    fn bind(&self) -> BoxFuture<'_, Result<Vec<TcpListener>, BindError>>;

    /// Checks that the listener answers. Must return within a bounded time, with the reason if it does not answer.
    fn check(&self) -> BoxFuture<'_, Result<(), String>>;
}

/// Why the listener was given up.
#[derive(Debug, Error)]
pub enum SupervisorError {
    /// It failed again after the last restart.
    #[error("the listener failed {0} times in a row and was not started again; the last time: {1}")]
    TooOften(usize, String),
    /// Its address is held by another process now.
    #[error("the listener failed and cannot be started again: {0}")]
    Bind(#[from] BindError),
}

/// Serves connections until the server is asked to stop or the listener has failed too often. Then lets running requests
/// finish within the limit for that. Sessions stay in the store.
///
/// # Errors
/// Why the listener was given up.
pub async fn supervise(
    http: Arc<Http>,
    sockets: Vec<TcpListener>,
    watched: &dyn Sockets,
    watch: Watch,
) -> Result<(), SupervisorError> {
    let mut listener = Listener::new(Arc::clone(&http));
    listener.listen(sockets);
    let stopping = http.stopping();
    let watching = keep_alive(&mut listener, watched, watch);
    let ended = stopping.run_until_cancelled(watching).await;
    // Without a stop, watching only ends when the listener is given up.
    let ended = ended.map_or(Ok(()), Err);
    http.stopping().cancel();
    listener.drain().await;
    ended
}

/// Restarts the listener when it fails. Returns why it was given up.
async fn keep_alive(
    listener: &mut Listener,
    watched: &dyn Sockets,
    watch: Watch,
) -> SupervisorError {
    let mut restarts = 0;
    loop {
        let began = Instant::now();
        let reason = failure(listener, watched, watch).await;
        if began.elapsed() >= watch.healthy_after {
            restarts = 0;
        }
        listener.close().await;
        if restarts >= watch.restarts {
            return SupervisorError::TooOften(restarts + 1, reason);
        }
        restarts += 1;
        tracing::error!(reason, restarts, "the listener failed and is started again");
        sleep(watch.restart_after).await;
        match watched.bind().await {
            Ok(sockets) => listener.listen(sockets),
            Err(error) => return error.into(),
        }
    }
}

/// Waits until the listener ends or no longer answers. Returns what happened.
async fn failure(listener: &mut Listener, watched: &dyn Sockets, watch: Watch) -> String {
    let checks = async {
        let mut failed = 0;
        loop {
            sleep(watch.check_every).await;
            match watched.check().await {
                Ok(()) => failed = 0,
                Err(reason) => {
                    failed += 1;
                    tracing::warn!(reason, failed, "the listener did not answer a check");
                    if failed >= watch.failed_checks {
                        return reason;
                    }
                }
            }
        }
    };
    tokio::select! {
        reason = listener.ended() => reason,
        reason = checks => reason,
    }
}
