//! What all components of a process share: the compiler, and the thread that bounds their CPU.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use wasmtime::{Config, Engine};

use super::cache;
use super::error::one_line;
use super::ticker::Ticker;

/// The sandbox of a process. A clone is cheap and is the same sandbox. It is set up when the first component is
/// compiled, so that making one costs nothing.
#[derive(Clone, Debug, Default)]
pub struct Sandbox {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    cache: Option<PathBuf>,
    runtime: OnceLock<Result<Arc<Runtime>, String>>,
}

/// The compiler and the thread.
#[derive(Debug)]
pub(super) struct Runtime {
    pub(super) engine: Engine,
    pub(super) ticker: Ticker,
}

impl Sandbox {
    /// A sandbox that keeps compiled code in this folder, so that the next start is fast. It is native code, so
    /// the folder is used only if it belongs to this user and nobody else can write to it. Nothing is kept
    /// where `cache` is `None`.
    #[must_use]
    pub fn new(cache: Option<PathBuf>) -> Self {
        Self {
            shared: Arc::new(Shared {
                cache,
                runtime: OnceLock::new(),
            }),
        }
    }

    /// Sets the compiler up, once. The error says why that failed.
    pub(super) fn runtime(&self) -> Result<Arc<Runtime>, String> {
        let runtime = self
            .shared
            .runtime
            .get_or_init(|| Runtime::new(self.shared.cache.as_deref()).map(Arc::new));
        runtime.clone()
    }
}

impl Runtime {
    fn new(cache: Option<&Path>) -> Result<Self, String> {
        let engine = Engine::new(&config(cache)).map_err(|error| one_line(&error))?;
        let ticker = Ticker::start(engine.weak())
            .map_err(|error| format!("no thread can be started to bound it: {error}"))?;
        Ok(Self { engine, ticker })
    }
}

/// The compiler's settings. No world here has an asynchronous function of the component model, and without that
/// machinery a call costs half. Threads and the rest of what the built-in components do not use stay off.
fn config(cache: Option<&Path>) -> Config {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .concurrency_support(false)
        .wasm_backtrace_max_frames(None);
    if let Some(cache) = cache.and_then(cache::open) {
        config.cache(Some(cache));
    }
    config
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}
