//! The state that all requests of one server share.

use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::endpoint::Endpoint;
use super::gate::proof::ProofAddress;
use super::gate::{Host, Mode, Origin, Principal, Rules, SHUTDOWN, Scheme};
use super::limits::Limits;
use super::metrics::Metrics;
use super::rotation::Rotation;
use super::sessions::Sessions;
use super::sse::registry::Pairs;
use super::tls::Tls;
use super::token::TokenFile;
use crate::jobs::SessionStore;
use crate::jobs::clock::Clock;

/// The configuration of a server.
#[derive(Debug)]
pub struct Config {
    /// Who may reach it.
    pub mode: Mode,
    /// Web origins that may use it.
    pub allowed_origins: Vec<Origin>,
    /// The file with its token.
    pub token: TokenFile,
    /// Its resource limits.
    pub limits: Limits,
    /// Its TLS; `None` for plain HTTP.
    pub tls: Option<Arc<Tls>>,
    /// The host that it listens on, as a proof of takeover names it.
    pub host: Host,
}

impl Config {
    /// Returns the configuration of local mode without TLS, on the loopback.
    #[must_use]
    pub fn local(token: TokenFile) -> Self {
        Self {
            mode: Mode::Local {
                require_token: false,
            },
            allowed_origins: Vec::new(),
            token,
            limits: Limits::default(),
            tls: None,
            host: Host::V4(std::net::Ipv4Addr::LOCALHOST),
        }
    }
}

/// A server, without its listener.
pub struct Http {
    config: Config,
    port: u16,
    clock: Arc<dyn Clock>,
    pub(super) limits: Limits,
    pub(super) endpoint: Arc<dyn Endpoint>,
    pub(super) sessions: Sessions,
    pub(super) pairs: Pairs,
    pub(super) metrics: Metrics,
    rotation: Rotation,
    /// Cancelled when calls that only wait should return.
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
    /// Creates a server for a port. Without a store, its sessions end with it.
    #[must_use]
    pub fn new(
        config: Config,
        port: u16,
        endpoint: Arc<dyn Endpoint>,
        store: Option<Arc<dyn SessionStore>>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (limits, leaving) = (config.limits, CancellationToken::new());
        let sessions = Sessions::new(
            Arc::clone(&endpoint),
            store,
            Arc::clone(&clock),
            limits,
            leaving.clone(),
        );
        Self {
            config,
            port,
            clock,
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

    /// Returns the metrics.
    #[must_use]
    pub const fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Returns the number of sessions.
    #[must_use]
    pub fn session_count(&self) -> usize {
        self.sessions.count() + self.pairs.count()
    }

    /// Returns the number of running services: one for each session, and one for each request without a session.
    #[must_use]
    pub fn service_count(&self) -> usize {
        self.sessions.tasks().len()
    }

    /// Returns the token that is cancelled when the server is asked to stop.
    #[must_use]
    pub fn stopping(&self) -> CancellationToken {
        self.stopping.clone()
    }

    /// Returns what is cancelled when the principal's bearer token is replaced, or `None` if it has none.
    pub(super) fn valid(&self, principal: &Principal) -> Option<CancellationToken> {
        match principal {
            Principal::Local => None,
            Principal::Bearer(digest) => Some(self.rotation.valid(&self.config.token, *digest)),
        }
    }

    /// Returns the TLS of the server.
    pub(super) fn tls(&self) -> Option<&Tls> {
        self.config.tls.as_deref()
    }

    /// Ends the sessions and streams of an earlier token if the token file holds another one now.
    pub(super) async fn check_token(&self) {
        if let Some(digest) = self.rotation.check(&self.config.token) {
            self.sessions.end_earlier(digest).await;
        }
    }

    pub(super) const fn mode(&self) -> Mode {
        self.config.mode
    }

    /// Returns the gate's rules for a path. The token file is read only if the path needs the token.
    pub(super) fn rules(&self, path: &str) -> Rules {
        let needed = self.config.mode
            != Mode::Local {
                require_token: false,
            }
            || path == SHUTDOWN;
        let scheme = match self.config.tls {
            Some(_) => Scheme::Https,
            None => Scheme::Http,
        };
        Rules {
            mode: self.config.mode,
            scheme,
            port: self.port,
            address: ProofAddress::new(&self.config.host, self.port),
            now: self.clock.now(),
            allowed_origins: self.config.allowed_origins.clone(),
            token: needed.then(|| self.config.token.read().ok()).flatten(),
        }
    }
}
