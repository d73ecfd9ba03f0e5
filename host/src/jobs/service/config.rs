//! What the service is made from.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::answers::Answers;
use crate::jobs::clock::Clock;
use crate::jobs::model::Micros;
use crate::jobs::storage::bundle::StorageOpener;
use crate::jobs::storage::rows::Rate;
use crate::jobs::worker::WorkerCommand;
use crate::upstream::{Client, UpstreamError};

/// Makes the client of the upstream. It is called when the first call needs the client.
pub type MakeClient = Box<dyn Fn() -> Result<Client, UpstreamError> + Send + Sync>;

/// What [`Jobs`](super::Jobs) are made from. Nothing is storage or connected until it is needed.
pub struct JobsConfig {
    /// Opens the storage when the first call needs it, and again after a failure.
    pub storage: StorageOpener,
    /// How long a job is kept after its end.
    pub keep: Duration,
    /// The most that may be spent on one UTC day. `None` sets no limit.
    pub budget: Option<Micros>,
    /// How often all processes together may send requests.
    pub rate: Rate,
    /// The component that builds requests and reads replies.
    pub answers: Answers,
    /// Makes the client of the upstream.
    pub client: MakeClient,
    /// The clock that gives the time of every change.
    pub clock: Arc<dyn Clock>,
    /// How detached workers are started.
    pub worker: WorkerCommand,
}

impl fmt::Debug for JobsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobsConfig")
            .field("keep", &self.keep)
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}
