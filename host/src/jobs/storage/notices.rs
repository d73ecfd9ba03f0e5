//! Notifies listeners of the changes that any process makes to jobs. One thread per process polls the store while there
//! are listeners. A query that finds no change takes a few microseconds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::watch;

use super::error::StoreError;
use super::rows::JobStore;
use crate::jobs::model::JobId;

/// The interval of polling. A cancellation must reach the upstream within a second.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

type Listeners = HashMap<JobId, watch::Sender<i64>>;

#[derive(Debug, Default)]
struct State {
    listeners: Listeners,
    asking: bool,
}

/// Notifies listeners of the changes of their jobs.
#[derive(Clone, Debug)]
pub struct ChangeNotices {
    store: Arc<dyn JobStore>,
    state: Arc<Mutex<State>>,
}

impl ChangeNotices {
    /// Creates notices without listeners.
    #[must_use]
    pub fn new(store: Arc<dyn JobStore>) -> Self {
        Self {
            store,
            state: Arc::default(),
        }
    }

    /// Returns a receiver of the revisions of all later changes of a job.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub fn listen(&self, id: &JobId) -> Result<watch::Receiver<i64>, StoreError> {
        // Read the revision before the listener is added, so that a change in between is reported and not missed.
        let since = self.store.revision()?;
        let mut state = self.lock();
        let receiver = state
            .listeners
            .entry(id.clone())
            .or_insert_with(|| watch::channel(since).0)
            .subscribe();
        if !state.asking {
            state.asking = self.start(since);
        }
        Ok(receiver)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, since: i64) -> bool {
        let notices = self.clone();
        let name = "job-notices".to_owned();
        thread::Builder::new()
            .name(name)
            .spawn(move || notices.ask(since))
            .is_ok()
    }

    fn ask(&self, mut since: i64) {
        loop {
            thread::sleep(POLL_INTERVAL);
            if !self.anybody_left() {
                return;
            }
            match self.store.changes(since) {
                Ok(changes) => {
                    for (id, revision) in changes {
                        since = since.max(revision);
                        self.notify(&id, revision);
                    }
                }
                Err(error) => tracing::warn!(%error, "cannot read which jobs changed"),
            }
        }
    }

    fn anybody_left(&self) -> bool {
        let mut state = self.lock();
        state
            .listeners
            .retain(|_, sender| sender.receiver_count() > 0);
        state.asking = !state.listeners.is_empty();
        state.asking
    }

    fn notify(&self, id: &JobId, revision: i64) {
        if let Some(sender) = self.lock().listeners.get(id) {
            sender.send_replace(revision);
        }
    }
}
