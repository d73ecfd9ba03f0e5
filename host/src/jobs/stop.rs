//! Detects that a call must stop: its caller or, through the store, another process cancelled it, its process is
//! ending, or its deadline passed.
//!
//! One task per call waits for all of these. The first request is kept as a value in a watch channel, so it can be read
//! at any time from any thread, and no lookup in the store is abandoned halfway.

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::blocking::blocking;
use super::error::JobsError;
use super::model::JobId;
use super::result::{Cause, upstream_fault};
use super::storage::Storage;
use super::storage::rows::Lookup;
use crate::upstream::{CallLimits, Phase, UpstreamError};

/// How often the store is checked even if no change was reported.
const STORE_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The delay after a lookup that failed.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// The source of a request to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StopRequest {
    /// A person or a client cancelled the job, in this or another process.
    Cancelled,
    /// The process is ending.
    Stopped,
}

/// The deadline of a call.
#[derive(Clone, Copy, Debug)]
struct CallTime {
    deadline: Instant,
    total: Duration,
}

/// Detects that one call must stop.
pub(super) struct Stop {
    check: StopCheck,
    _task: AbortOnDropHandle<()>,
}

/// A cheaply cloned view of [`Stop`] for threads that may block.
#[derive(Clone, Debug)]
pub(super) struct StopCheck {
    request: watch::Receiver<Option<StopRequest>>,
    time: Option<CallTime>,
}

impl Stop {
    /// Starts to watch. A cancellation that is already stored is found as well.
    pub(super) async fn new(
        storage: Storage,
        id: JobId,
        cancel: CancellationToken,
        stopping: CancellationToken,
    ) -> Result<Self, JobsError> {
        let (notices, job) = (storage.notices.clone(), id.clone());
        let changes = blocking(move || notices.listen(&job)).await?;
        let (sender, request) = watch::channel(None);
        let task = tokio::spawn(async move {
            let found = tokio::select! {
                () = cancel.cancelled() => StopRequest::Cancelled,
                () = stopping.cancelled() => StopRequest::Stopped,
                () = cancelled_in_store(changes, storage, id) => StopRequest::Cancelled,
            };
            sender.send_replace(Some(found));
            // Keep the sender alive, so that the value can be read while the call runs.
            pending::<()>().await;
        });
        Ok(Self {
            check: StopCheck {
                request,
                time: None,
            },
            _task: AbortOnDropHandle::new(task),
        })
    }

    /// Adds the deadline of the call.
    pub(super) const fn limit(&mut self, limits: &CallLimits) {
        self.check.time = Some(CallTime {
            deadline: limits.deadline,
            total: limits.total,
        });
    }

    /// Returns a view for a thread that may block.
    pub(super) fn check(&self) -> StopCheck {
        self.check.clone()
    }

    /// Returns the output of a future, or the reason to stop if the call must stop first. If both are ready, the reason
    /// to stop is returned.
    pub(super) async fn until<T>(&mut self, future: impl Future<Output = T>) -> Result<T, Cause> {
        let future = pin!(future);
        let time = self.check.time;
        let over = async move {
            match time {
                Some(time) => {
                    sleep_until(time.deadline).await;
                    time.over()
                }
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            cause = requested(&mut self.check.request) => Err(cause),
            cause = over => Err(cause),
            value = future => Ok(value),
        }
    }
}

impl StopCheck {
    /// Returns the reason to stop, if there is one now.
    pub(super) fn now(&self) -> Option<Cause> {
        if let Some(request) = *self.request.borrow() {
            return Some(request.cause());
        }
        let time = self.time.filter(|time| Instant::now() >= time.deadline)?;
        Some(time.over())
    }
}

impl StopRequest {
    const fn cause(self) -> Cause {
        match self {
            Self::Cancelled => Cause::Cancelled { free: false },
            Self::Stopped => Cause::Stopped,
        }
    }
}

impl CallTime {
    fn over(self) -> Cause {
        upstream_fault(&UpstreamError::TimeOut {
            phase: Phase::Total,
            after: self.total,
        })
    }
}

async fn requested(request: &mut watch::Receiver<Option<StopRequest>>) -> Cause {
    let found = match request.wait_for(Option::is_some).await {
        Ok(found) => *found,
        Err(_) => None,
    };
    match found {
        Some(found) => found.cause(),
        // The task task ended. Only the deadline can stop the call now.
        None => pending().await,
    }
}

/// Completes when a cancellation of the job is stored.
async fn cancelled_in_store(mut changes: watch::Receiver<i64>, storage: Storage, id: JobId) {
    loop {
        let (rows, looked_up) = (Arc::clone(&storage.rows), id.clone());
        let found = blocking(move || rows.lookup(&looked_up)).await;
        match found {
            Ok(Lookup::Found(job)) if job.cancel.is_some() => return,
            Ok(_) => {
                // A change during the lookup is not yet seen, so the loop continues at once.
                let _ = timeout(STORE_CHECK_INTERVAL, changes.changed()).await;
            }
            Err(JobsError::Store(error)) => {
                tracing::debug!(%id, %error, "cannot look for a cancellation; trying again");
                sleep(RETRY_DELAY).await;
            }
            // The runtime is shutting down.
            Err(_) => return pending().await,
        }
    }
}
