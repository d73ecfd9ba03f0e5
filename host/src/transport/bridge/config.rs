//! How a bridge is set up.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use url::Url;

use super::credentials::Credentials;
use super::http::Trust;
use crate::upstream::Proxy;

/// Tells a person what goes on.
pub type Report = Arc<dyn Fn(&str) + Send + Sync>;

/// Which transport to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The one that the server has, streamable HTTP first.
    Probe,
    /// Streamable HTTP.
    Streamable,
    /// The older one.
    Older,
}

/// How a bridge is set up.
pub struct Config {
    /// The server's address.
    pub url: Url,
    /// Which transport to use.
    pub mode: Mode,
    /// What goes with every request.
    pub credentials: Credentials,
    /// Whose certificates are accepted.
    pub trust: Trust,
    /// The proxy. Loopback is reached without it.
    pub proxy: Option<Proxy>,
    /// How long the server may be silent.
    pub silence: Duration,
    /// Tells a person what goes on.
    pub report: Report,
}

impl fmt::Debug for Config {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Config").finish_non_exhaustive()
    }
}
