//! What a caller says of a run.

use std::path::PathBuf;
use std::sync::Arc;

use super::admission::RequestAdmission;
use super::console::Console;
use super::limits::RunLimits;
use crate::sandbox::Sandbox;
use crate::upstream::{ApiKey, Origin, Proxy};

/// What to run, and with what.
pub struct Run {
    /// Where it runs.
    pub sandbox: Sandbox,
    /// The component's file.
    pub component: PathBuf,
    /// Its arguments, without its own name.
    pub arguments: Vec<String>,
    /// The one origin it may reach.
    pub origin: Origin,
    /// The key, where there is one.
    pub key: Option<ApiKey>,
    /// The proxy that its requests go through. Loopback is reached without it.
    pub proxy: Option<Proxy>,
    /// Its bounds.
    pub limits: RunLimits,
    /// OutgoingRequest before every request.
    pub admission: Arc<dyn RequestAdmission>,
    /// Where its text goes; told, in a sentence for a person, of every refusal.
    pub console: Arc<dyn Console>,
}
