//! The traffic component: its typed face, and the inspection of a saved file.
//!
//! [`Traffic`] runs the component in the sandbox. It is compiled on its first use, so a process that does not read traffic
//! neither compiles nor loads it. [`Import`], [`Redactor`] and [`Checker`] each own one session, so that a failure of one ends
//! no other. [`Inspection`] joins them: it reads a file in chunks and returns redacted exchanges with their findings.

mod analysis;
mod bindings;
mod bounds;
mod import;
mod inspection;
mod types;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use wasmtime::Store;
use wasmtime::component::{Instance, InstancePre};

use crate::sandbox::{
    Bounds, Component, ComponentSource, Held, Sandbox, SandboxError, Session, World,
};

pub use self::analysis::{Checker, Redactor};
pub use self::bounds::bounds;
pub use self::import::Import;
pub use self::inspection::{
    Inspected, InspectedExchange, Inspection, InspectionOptions, InspectionReport,
};
pub use self::types::{
    Carrier, Confidence, Detection, Direction, Exchange, Failure, Finding, Finished, Format, Item,
    Kind, Limits, Message, Mode, Origin, Part, Provenance, Redacted, Replacement, Report, Severity,
    Shown, Skip, Span, Tally, ViewOptions, Warning, WebSocketMessage,
};

/// The component that is built into this binary.
pub const COMPONENT: &[u8] = include_bytes!("../../../guest/dist/traffic.wasm");

/// What the embedded component was built from, as JSON: its own hash and the hash of its sources.
pub const COMPONENT_RECORD: &str = include_str!("../../../guest/dist/traffic.json");

/// The world `traffic`.
#[derive(Clone, Copy, Debug)]
pub struct TrafficWorld;

impl World for TrafficWorld {
    const NAME: &'static str = "glovebox:traffic/traffic";
    type Data = ();
    type Indices = bindings::TrafficIndices;
    type Exports = bindings::Traffic;

    fn find(component: &InstancePre<Held<()>>) -> wasmtime::Result<Self::Indices> {
        bindings::TrafficIndices::new(component)
    }

    fn load(
        indices: &Self::Indices,
        store: &mut Store<Held<()>>,
        instance: &Instance,
    ) -> wasmtime::Result<Self::Exports> {
        indices.load(store, instance)
    }
}

/// Which traffic component to run and within what bounds.
#[derive(Clone, Debug)]
pub struct TrafficConfig {
    /// The component's file; the embedded one where absent.
    pub component: Option<PathBuf>,
    /// What each of its sessions may use.
    pub bounds: Bounds,
}

impl Default for TrafficConfig {
    fn default() -> Self {
        Self {
            component: None,
            bounds: bounds(),
        }
    }
}

/// The traffic component. A clone is cheap and shares the compiled code.
#[derive(Clone, Debug)]
pub struct Traffic {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    sandbox: Sandbox,
    config: TrafficConfig,
    component: OnceLock<Component<TrafficWorld>>,
}

impl Traffic {
    /// Returns the component without compiling it. [`Traffic::start`] or the first call does that.
    #[must_use]
    pub fn new(sandbox: &Sandbox, config: TrafficConfig) -> Self {
        Self {
            shared: Arc::new(Shared {
                sandbox: sandbox.clone(),
                config,
                component: OnceLock::new(),
            }),
        }
    }

    /// Starts to compile the component in the background, unless that was done before, and returns at once. What goes
    /// wrong there is reported by the first call that needs the component.
    pub fn start(&self) {
        self.component();
    }

    /// Waits until the component is compiled, without holding a thread. Async callers wait here once; a call made
    /// earlier holds its thread until then.
    ///
    /// # Errors
    /// [`SandboxError::Component`] when it cannot be used.
    pub async fn ready(&self) -> Result<(), SandboxError> {
        self.component().ready().await
    }

    fn component(&self) -> &Component<TrafficWorld> {
        let shared = &self.shared;
        shared.component.get_or_init(|| {
            let source = match &shared.config.component {
                Some(path) => ComponentSource::File(path.clone()),
                None => ComponentSource::Embedded(COMPONENT),
            };
            Component::start(&shared.sandbox, source, shared.config.bounds)
        })
    }

    fn open(&self) -> Result<Session<TrafficWorld>, SandboxError> {
        self.component().open(())
    }
}
