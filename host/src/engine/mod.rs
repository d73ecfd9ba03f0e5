//! The sandbox: runs the component that reads what the web sends, and bounds all it can use.
//!
//! [`Engine`] compiles the component once, on a thread of its own, while the process does other things.
//! Every stream gets a store of its own, which is dropped with it, so that what goes wrong in one stream
//! ends that stream with a named [`SandboxError`] and nothing else. CPU is bounded by epochs, memory by a
//! limiter, what comes back by a byte count, handles by a number: see [`EngineConfig`] for each bound.
//!
//! The world that the component exports is known in [`answers`], [`parser`] and [`calls`] alone; the
//! rest is about any component without imports.

pub mod answers;
mod bindings;
mod calls;
mod compile;
mod config;
mod error;
mod limiter;
mod parser;
mod session;
mod ticker;

use std::sync::Arc;

pub use self::config::EngineConfig;
pub use self::error::SandboxError;
pub use self::parser::Parser;

use self::compile::Compiling;
use self::session::Session;

/// The component that is built into this binary.
pub const COMPONENT: &[u8] = include_bytes!("../../../guest/dist/answers.wasm");

/// What the embedded component was built from, as JSON: its own hash and the hash of its sources.
pub const COMPONENT_RECORD: &str = include_str!("../../../guest/dist/answers.json");

/// The contract that the component implements, as WIT: the types, then the world.
pub const WIT: [&str; 2] = [
    include_str!("../../../wit/answers/types.wit"),
    include_str!("../../../wit/answers/world.wit"),
];

/// A compiled component and the bounds it runs under. A clone is cheap and shares the compiled code.
#[derive(Clone, Debug)]
pub struct Engine {
    config: Arc<EngineConfig>,
    compiling: Arc<Compiling>,
}

impl Engine {
    /// Starts to compile in the background and returns at once. What goes wrong there is told by the
    /// first call that needs the component, and by [`Engine::ready`].
    #[must_use]
    pub fn start(config: EngineConfig) -> Self {
        let config = Arc::new(config);
        let compiling = Compiling::start(Arc::clone(&config));
        Self { config, compiling }
    }

    /// Waits until the component is compiled, without holding a thread. Async callers wait here once;
    /// a call made earlier holds its thread until then.
    ///
    /// # Errors
    /// [`SandboxError::Component`] when it cannot be used.
    pub async fn ready(&self) -> Result<(), SandboxError> {
        self.compiling.ready().await
    }

    /// The bounds this engine was started with.
    #[must_use]
    pub fn config(&self) -> &EngineConfig {
        &self.config
    }

    /// A fresh instance of the component in a store of its own.
    fn open(&self) -> Result<Session, SandboxError> {
        Session::open(self.compiling.wait()?, Arc::clone(&self.config))
    }
}
