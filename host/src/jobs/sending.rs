//! Sending: the slot, the mark that the request leaves, and what a refusal means.

use std::sync::{Mutex, PoisonError};

use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

use super::model::JobId;
use super::storage::Storage;
use super::store::{Marked, StoreError};
use super::stored_request::guest_headers;
use super::update::{Phase, Update};
use crate::answers::Answers;
use crate::answers::{Failure, FailureKind};
use crate::jobs::ledger::limiter::{SharedLimiter, SlotError};
use crate::upstream::{self, NoSlot, SendLimiter, SlotFuture};

/// The shared limiter, for one call: once it has its slot, the call is marked as sent, and only then it is.
pub(super) struct CallLimiter {
    pub(super) shared: SharedLimiter,
    pub(super) storage: Storage,
    pub(super) id: JobId,
    pub(super) updates: UnboundedSender<Update>,
    /// Whether the call is made though the store fails: nothing hangs on it but what is remembered.
    pub(super) lenient: bool,
    pub(super) not_sent: Mutex<Option<NotSent>>,
}

/// Why the limiter did not let the request leave, where it was not for want of a slot.
#[derive(Debug)]
pub(super) enum NotSent {
    /// The store failed.
    Store(StoreError),
    /// A cancellation is stored.
    Cancelled,
}

impl CallLimiter {
    /// Why nothing was sent, where it was not for want of a slot.
    pub(super) fn not_sent(&self) -> Option<NotSent> {
        self.not_sent
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    async fn slot(&self, deadline: Instant) -> Result<(), NoSlot> {
        match self.shared.wait(&self.id, deadline).await {
            Ok(()) => {}
            Err(SlotError::Store(error)) => self.without_store(error)?,
            Err(error) => return Err(NoSlot(error.to_string())),
        }
        let (storage, id) = (self.storage.clone(), self.id.clone());
        let marked =
            tokio::task::spawn_blocking(move || storage.store.mark_sent(&id, storage.clock.now()))
                .await
                .map_err(|error| NoSlot(error.to_string()))?;
        match marked {
            Ok(Marked::Sent) => {}
            Ok(Marked::Cancelled) => {
                return Err(self.refuse("it was cancelled; nothing was sent", NotSent::Cancelled));
            }
            Ok(Marked::Ended) => {
                return Err(NoSlot("the job has ended; nothing was sent".to_owned()));
            }
            Err(error) => self.without_store(error)?,
        }
        // Nobody has to listen.
        let _ = self.updates.send(Update::Phase(Phase::Sent));
        Ok(())
    }

    fn without_store(&self, error: StoreError) -> Result<(), NoSlot> {
        if self.lenient && !matches!(error, StoreError::Moved { .. }) {
            tracing::warn!(%error, "the call is made without the store");
            return Ok(());
        }
        Err(self.refuse(&format!("nothing was sent: {error}"), NotSent::Store(error)))
    }

    fn refuse(&self, why: &str, not_sent: NotSent) -> NoSlot {
        *self.not_sent.lock().unwrap_or_else(PoisonError::into_inner) = Some(not_sent);
        NoSlot(why.to_owned())
    }
}

impl SendLimiter for CallLimiter {
    fn acquire(&self, deadline: Instant) -> SlotFuture<'_> {
        Box::pin(self.slot(deadline))
    }
}

/// What the component makes of a refusal.
pub(super) fn classify(
    answers: &Answers,
    status: u16,
    headers: &[upstream::Header],
    body: &[u8],
) -> Failure {
    let read = answers.failure(status, &guest_headers(headers), body);
    read.unwrap_or_else(|error| Failure {
        kind: FailureKind::Unexpected,
        status,
        code: None,
        message: format!(
            "the upstream replied with status {status}, and the sandbox could not read why ({error})"
        ),
        detail: None,
        fields: Vec::new(),
        retryable: false,
        retry_after_seconds: None,
        id: None,
    })
}
