//! The sessions of clients that have a handshake (2025-03-26 to 2025-11-25).
//!
//! A session that this process does not know is looked up in the store, so that sessions survive a restart.

mod session;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, InitializeRequestParams, InitializedNotification,
    JsonRpcMessage,
};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::channel::Channel;
use super::endpoint::{Endpoint, Start};
use super::gate::Principal;
use super::limits::{INCOMING, Limits};
use super::token::{Digest, random_text, sha256_hex};
use crate::jobs::clock::{Clock, Millis};
use crate::jobs::{SessionStore, StoreError, StoredSession};
use crate::rpc::{Connection, Envelope};

pub use session::{Posted, Session};

/// How long a request waits for the store. Only a restart needs what is stored.
const STORE_WAIT: Duration = Duration::from_secs(5);

/// Characters of a session's key by which it is named in logs.
const SHOWN_CHARACTERS: usize = 16;

/// The reason why there is no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSession {
    /// There is none with that id for this client.
    Unknown,
    /// The limit is reached and all sessions are in use.
    Full,
    /// The system gives no random bytes for an id.
    Random,
}

/// The sessions.
pub struct Sessions {
    endpoint: Arc<dyn Endpoint>,
    store: Option<Arc<dyn SessionStore>>,
    clock: Arc<dyn Clock>,
    limits: Limits,
    leaving: CancellationToken,
    tasks: TaskTracker,
    known: Mutex<HashMap<String, Arc<Session>>>,
    restoring: tokio::sync::Mutex<()>,
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions")
            .field("known", &self.known().len())
            .finish_non_exhaustive()
    }
}

impl Sessions {
    /// Creates an empty set. Without a store, sessions end with the process.
    pub fn new(
        endpoint: Arc<dyn Endpoint>,
        store: Option<Arc<dyn SessionStore>>,
        clock: Arc<dyn Clock>,
        limits: Limits,
        leaving: CancellationToken,
    ) -> Self {
        Self {
            endpoint,
            store,
            clock,
            limits,
            leaving,
            tasks: TaskTracker::new(),
            known: Mutex::default(),
            restoring: tokio::sync::Mutex::default(),
        }
    }

    /// Returns how many sessions this process knows.
    #[must_use]
    pub fn count(&self) -> usize {
        self.known().len()
    }

    /// Returns the tasks of all services.
    #[must_use]
    pub const fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// Creates a session and returns its id. It is stored once its handshake is complete.
    ///
    /// # Errors
    /// When the limit is reached.
    pub fn create(&self, principal: Principal) -> Result<(String, Arc<Session>), NoSession> {
        let id = random_text().map_err(|_| NoSession::Random)?;
        let session = self.start(
            sha256_hex(&id),
            principal,
            Connection::new(),
            Start::Handshake,
        )?;
        Ok((id, session))
    }

    /// Returns the session with that id, restored from the store if necessary.
    ///
    /// # Errors
    /// When there is none for this principal.
    pub async fn find(&self, id: &str, principal: &Principal) -> Result<Arc<Session>, NoSession> {
        let key = sha256_hex(id);
        if let Some(session) = self.get(&key) {
            return allowed(session, principal);
        }
        let _one = self.restoring.lock().await;
        if let Some(session) = self.get(&key) {
            return allowed(session, principal);
        }
        let since = self.idle_limit();
        let stored = self
            .stored(move |store, _| store.session(&key, since))
            .await;
        match stored.flatten() {
            Some(stored) if stored.owner == session::owner(principal) => {
                self.restore(&stored, principal.clone())
            }
            _ => Err(NoSession::Unknown),
        }
    }

    /// Ends a session. Returns whether there was one.
    pub async fn remove(&self, session: &Session) -> bool {
        session.stop.cancel();
        let known = self.known().remove(&session.key).is_some();
        let key = session.key.clone();
        let stored = self
            .stored(move |store, _| store.remove_session(&key))
            .await;
        known || stored == Some(true)
    }

    /// Drops a session whose handshake failed.
    pub fn abandon(&self, session: &Session) {
        session.stop.cancel();
        self.known().remove(&session.key);
    }

    /// Stores what changed in a session.
    pub async fn save(&self, session: &Session) {
        if let Some(stored) = session.to_store() {
            self.stored(move |store, now| store.put_session(&stored, now))
                .await;
        }
    }

    /// Ends sessions that have been idle for too long, and stores the last use of the others.
    pub async fn sweep(&self) {
        let now = Instant::now();
        let mut in_use = Vec::new();
        self.known().retain(|key, session| {
            session.prune();
            let idle = session.idle_since().map(|since| now.duration_since(since));
            let ended = session.stop.is_cancelled();
            if ended || idle.is_some_and(|idle| idle > self.limits.session_idle) {
                session.stop.cancel();
                return false;
            }
            if idle.is_none_or(|idle| idle < self.limits.sweep * 2) {
                in_use.push(key.clone());
            }
            true
        });
        let before = self.idle_limit();
        self.stored(move |store, now| {
            if !in_use.is_empty() {
                store.touch_sessions(&in_use, now)?;
            }
            store.expire_sessions(before)
        })
        .await;
    }

