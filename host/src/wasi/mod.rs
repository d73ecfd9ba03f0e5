//! Runs a WASI 0.2 command component in a sandbox: `wasi:http` to the one configured origin and to nothing
//! else, no files, no sockets, no environment but what is named here.
//!
//! The contract:
//!
//! - The guest never holds the key. It finds [`PLACEHOLDER`] in its environment; the host puts the key in
//!   where a credential header holds that, and takes it out of whatever comes back.
//! - A request to another origin is refused, and the refusal names the setting that would allow it. Redirects
//!   are handed to the guest and not followed. A name that resolves into this network is refused.
//! - Every request passes a [`Gate`], which knows the rate and the budget.
//! - Memory, the guest's own running time, the total time and the number of requests are bounded: see
//!   [`RunLimits`]. Waiting for the network is not running.

mod egress;
mod error;
mod gate;
mod key;
mod limits;
mod meter;
mod sender;
mod store;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::time::Instant;
use wasmtime::component::{Component, Linker};
use wasmtime::{Config, Engine, Store, UpdateDeadline};
use wasmtime_wasi::I32Exit;
use wasmtime_wasi::p2::bindings::{Command, CommandPre};

pub use error::RunError;
pub use gate::{Gate, Leave, Ticket};
pub use key::PLACEHOLDER;
pub use limits::RunLimits;

use key::KeyGuard;
use meter::Meter;
use sender::{Egress, Sender};
use store::State;

use crate::upstream::{ApiKey, Origin, Proxy};

/// What to run, and with what.
pub struct Run {
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
    /// Asked before every request.
    pub gate: Arc<dyn Gate>,
    /// Told, in a sentence for a person, of every refusal.
    pub tell: fn(&str),
}

/// How a guest ended by its own word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It reports success.
    Well,
    /// It reports failure.
    Badly,
}

/// Why the guest was stopped from within.
#[derive(Debug, thiserror::Error)]
#[error("stopped")]
struct Stopped(RunErrorKind);

#[derive(Clone, Copy, Debug)]
enum RunErrorKind {
    Cpu,
    Total,
}

/// Runs a command to its end. Dropping the future ends it at once, and its connections with it.
///
/// # Errors
/// Why it could not be run, or what stopped it.
pub async fn run(run: Run) -> Result<Ended, RunError> {
    let limits = run.limits;
    let deadline = Instant::now() + limits.total;
    let engine = engine()?;
    let command = load(&engine, &run).await?;
    let meter = Arc::new(Meter::default());
    let mut store = Store::new(&engine, state(&run, deadline)?);
    store.limiter(|state| &mut state.limiter);
    bound(&mut store, &meter, limits, deadline);
    let calling = meter.count(async {
        let command: Command = command.instantiate_async(&mut store).await?;
        command.wasi_cli_run().call_run(&mut store).await
    });
    let called = match tokio::time::timeout_at(deadline, calling).await {
        Ok(called) => called,
        Err(_) => {
            return Err(RunError::Total {
                limit: limits.total,
            });
        }
    };
    match called {
        Ok(Ok(())) => Ok(Ended::Well),
        Ok(Err(())) => Ok(Ended::Badly),
        Err(error) => ended(&error, limits, store.data().limiter.refused()),
    }
}

/// An engine that interrupts. A thread moves its epoch and ends with it.
fn engine() -> Result<Engine, RunError> {
    let mut config = Config::new();
    config.epoch_interruption(true).concurrency_support(false);
    let engine = Engine::new(&config).map_err(|error| RunError::Setup(format!("{error:#}")))?;
    let weak = engine.weak();
    let ticking = std::thread::Builder::new()
        .name("glovebox-run-epoch".to_owned())
        .spawn(move || {
            while let Some(engine) = weak.upgrade() {
                engine.increment_epoch();
                drop(engine);
                std::thread::sleep(limits::TICK);
            }
        });
    ticking.map_err(|error| RunError::Setup(error.to_string()))?;
    Ok(engine)
}

/// Reads, compiles and links the component, off the async threads.
async fn load(engine: &Engine, run: &Run) -> Result<CommandPre<State>, RunError> {
    let path = run.component.display().to_string();
    let unreadable = |reason: String| RunError::Unreadable {
        path: path.clone(),
        reason,
    };
    let size = tokio::fs::metadata(&run.component)
        .await
        .map_err(|error| unreadable(error.to_string()))?
        .len();
    if size > limits::COMPONENT_BYTES {
        return Err(unreadable(format!(
            "it is larger than {} MiB",
            limits::COMPONENT_BYTES >> 20
        )));
    }
    let bytes = tokio::fs::read(&run.component)
        .await
        .map_err(|error| unreadable(error.to_string()))?;
    let compiler = engine.clone();
    let compiled = tokio::task::spawn_blocking(move || link(&compiler, &bytes)).await;
    compiled
        .map_err(|error| RunError::Setup(error.to_string()))?
        .map_err(|error| RunError::NoCommand {
            path,
            problem: one_line(&error),
        })
}

fn link(engine: &Engine, bytes: &[u8]) -> wasmtime::Result<CommandPre<State>> {
    let component = Component::new(engine, bytes)?;
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    CommandPre::new(linker.instantiate_pre(&component)?)
}

fn state(run: &Run, deadline: Instant) -> Result<State, RunError> {
    let sender = Sender::new(Egress {
        origin: run.origin.clone(),
        key: run.key.as_ref().and_then(KeyGuard::new),
        proxy: run.proxy.clone(),
        gate: Arc::clone(&run.gate),
        requests: run.limits.requests,
        deadline,
        tell: run.tell,
    });
    let sender = sender.map_err(|error| RunError::Setup(error.to_string()))?;
    Ok(State::new(run, Arc::new(sender)))
}

/// Looks at the guest's clocks at every tick in which it runs.
fn bound(store: &mut Store<State>, meter: &Arc<Meter>, limits: RunLimits, deadline: Instant) {
    let meter = Arc::clone(meter);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(move |_| {
        if meter.spent() > limits.cpu {
            return Err(Stopped(RunErrorKind::Cpu).into());
        }
        if Instant::now() > deadline {
            return Err(Stopped(RunErrorKind::Total).into());
        }
        Ok(UpdateDeadline::Continue(1))
    });
}

fn ended(error: &wasmtime::Error, limits: RunLimits, refused: bool) -> Result<Ended, RunError> {
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        return Ok(if exit.0 == 0 {
            Ended::Well
        } else {
            Ended::Badly
        });
    }
    Err(match error.downcast_ref::<Stopped>() {
        Some(Stopped(RunErrorKind::Cpu)) => RunError::Cpu { limit: limits.cpu },
        Some(Stopped(RunErrorKind::Total)) => RunError::Total {
            limit: limits.total,
        },
        // Out of memory looks like any other trap, so the limiter is asked first.
        None if refused => RunError::Memory {
            limit: limits.memory_bytes,
        },
        None => RunError::Trap(one_line(error)),
    })
}

/// An error and its causes on one line, cut where it stops being of use.
fn one_line(error: &wasmtime::Error) -> String {
    const LONG: usize = 300;
    let text = format!("{error:#}");
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(LONG).collect()
}
