//! The server as it is known so far: its transport, and what may be done by one request at a time.

use std::sync::{Arc, Mutex, PoisonError};

use super::config::Mode;
use super::core::Core;
use super::older::Older;
use super::streamable::Streamable;

/// The server, and what the bridge shares.
#[derive(Debug)]
pub struct Server {
    /// What the bridge shares.
    pub core: Arc<Core>,
    /// Which transport to use.
    pub mode: Mode,
    /// Held while the transport is found out.
    pub deciding: tokio::sync::Mutex<()>,
    /// Held while a session is opened in the place of another.
    pub renewing: tokio::sync::Mutex<()>,
    /// Held while the server's list of tools is read.
    pub learning: tokio::sync::Mutex<()>,
    link: Mutex<Link>,
}

/// The transport to the server.
#[derive(Clone, Debug)]
pub enum Link {
    /// It is not known yet.
    Undecided,
    /// Streamable HTTP.
    Streamable(Arc<Streamable>),
    /// The older one.
    Older(Arc<Older>),
}

impl Server {
    /// A server whose transport is not known yet.
    #[must_use]
    pub fn new(core: Core, mode: Mode) -> Self {
        Self {
            core: Arc::new(core),
            mode,
            deciding: tokio::sync::Mutex::default(),
            renewing: tokio::sync::Mutex::default(),
            learning: tokio::sync::Mutex::default(),
            link: Mutex::new(Link::Undecided),
        }
    }

    /// Returns the transport.
    #[must_use]
    pub fn link(&self) -> Link {
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        link.clone()
    }

    /// Uses a transport from now on.
    pub fn set_link(&self, link: Link) {
        *self.link.lock().unwrap_or_else(PoisonError::into_inner) = link;
    }
}
