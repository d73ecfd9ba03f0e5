//! Runs a WASI 0.2 command component in a sandbox: `wasi:http` to the one configured origin and to nothing
//! else, no files, no sockets, no environment but what is named here.
//!
//! The contract:
//!
//! - The guest never holds the key. It finds [`PLACEHOLDER`] in its environment; the host puts the key in
//!   where a credential header holds that, and takes it out of whatever comes back.
//! - A request to another origin is refused, and the refusal names the setting that would allow it. Redirects
//!   are handed to the guest and not followed. A name that resolves into this network is refused.
//! - Every request passes a [`RequestAdmission`], which knows the rate and the budget.
//! - Memory, the guest's own running time, the total time and the number of requests are bounded: see
//!   [`RunLimits`]. Waiting for the network is not running.

mod admission;
mod command;
mod console;
mod egress;
mod error;
mod key;
mod limits;
mod sender;
mod store;

use std::sync::Arc;

use tokio::time::{Instant, timeout_at};
use wasmtime::Store;
use wasmtime::component::{Instance, InstancePre, Linker};
use wasmtime_wasi::I32Exit;
use wasmtime_wasi::p2::bindings::{Command, CommandIndices};

pub use admission::{AdmittedRequest, Admitting, OutgoingRequest, RequestAdmission, Settling};
pub use command::Run;
pub use console::{Console, Stream};
pub use error::RunError;
pub use key::PLACEHOLDER;
pub use limits::{RunLimits, TOTAL_MOST};

use key::KeyGuard;
use sender::{Egress, Sender};
use store::State;

use crate::sandbox::{Component, ComponentSource, Held, World};

/// How a guest ended by its own word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It reports success.
    Well,
    /// It reports failure.
    Badly,
}

/// Runs a command to its end. Dropping the future ends it at once, and its connections with it.
///
/// # Errors
/// Why it could not be run, or what stopped it.
pub async fn run(run: Run) -> Result<Ended, RunError> {
    let limits = run.limits;
    let deadline = Instant::now() + limits.total;
    let state = state(&run, deadline)?;
    let source = ComponentSource::File(run.component);
    let component: Component<CommandWorld> = Component::start(&run.sandbox, source, limits.bounds);
    let running = async {
        component.ready().await.map_err(RunError::NoCommand)?;
        let mut session = component.open_async(state).await?;
        let ended = session
            .call_async(async |store, command| ended(command.wasi_cli_run().call_run(store).await))
            .await?;
        Ok(ended)
    };
    let limit = limits.total;
    timeout_at(deadline, running)
        .await
        .unwrap_or(Err(RunError::Total { limit }))
}

/// The world of a WASI 0.2 command.
struct CommandWorld;

impl World for CommandWorld {
    const NAME: &'static str = "wasi:cli/command";
    const IMPORTS: bool = true;
    type Data = State;
    type Indices = CommandIndices;
    type Exports = Command;

    fn link(linker: &mut Linker<Held<State>>) -> wasmtime::Result<()> {
        wasmtime_wasi::p2::add_to_linker_async(linker)?;
        wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)
    }

    fn find(component: &InstancePre<Held<State>>) -> wasmtime::Result<CommandIndices> {
        CommandIndices::new(component)
    }

    fn load(
        indices: &CommandIndices,
        store: &mut Store<Held<State>>,
        instance: &Instance,
    ) -> wasmtime::Result<Command> {
        indices.load(store, instance)
    }
}

/// What the end of a command says. An exit is an error of wasmtime's, and no failure.
fn ended(called: wasmtime::Result<Result<(), ()>>) -> wasmtime::Result<Ended> {
    let well = match called {
        Ok(reported) => reported.is_ok(),
        Err(error) => match error.downcast_ref::<I32Exit>() {
            Some(exit) => exit.0 == 0,
            None => return Err(error),
        },
    };
    Ok(if well { Ended::Well } else { Ended::Badly })
}

fn state(run: &Run, deadline: Instant) -> Result<State, RunError> {
    let sender = Sender::new(Egress {
        origin: run.origin.clone(),
        key: run.key.as_ref().and_then(KeyGuard::new),
        proxy: run.proxy.clone(),
        admission: Arc::clone(&run.admission),
        requests: run.limits.requests,
        deadline,
        console: Arc::clone(&run.console),
    });
    let sender = sender.map_err(|error| RunError::Setup(error.to_string()))?;
    Ok(State::new(run, Arc::new(sender)))
}
