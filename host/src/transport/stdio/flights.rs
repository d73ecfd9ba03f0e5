//! Which requests are on their way, so that nothing is sent for one that was cancelled or answered.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use rmcp::model::{ProgressToken, RequestId};

#[derive(Debug, Default)]
struct Flying {
    requests: HashMap<RequestId, Option<ProgressToken>>,
    tokens: HashSet<ProgressToken>,
}

impl Flying {
    fn land(&mut self, id: &RequestId) -> bool {
        match self.requests.remove(id) {
            Some(token) => {
                if let Some(token) = token {
                    self.tokens.remove(&token);
                }
                true
            }
            None => false,
        }
    }
}

/// The requests that were read and not yet answered.
#[derive(Debug, Default)]
pub struct Flights(Mutex<Flying>);

impl Flights {
    /// Notes a request. `false` where one with this id is still on its way.
    pub fn start(&self, id: &RequestId, token: Option<ProgressToken>) -> bool {
        self.with(|flying| {
            if flying.requests.contains_key(id) {
                return false;
            }
            if let Some(token) = &token {
                flying.tokens.insert(token.clone());
            }
            flying.requests.insert(id.clone(), token);
            true
        })
    }

    /// Notes that a request was answered or cancelled. `false` where there is none such: then nothing
    /// may be sent for it any more.
    pub fn end(&self, id: &RequestId) -> bool {
        self.with(|flying| flying.land(id))
    }

    /// Whether progress may still be reported under this token.
    pub fn may_report(&self, token: &ProgressToken) -> bool {
        self.with(|flying| flying.tokens.contains(token))
    }

    fn with<T>(&self, f: impl FnOnce(&mut Flying) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
