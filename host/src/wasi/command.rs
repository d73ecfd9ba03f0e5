//! The parameters of a run.

use std::path::PathBuf;
use std::sync::Arc;

use super::admission::RequestAdmission;
use super::console::Console;
use super::limits::RunLimits;
use crate::sandbox::Sandbox;
use crate::upstream::{ApiKey, Origin, Proxy};

/// The parameters of [`run`](super::run).
pub struct Run {
    /// The sandbox.
    pub sandbox: Sandbox,
    /// The file of the component.
    pub component: PathBuf,
    /// The arguments, without the program name.
    pub arguments: Vec<String>,
    /// The origin that the guest may call.
    pub origin: Origin,
    /// The key, if one is set.
    pub key: Option<ApiKey>,
    /// The proxy for requests, which is not used for loopback addresses.
    pub proxy: Option<Proxy>,
    /// The limits of the run.
    pub limits: RunLimits,
    /// Decides about every request.
    pub admission: Arc<dyn RequestAdmission>,
    /// Receives the output of the guest and the host's messages about refused requests.
    pub console: Arc<dyn Console>,
}
