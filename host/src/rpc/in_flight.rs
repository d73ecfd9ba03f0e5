//! The requests in flight, so that nothing is sent for one that was cancelled or answered.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use rmcp::model::{ProgressToken, RequestId};

/// The requests that were received and not yet answered or cancelled.
#[derive(Debug, Default)]
pub struct InFlight(Mutex<Requests>);

#[derive(Debug, Default)]
struct Requests {
    by_id: HashMap<RequestId, Option<ProgressToken>>,
    tokens: HashSet<ProgressToken>,
}

impl InFlight {
    /// Adds a request. Returns `false`, and changes nothing, if one with this id is in flight.
    pub fn start(&self, id: &RequestId, token: Option<ProgressToken>) -> bool {
        self.with(|requests| {
            if requests.by_id.contains_key(id) {
                return false;
            }
            requests.tokens.extend(token.clone());
            requests.by_id.insert(id.clone(), token);
            true
        })
    }

    /// Removes a request that was answered or cancelled. Returns `false` if there is none: then nothing may be sent
    /// for this id.
    pub fn end(&self, id: &RequestId) -> bool {
        self.with(|requests| match requests.by_id.remove(id) {
            Some(token) => {
                if let Some(token) = token {
                    requests.tokens.remove(&token);
                }
                true
            }
            None => false,
        })
    }

    /// Returns whether progress may be reported under this token.
    pub fn may_report(&self, token: &ProgressToken) -> bool {
        self.with(|requests| requests.tokens.contains(token))
    }

    fn with<T>(&self, f: impl FnOnce(&mut Requests) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
