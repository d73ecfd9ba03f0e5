//! Why a call is to stop before its end, and hearing of it: from its caller, from this process's end, or from
//! any other process through the store.

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::JobsError;
use super::model::JobId;
use super::opened::Opened;
use super::result::Cause;
use super::store::Lookup;

/// Why somebody wants the call to stop.
pub(super) struct Stop {
    cancel: CancellationToken,
    stopping: CancellationToken,
    changes: watch::Receiver<i64>,
    opened: Opened,
    id: JobId,
}

impl Stop {
    pub(super) async fn new(
        opened: Opened,
        id: JobId,
        cancel: CancellationToken,
        stopping: CancellationToken,
    ) -> Result<Self, JobsError> {
        let (watcher, listened) = (opened.watcher.clone(), id.clone());
        let mut changes = tokio::task::spawn_blocking(move || watcher.listen(&listened))
            .await
            .map_err(|error| JobsError::Defect(error.to_string()))??;
        // A cancellation from before is looked for at once.
        changes.mark_changed();
        Ok(Self {
            cancel,
            stopping,
            changes,
            opened,
            id,
        })
    }

    /// Ends when the call is to stop, and says why.
    async fn asked(&mut self) -> Cause {
        tokio::select! {
            () = self.cancel.cancelled() => Cause::Cancelled,
            () = self.stopping.cancelled() => Cause::Stopped,
            () = cancelled_in_store(&mut self.changes, &self.opened, &self.id) => Cause::Cancelled,
        }
    }
}

async fn cancelled_in_store(changes: &mut watch::Receiver<i64>, opened: &Opened, id: &JobId) {
    loop {
        if changes.changed().await.is_err() {
            return pending().await;
        }
        let (store, id) = (Arc::clone(&opened.store), id.clone());
        let looked = tokio::task::spawn_blocking(move || store.lookup(&id)).await;
        if let Ok(Ok(Lookup::Found(job))) = looked
            && job.cancel.is_some()
        {
            return;
        }
    }
}

/// The future's value, unless the call is to stop first.
pub(super) async fn until<T>(stop: &mut Stop, future: impl Future<Output = T>) -> Result<T, Cause> {
    let future = pin!(future);
    tokio::select! {
        biased;
        value = future => Ok(value),
        cause = stop.asked() => Err(cause),
    }
}
