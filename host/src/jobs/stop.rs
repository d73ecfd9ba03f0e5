//! Whether a call is to stop before its end: because its caller, its process or, through the store, any other process
//! asked for it, or because its time is over.
//!
//! A stop is a level, not an event. One task per call watches everybody who can ask, until one of them does, and what it
//! found stays. So no look-up is abandoned half way, and whoever reads a reply can ask at any moment, from any thread.

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

/// The store is looked at this often even where no change was announced.
const LOOKED_AT: Duration = Duration::from_secs(1);
/// After a look-up that failed, the next one is made after this time.
const LOOKED_AGAIN: Duration = Duration::from_millis(100);

/// Who asked for the stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// A person or a client, here or in another process.
    Cancelled,
    /// The process is ending.
    Stopped,
}

/// The time that a call may take.
#[derive(Clone, Copy, Debug)]
struct CallTime {
    deadline: Instant,
    total: Duration,
}

/// Whether one call is to stop, and why.
pub(super) struct Stop {
    level: Level,
    _watching: AbortOnDropHandle<()>,
}

/// The same for a thread that may block. A clone is cheap.
#[derive(Clone, Debug)]
pub(super) struct Level {
    asked: watch::Receiver<Option<Asked>>,
    time: Option<CallTime>,
}

impl Stop {
    /// Begins to watch. A cancellation that was stored before is found as well.
    pub(super) async fn new(
        storage: Storage,
        id: JobId,
        cancel: CancellationToken,
        stopping: CancellationToken,
    ) -> Result<Self, JobsError> {
        let (notices, listened) = (storage.notices.clone(), id.clone());
        let changes = blocking(move || notices.listen(&listened)).await?;
        let (sender, asked) = watch::channel(None);
        let watching = tokio::spawn(async move {
            let found = tokio::select! {
                () = cancel.cancelled() => Asked::Cancelled,
                () = stopping.cancelled() => Asked::Stopped,
                () = cancelled_in_store(changes, storage, id) => Asked::Cancelled,
            };
            sender.send_replace(Some(found));
            // The value is read for as long as the call runs.
            pending::<()>().await;
        });
        Ok(Self {
            level: Level { asked, time: None },
            _watching: AbortOnDropHandle::new(watching),
        })
    }

    /// From now on the call's time is limited as well.
    pub(super) const fn limit(&mut self, limits: &CallLimits) {
        self.level.time = Some(CallTime {
            deadline: limits.deadline,
            total: limits.total,
        });
    }

    /// What to ask on a thread that may block.
    pub(super) fn level(&self) -> Level {
        self.level.clone()
    }

    /// The future's value, unless the call is to stop first. A stop wins where both are there.
    pub(super) async fn until<T>(&mut self, future: impl Future<Output = T>) -> Result<T, Cause> {
        let future = pin!(future);
        let time = self.level.time;
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
            cause = asked(&mut self.level.asked) => Err(cause),
            cause = over => Err(cause),
            value = future => Ok(value),
        }
    }
}

impl Level {
    /// Why the call is to stop, if it is.
    pub(super) fn now(&self) -> Option<Cause> {
        if let Some(asked) = *self.asked.borrow() {
            return Some(asked.cause());
        }
        let time = self.time.filter(|time| Instant::now() >= time.deadline)?;
        Some(time.over())
    }
}

impl Asked {
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

async fn asked(asked: &mut watch::Receiver<Option<Asked>>) -> Cause {
    let found = match asked.wait_for(Option::is_some).await {
        Ok(found) => *found,
        Err(_) => None,
    };
    match found {
        Some(found) => found.cause(),
        // The watching task is gone; only the call's time can end it now.
        None => pending().await,
    }
}

/// Ends once a cancellation of the job is stored.
async fn cancelled_in_store(mut changes: watch::Receiver<i64>, storage: Storage, id: JobId) {
    loop {
        let (rows, looked_for) = (Arc::clone(&storage.rows), id.clone());
        let found = blocking(move || rows.lookup(&looked_for)).await;
        match found {
            Ok(Lookup::Found(job)) if job.cancel.is_some() => return,
            Ok(_) => {
                // A change that came during the look-up is still unseen here, so it is looked at next.
                let _ = timeout(LOOKED_AT, changes.changed()).await;
            }
            Err(JobsError::Store(error)) => {
                tracing::debug!(%id, %error, "cannot look for a cancellation; trying again");
                sleep(LOOKED_AGAIN).await;
            }
            // The runtime is ending.
            Err(_) => return pending().await,
        }
    }
}
