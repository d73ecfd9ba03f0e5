//! MCP sessions over HTTP, stored so that a restarted server knows them: a client that never noticed goes on.

use super::clock::Millis;
use super::store::StoreError;

/// A stored session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSession {
    /// A digest of the session's id: whoever reads the store cannot use the session.
    pub key: String,
    /// Who may use it, in the transport's words.
    pub owner: String,
    /// The parameters of `initialize` as JSON, with the version that was agreed on.
    pub initialize: String,
    /// The requests as JSON that bring a new server into the session's state: its subscriptions, its log level.
    pub replay: Vec<String>,
}

/// A store of sessions.
pub trait SessionStore: Send + Sync {
    /// Stores a session, or what changed in it.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn put_session(&self, session: &StoredSession, now: Millis) -> Result<(), StoreError>;

    /// Returns a session that was used since a moment.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn session(&self, key: &str, used_since: Millis) -> Result<Option<StoredSession>, StoreError>;

    /// Notes that sessions are in use.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn touch_sessions(&self, keys: &[String], now: Millis) -> Result<(), StoreError>;

    /// Removes a session. Returns whether there was one.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn remove_session(&self, key: &str) -> Result<bool, StoreError>;

    /// Removes the sessions that were last used before a moment.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn expire_sessions(&self, used_before: Millis) -> Result<usize, StoreError>;
}
