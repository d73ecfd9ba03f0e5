//! What the requests of one server share.

use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::endpoint::Endpoint;
use super::gate::{Mode, Origin, Principal, Rules, SHUTDOWN, Scheme};
use super::limits::Limits;
use super::metrics::Metrics;
use super::rotation::Rotation;
use super::sessions::Sessions;
use super::sse::registry::Pairs;
use super::token::TokenFile;
use crate::jobs::SessionStore;
use crate::jobs::clock::Clock;

/// How a server is run.
#[derive(Debug)]
pub struct Config {
    /// Who may reach it.
    pub mode: Mode,
    /// Web origins that may use it.
    pub allowed_origins: Vec<Origin>,
    /// Where its token is.
    pub token: TokenFile,
    /// What clients may take of it.
    pub limits: Limits,
}

/// A server, without its listener.
pub struct Http {
    config: Config,
    port: u16,
    pub(super) limits: Limits,
    pub(super) endpoint: Arc<dyn Endpoint>,
    pub(super) sessions: Sessions,
    pub(super) pairs: Pairs,
    pub(super) metrics: Metrics,
    rotation: Rotation,
    /// Cancelled when calls that merely wait are to end.
    pub(super) leaving: CancellationToken,
    /// Cancelled when the server was asked to stop.
    pub(super) stopping: CancellationToken,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("port", &self.port)
            .field("sessions", &self.sessions)
            .finish_non_exhaustive()
    }
}

impl Http {
    /// A server that is reached at a port. Without a store, its sessions end with it.
    #[must_use]
    pub fn new(
        config: Config,
        port: u16,
        endpoint: Arc<dyn Endpoint>,
        store: Option<Arc<dyn SessionStore>>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (limits, leaving) = (config.limits, CancellationToken::new());
        let sessions = Sessions::new(Arc::clone(&endpoint), store, clock, limits, leaving.clone());
        Self {
            config,
            port,
            limits,
            endpoint,
            sessions,
            pairs: Pairs::default(),
            metrics: Metrics::default(),
            rotation: Rotation::default(),
            leaving,
            stopping: CancellationToken::new(),
        }
    }

    /// Returns the counters.
    #[must_use]
    pub const fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Returns how many sessions there are.
    #[must_use]
    pub fn session_count(&self) -> usize {
        self.sessions.count() + self.pairs.count()
    }

    /// Returns how many services run: one for each session, and for each request without one.
    #[must_use]
    pub fn service_count(&self) -> usize {
        self.sessions.tasks().len()
    }

    /// Returns what is cancelled when the server was asked to stop.
    #[must_use]
    pub fn stopping(&self) -> CancellationToken {
        self.stopping.clone()
    }

    /// Returns what is cancelled when a principal may no longer use the server; `None` for one without a token.
    pub(super) fn valid(&self, principal: &Principal) -> Option<CancellationToken> {
        match principal {
            Principal::Local => None,
            Principal::Bearer(digest) => Some(self.rotation.valid(&self.config.token, *digest)),
        }
    }

    /// Ends the sessions and streams of an earlier token, where the token file holds another one now.
    pub(super) async fn check_token(&self) {
        if let Some(digest) = self.rotation.check(&self.config.token) {
            self.sessions.end_earlier(digest).await;
        }
    }

    pub(super) const fn mode(&self) -> Mode {
        self.config.mode
    }

    /// Returns what the gate decides by. The token's file is looked at only where it matters.
    pub(super) fn rules(&self, path: &str) -> Rules {
        let needed = self.config.mode
            != Mode::Local {
                require_token: false,
            }
            || path == SHUTDOWN;
        Rules {
            mode: self.config.mode,
            scheme: Scheme::Http,
            port: self.port,
            allowed_origins: self.config.allowed_origins.clone(),
            token: needed.then(|| self.config.token.read().ok()).flatten(),
        }
    }
}
