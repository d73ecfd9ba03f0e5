//! One instance of a component in a store of its own, and how every call into it is bounded.

use std::sync::Arc;

use wasmtime::{Store, Trap, UpdateDeadline};

use super::component::Compiled;
use super::meter::Meter;
use super::{Held, SandboxError, World};

/// One instance of a component, in a store that is dropped with it.
pub struct Session<W: World> {
    store: Store<Held<W::Data>>,
    exports: W::Exports,
    compiled: Arc<Compiled<W>>,
    /// How long the running call ran, where calls are asynchronous.
    meter: Arc<Meter>,
    broken: Option<SandboxError>,
}

impl<W: World> Session<W> {
    /// Makes a new store and instance, which takes some microseconds.
    pub(super) fn open(compiled: Arc<Compiled<W>>, data: W::Data) -> Result<Self, SandboxError> {
        let mut store = store(&compiled, data);
        let instance = {
            // The start function of a component is its own code too.
            let _running = compiled.runtime.ticker.running();
            store.set_epoch_deadline(compiled.bounds.ticks());
            compiled.pre.instantiate(&mut store)
        };
        Self::started(compiled, store, Arc::default(), instance)
    }

    /// Makes a new store and instance for asynchronous calls. While such a call runs, its thread is given to
    /// others at every tick, so that time-outs and interrupts are heard whatever the component does.
    pub(super) async fn open_async(
        compiled: Arc<Compiled<W>>,
        data: W::Data,
    ) -> Result<Self, SandboxError> {
        let mut store = store(&compiled, data);
        let meter = Arc::new(Meter::default());
        let (running, cpu) = (Arc::clone(&meter), compiled.bounds.cpu);
        store.epoch_deadline_callback(move |_| {
            if running.spent() > cpu {
                return Err(Trap::Interrupt.into());
            }
            Ok(UpdateDeadline::Yield(1))
        });
        store.set_epoch_deadline(1);
        let instance = meter
            .count(
                &compiled.runtime.ticker,
                compiled.pre.instantiate_async(&mut store),
            )
            .await;
        Self::started(compiled, store, meter, instance)
    }

    fn started(
        compiled: Arc<Compiled<W>>,
        mut store: Store<Held<W::Data>>,
        meter: Arc<Meter>,
        instance: wasmtime::Result<wasmtime::component::Instance>,
    ) -> Result<Self, SandboxError> {
        let instance = instance.map_err(|error| {
            let refused = store.data().limiter.refused();
            SandboxError::of_call(W::NAME, &compiled.bounds, &error, refused)
        })?;
        let exports = W::load(&compiled.indices, &mut store, &instance)
            .map_err(|error| compiled.other_world(&error))?;
        Ok(Self {
            store,
            exports,
            compiled,
            meter,
            broken: None,
        })
    }

    /// Makes one call within the bounds. After a failure the instance is not entered again: every later
    /// call returns the same error.
    ///
    /// # Errors
    /// What ended the call.
    pub fn call<T>(
        &mut self,
        call: impl FnOnce(&mut Store<Held<W::Data>>, &W::Exports) -> wasmtime::Result<T>,
    ) -> Result<T, SandboxError> {
        self.unbroken()?;
        let result = {
            let _running = self.compiled.runtime.ticker.running();
            // Absolute against the present epoch: a deadline set earlier may have passed between two calls.
            self.store.set_epoch_deadline(self.compiled.bounds.ticks());
            call(&mut self.store, &self.exports)
        };
        result.map_err(|error| self.end(&error))
    }

    /// Makes one asynchronous call within the bounds, in a session that was opened for such calls.
    ///
    /// # Errors
    /// What ended the call; the session is over then.
    pub async fn call_async<T>(
        &mut self,
        call: impl AsyncFnOnce(&mut Store<Held<W::Data>>, &W::Exports) -> wasmtime::Result<T>,
    ) -> Result<T, SandboxError> {
        self.unbroken()?;
        self.store.set_epoch_deadline(1);
        let calling = call(&mut self.store, &self.exports);
        let ticker = &self.compiled.runtime.ticker;
        let result = self.meter.count(ticker, calling).await;
        result.map_err(|error| self.end(&error))
    }

    fn unbroken(&self) -> Result<(), SandboxError> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    fn end(&mut self, error: &wasmtime::Error) -> SandboxError {
        let refused = self.store.data().limiter.refused();
        let error = SandboxError::of_call(W::NAME, &self.compiled.bounds, error, refused);
        self.broken = Some(error.clone());
        error
    }
}

/// A store with its bounds set, for one session.
fn store<W: World>(compiled: &Compiled<W>, data: W::Data) -> Store<Held<W::Data>> {
    let bounds = &compiled.bounds;
    let mut store = Store::new(&compiled.runtime.engine, Held::new(bounds, data));
    store.limiter(|held| &mut held.limiter);
    store.set_hostcall_fuel(bounds.output_bytes);
    store.set_max_component_handles(bounds.handles);
    store
}

impl<W: World> std::fmt::Debug for Session<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("world", &W::NAME)
            .field("broken", &self.broken)
            .finish_non_exhaustive()
    }
}
