//! Moves the epoch while a call runs, and sleeps when none does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Thread};

use wasmtime::EngineWeak;

use super::bounds::TICK;

/// Ticks without a call after which the thread sleeps until the next one. One second: a stream in flight
/// pushes more often, so waking is rare, and at rest nothing burns.
const IDLE_TICKS: u32 = 100;

/// The thread that moves the epoch of one engine. It ends with the engine.
#[derive(Debug)]
pub(super) struct Ticker {
    shared: Arc<Shared>,
    thread: Thread,
}

#[derive(Debug, Default)]
struct Shared {
    running: AtomicUsize,
    parked: AtomicBool,
    ended: AtomicBool,
}

/// Keeps the epoch moving while it lives.
pub(super) struct Running<'a>(&'a Shared);

impl Ticker {
    /// Starts the thread.
    pub(super) fn start(engine: EngineWeak) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let handle = thread::Builder::new()
            .name("glovebox-epoch".to_owned())
            .stack_size(64 << 10)
            .spawn({
                let shared = Arc::clone(&shared);
                move || shared.tick(&engine)
            })?;
        Ok(Self {
            shared,
            thread: handle.thread().clone(),
        })
    }

    /// Says that a call begins; it ends when the value is dropped.
    pub(super) fn running(&self) -> Running<'_> {
        // The order of these two, against that in `sleep`, is what makes a missed call impossible.
        self.shared.running.fetch_add(1, Ordering::SeqCst);
        if self.shared.parked.swap(false, Ordering::SeqCst) {
            self.thread.unpark();
        }
        Running(&self.shared)
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Shared {
    fn tick(&self, engine: &EngineWeak) {
        let mut idle = 0;
        while !self.ended.load(Ordering::SeqCst) {
            thread::park_timeout(TICK);
            let Some(engine) = engine.upgrade() else {
                return;
            };
            engine.increment_epoch();
            drop(engine);
            idle = if self.at_rest() { idle + 1 } else { 0 };
            if idle >= IDLE_TICKS {
                self.sleep();
                idle = 0;
            }
        }
    }

    fn at_rest(&self) -> bool {
        self.running.load(Ordering::SeqCst) == 0
    }

    fn sleep(&self) {
        self.parked.store(true, Ordering::SeqCst);
        while self.parked.load(Ordering::SeqCst) && !self.ended.load(Ordering::SeqCst) {
            if !self.at_rest() {
                self.parked.store(false, Ordering::SeqCst);
                return;
            }
            thread::park();
        }
    }
}
