//! One instance of the component in a store of its own, and how every call into it is bounded.

use std::sync::Arc;

use wasmtime::Store;

use super::bindings::Answers;
use super::compile::Compiled;
use super::config::EngineConfig;
use super::error::SandboxError;
use super::limiter::Limiter;

/// What one stream, or one call, runs in. Dropped with it.
pub(super) struct Session {
    store: Store<Limiter>,
    guest: Answers,
    compiled: Arc<Compiled>,
    config: Arc<EngineConfig>,
    broken: Option<SandboxError>,
}

impl Session {
    /// A fresh store and instance. Some microseconds.
    pub(super) fn open(
        compiled: Arc<Compiled>,
        config: Arc<EngineConfig>,
    ) -> Result<Self, SandboxError> {
        let mut store = Store::new(&compiled.engine, Limiter::new(&config));
        store.limiter(|limiter| limiter);
        store.set_hostcall_fuel(config.output_bytes);
        store.set_max_component_handles(config.handles);
        let guest = {
            // Even starting up is code of the guest.
            let _running = compiled.ticker.running();
            store.set_epoch_deadline(config.ticks());
            compiled.pre.instantiate(&mut store)
        }
        .map_err(|error| SandboxError::of_call(&error, &config, store.data().refused()))?;
        Ok(Self {
            store,
            guest,
            compiled,
            config,
            broken: None,
        })
    }

    /// Makes one call within its bounds. After a failure the instance is not entered again: every later
    /// call gets the same error.
    pub(super) fn call<T>(
        &mut self,
        call: impl FnOnce(&mut Store<Limiter>, &Answers) -> wasmtime::Result<T>,
    ) -> Result<T, SandboxError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let _running = self.compiled.ticker.running();
        // Absolute against the epoch of now: a deadline set earlier may have passed between two calls.
        self.store.set_epoch_deadline(self.config.ticks());
        call(&mut self.store, &self.guest).map_err(|error| {
            let refused = self.store.data().refused();
            let error = SandboxError::of_call(&error, &self.config, refused);
            self.broken = Some(error.clone());
            error
        })
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("broken", &self.broken)
            .finish_non_exhaustive()
    }
}
