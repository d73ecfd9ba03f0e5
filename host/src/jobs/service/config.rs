//! The configuration of the service.

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

/// Creates the upstream client. It is called when the first call needs the client.
pub type MakeClient = Box<dyn Fn() -> Result<Client, UpstreamError> + Send + Sync>;

/// The configuration of [`Jobs`](super::Jobs). Nothing is opened or connected until it is needed.
pub struct JobsConfig {
    /// Opens the storage. It is called when the first call needs the storage, and again after a failure.
    pub storage: StorageOpener,
    /// How long a job is kept after its end.
    pub keep: Duration,
    /// The most that may be spent per UTC day. `None` sets no limit.
    pub budget: Option<Micros>,
    /// The rate limit of all processes together.
    pub rate: Rate,
    /// The component that builds requests and reads replies.
    pub answers: Answers,
    /// Creates the upstream client.
    pub client: MakeClient,
    /// The clock that provides the time of every change.
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
