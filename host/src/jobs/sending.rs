//! The admission of each attempt to send a request, and the classification of a refusal.

use std::sync::{Mutex, PoisonError};

use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

use super::ledger::limiter::{Limiter, LimiterError};
use super::model::JobId;
use super::stored_request::guest_headers;
use super::update::{CallPhase, Update};
use crate::answers::Answers;
use crate::answers::{Failure, FailureKind};
use crate::upstream::{self, NoSlot, SendLimiter, SlotFuture};

/// Admits the attempts of one call for the upstream client. It waits for a slot, marks the call as sent, and then
/// allows the request.
pub(super) struct CallAdmission {
    pub(super) limiter: Limiter,
    pub(super) id: JobId,
    pub(super) updates: UnboundedSender<Update>,
    /// Whether the call is made even if the store fails. This is the case if no budget depends on the store.
    pub(super) lenient: bool,
    pub(super) not_sent: Mutex<Option<LimiterError>>,
}

impl CallAdmission {
    /// Returns the reason why nothing was sent, if it was a cancellation or an error of the store.
    pub(super) fn not_sent(&self) -> Option<LimiterError> {
        self.not_sent
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    async fn admit(&self, deadline: Instant) -> Result<(), NoSlot> {
        self.check(self.limiter.wait(&self.id, deadline).await)?;
        self.check(self.limiter.mark_sent(&self.id).await)?;
        // The receiver may be closed.
        let _ = self.updates.send(Update::Phase(CallPhase::Sent));
        Ok(())
    }

    fn check(&self, admitted: Result<(), LimiterError>) -> Result<(), NoSlot> {
        match admitted {
            Ok(()) => Ok(()),
            Err(LimiterError::Store(error)) if self.lenient && !error.is_moved() => {
                tracing::warn!(%error, "the call is made without the store");
                Ok(())
            }
            Err(error) => {
                let refused = NoSlot(error.to_string());
                if matches!(error, LimiterError::Store(_) | LimiterError::Cancelled) {
                    *self.not_sent.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
                Err(refused)
            }
        }
    }
}

impl SendLimiter for CallAdmission {
    fn acquire(&self, deadline: Instant) -> SlotFuture<'_> {
        Box::pin(self.admit(deadline))
    }
}

/// Classifies a refusal with the component.
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
