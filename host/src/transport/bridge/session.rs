//! What the bridge knows of the session with the server, so that it can open another in its place.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::limits::SUBSCRIPTIONS;
use super::message::{INITIALIZE, Message};

/// The header with the session's id.
pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// The header with the protocol version.
pub const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The capabilities with a list whose changes a server may announce.
const LISTS: [(&str, &str); 3] = [
    ("tools", "notifications/tools/list_changed"),
    ("prompts", "notifications/prompts/list_changed"),
    ("resources", "notifications/resources/list_changed"),
];

/// The session. Sessions are numbered; 0 is before the first.
#[derive(Debug)]
pub struct Session {
    state: Mutex<State>,
    generation: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    /// The id that the server gave the session, and the connection it belongs to.
    place: Place,
    /// What the next session will have.
    next: Place,
    version: Option<String>,
    /// The client's `initialize`.
    opening: Option<Message>,
    /// Lists whose changes the client knows to be announced.
    lists: BTreeSet<&'static str>,
    /// Subscriptions by their address.
    subscriptions: BTreeMap<String, Message>,
    level: Option<Message>,
}

/// Where a session lives.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The id that the server gave it.
    pub id: Option<HeaderValue>,
    /// The connection of the older transport, by its number.
    pub connection: u64,
}

/// A server came back with another protocol version than the client was told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the server now speaks protocol version {now}, the client was told {before}; restart the client"
)]
pub struct OtherVersion {
    before: String,
    now: String,
}

impl Default for Session {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            generation: watch::Sender::new(0),
        }
    }
}

impl Session {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the session's number.
    #[must_use]
    pub fn generation(&self) -> u64 {
        *self.generation.borrow()
    }

    /// Returns the session's number, and its changes.
    #[must_use]
    pub fn generations(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    /// Returns where the session lives.
    #[must_use]
    pub fn place(&self) -> Place {
        self.state().place.clone()
    }

    /// Notes where the session that is being opened lives.
    pub fn set_next(&self, place: Place) {
        self.state().next = place;
    }

    /// Returns the headers of a message in the session.
    #[must_use]
    pub fn headers(&self) -> HeaderMap {
        let state = self.state();
        let mut headers = HeaderMap::new();
        if let Some(id) = &state.place.id {
            headers.insert(SESSION_ID, id.clone());
        }
        let version = state.version.as_deref();
        if let Some(version) = version.and_then(|text| HeaderValue::from_str(text).ok()) {
            headers.insert(VERSION, version);
        }
        headers
    }

    /// Notes what an answered request of the client changes.
    pub fn answered(&self, request: &Message, answer: &Message) {
        if answer.is_error() {
            return;
        }
        match request.method() {
            INITIALIZE => self.open(request, answer),
            "resources/subscribe" => {
                if let (Some(uri), mut state) = (uri(request), self.state())
                    && state.subscriptions.len() < SUBSCRIPTIONS
                {
                    state.subscriptions.insert(uri, request.clone());
                }
            }
            "resources/unsubscribe" => {
                if let Some(uri) = uri(request) {
                    self.state().subscriptions.remove(&uri);
                }
            }
            "logging/setLevel" => self.state().level = Some(request.clone()),
            _ => {}
        }
    }

    /// Begins the client's own session.
    fn open(&self, request: &Message, answer: &Message) {
        let result = result(answer);
        let mut state = self.state();
        *state = State {
            place: std::mem::take(&mut state.next),
            version: version(&result),
            opening: Some(request.clone()),
            lists: lists(&result),
            ..State::default()
        };
        drop(state);
        self.generation.send_modify(|number| *number += 1);
    }

    /// Takes the answer to an `initialize` of the bridge itself.
    ///
    /// # Errors
    /// When the server has another version than the session before.
    pub fn reopen(&self, answer: &Message) -> Result<(), OtherVersion> {
        let now = version(&result(answer)).unwrap_or_default();
        let mut state = self.state();
        let before = state.version.clone().unwrap_or_default();
        if now != before {
            return Err(OtherVersion { before, now });
        }
        state.place = std::mem::take(&mut state.next);
        drop(state);
        self.generation.send_modify(|number| *number += 1);
        Ok(())
    }

    /// Returns the `initialize` that opens another session as the first one was opened: with the version that was
    /// agreed on. `None` where the client has opened none.
    #[must_use]
    pub fn opening(&self, id: &str) -> Option<Message> {
        let state = self.state();
        let opening = state.opening.as_ref()?;
        let mut params: Map<String, Value> = opening.params();
        if let Some(version) = &state.version {
            params.insert("protocolVersion".to_owned(), version.clone().into());
        }
        let params = serde_json::value::to_raw_value(&params).ok()?;
        Message::request(id, INITIALIZE, Some(&params))
    }

    /// Returns the requests that bring another session to the state of the one before.
    #[must_use]
    pub fn replay(&self) -> Vec<Message> {
        let state = self.state();
        let subscriptions = state.subscriptions.values().cloned();
        state.level.iter().cloned().chain(subscriptions).collect()
    }

    /// Returns the notifications of lists that may be others in another session.
    #[must_use]
    pub fn changes(&self) -> Vec<Message> {
        let lists = self.state().lists.clone();
        let changes = lists.into_iter();
        changes
            .filter_map(|method| Message::notification(method, None))
            .collect()
    }
}

/// Returns a request of the bridge itself with the method and the parameters of another.
#[must_use]
pub fn again(request: &Message, id: &str) -> Option<Message> {
    let params = request
        .raw_params()
        .map(|params| RawValue::from_string(params.to_owned()));
    let params = params.transpose().ok()?;
    Message::request(id, request.method(), params.as_deref())
}

fn result(answer: &Message) -> Map<String, Value> {
    answer
        .raw_result()
        .and_then(|result| serde_json::from_str(result).ok())
        .unwrap_or_default()
}

fn version(result: &Map<String, Value>) -> Option<String> {
    Some(result.get("protocolVersion")?.as_str()?.to_owned())
}

fn lists(result: &Map<String, Value>) -> BTreeSet<&'static str> {
    let announced = |name: &str| {
        let list = result.get("capabilities")?.get(name)?;
        list.get("listChanged")?.as_bool()
    };
    let lists = LISTS.into_iter();
    lists
        .filter_map(|(name, method)| (announced(name) == Some(true)).then_some(method))
        .collect()
}

fn uri(request: &Message) -> Option<String> {
    Some(request.params().get("uri")?.as_str()?.to_owned())
}