    /// Ends the sessions of every bearer token but the one with this digest.
    pub async fn end_earlier(&self, digest: Digest) {
        let valid = Principal::Bearer(digest);
        let earlier: Vec<_> = self
            .known()
            .values()
            .filter(|session| session.principal != Principal::Local && session.principal != valid)
            .cloned()
            .collect();
        for session in earlier {
            self.remove(&session).await;
        }
    }

    /// Tells all services to end.
    pub fn stop(&self) {
        for session in self.known().values() {
            session.stop.cancel();
        }
    }

    /// Ends the streams of all sessions that do not belong to a running call.
    pub fn end_common_streams(&self) {
        for session in self.known().values() {
            if let Some(common) = session.stream(session.common()) {
                common.end();
            }
        }
    }

    /// Returns a number above those of all earlier streams, since no session opens a stream every millisecond.
    fn first_stream(&self) -> u64 {
        u64::try_from(self.clock.now().0).unwrap_or_default()
    }

    fn idle_limit(&self) -> Millis {
        let idle = i64::try_from(self.limits.session_idle.as_millis()).unwrap_or(i64::MAX);
        self.clock.now().plus(idle.saturating_neg())
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, key: &str) -> Option<Arc<Session>> {
        self.known().get(key).cloned()
    }

    fn start(
        &self,
        key: String,
        principal: Principal,
        connection: Connection,
        start: Start,
    ) -> Result<Arc<Session>, NoSession> {
        let (sender, incoming) = mpsc::channel(INCOMING);
        let stop = CancellationToken::new();
        // The beginning of a digest of the id: enough to tell sessions apart, and nobody can use it.
        let shown = key.chars().take(SHOWN_CHARACTERS).collect();
        let caller = principal.caller("http", Some(shown));
        let session = Arc::new(Session::new(
            key.clone(),
            principal,
            connection,
            sender,
            self.limits,
            stop.clone(),
            self.first_stream(),
        ));
        {
            let mut known = self.known();
            make_room(&mut known, self.limits.sessions)?;
            known.insert(key, Arc::clone(&session));
        }
        let channel = Channel::new(incoming, Arc::clone(&session) as _, caller);
        let leaving = self.leaving.child_token();
        let served = self.endpoint.serve(channel, start, leaving, stop.clone());
        let ended = stop.drop_guard();
        self.tasks.spawn(async move {
            served.await;
            drop(ended);
        });
        Ok(session)
    }

    fn restore(
        &self,
        stored: &StoredSession,
        principal: Principal,
    ) -> Result<Arc<Session>, NoSession> {
        let Ok(params) = serde_json::from_str::<InitializeRequestParams>(&stored.initialize) else {
            tracing::warn!("a stored session cannot be read; its client has to begin a new one");
            return Err(NoSession::Unknown);
        };
        let start = Start::Direct(Some(Box::new(params.clone())));
        let session = self.start(stored.key.clone(), principal, Connection::open(), start)?;
        session.restore(params, &stored.replay);
        // To the service, the client has just completed its handshake.
        let initialized =
            ClientNotification::InitializedNotification(InitializedNotification::default());
        session.inject(ClientJsonRpcMessage::notification(initialized));
        for request in &stored.replay {
            let envelope = Envelope::read(request.as_bytes()).ok().flatten();
            let message = envelope.and_then(|envelope| envelope.check().ok().flatten());
            if let Some(message @ JsonRpcMessage::Request(_)) = message {
                session.inject(message);
            }
        }
        Ok(session)
    }

    /// Calls the store on a blocking thread. If the store cannot be used, sessions continue but are not stored.
    async fn stored<T: Send + 'static>(
        &self,
        call: impl FnOnce(&dyn SessionStore, Millis) -> Result<T, StoreError> + Send + 'static,
    ) -> Option<T> {
        let (store, now) = (Arc::clone(self.store.as_ref()?), self.clock.now());
        let called = tokio::task::spawn_blocking(move || call(&*store, now));
        match tokio::time::timeout(STORE_WAIT, called).await {
            Ok(Ok(Ok(value))) => return Some(value),
            Ok(Ok(Err(error))) => tracing::warn!(%error, "HTTP sessions are not stored"),
            Ok(Err(error)) => tracing::warn!(%error, "HTTP sessions are not stored"),
            Err(_) => tracing::warn!("HTTP sessions are not stored: the store is busy"),
        }
        None
    }
}

fn allowed(session: Arc<Session>, principal: &Principal) -> Result<Arc<Session>, NoSession> {
    if session.principal == *principal && !session.stop.is_cancelled() {
        Ok(session)
    } else {
        Err(NoSession::Unknown)
    }
}

/// Ends the session that has been idle for longest if the limit is reached.
fn make_room(known: &mut HashMap<String, Arc<Session>>, most: usize) -> Result<(), NoSession> {
    if known.len() < most {
        return Ok(());
    }
    let idle = known.iter().filter_map(|(key, session)| {
        let since = session.idle_since()?;
        Some((since, key.clone()))
    });
    let (_, key) = idle.min().ok_or(NoSession::Full)?;
    if let Some(session) = known.remove(&key) {
        session.stop.cancel();
    }
    Ok(())
}
