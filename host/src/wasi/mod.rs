//! Runs a WASI 0.2 command component in a sandbox. The component gets `wasi:http` to one configured origin, and no
//! files, sockets or environment variables except the ones listed here.
//!
//! Guarantees:
//!
//! - The guest never gets the key. Its environment contains [`PLACEHOLDER`] instead. The host replaces the placeholder
//!   in credential headers by the key and removes the key from replies.
//! - Requests to other origins are refused with a message that names the setting to change. Redirects are returned to
//!   the guest and not followed. Names that resolve to local networks are refused.
//! - Every request needs a decision of [`RequestAdmission`], which checks rate and budget.
//! - Memory, CPU time, total time and the number of requests are limited by [`RunLimits`]. Waiting for the network is
//!   not CPU time.

mod admission;
mod command;
mod console;
mod error;
mod key;
mod limits;
mod resolver;
mod sender;
mod store;

use std::sync::Arc;

use tokio::time::{Instant, timeout_at};
use wasmtime::Store;
use wasmtime::component::{Instance, InstancePre, Linker};
use wasmtime_wasi::I32Exit;
use wasmtime_wasi::p2::bindings::{Command, CommandIndices};

pub use admission::{
    AdmitFuture, AdmittedRequest, OutgoingRequest, RequestAdmission, SettleFuture,
};
pub use command::Run;
pub use console::{Console, Stream};
pub use error::RunError;
pub use key::PLACEHOLDER;
pub use limits::{MAX_TOTAL, RunLimits};

use key::KeyGuard;
use sender::{Sender, SenderConfig};
use store::State;

use crate::sandbox::{Component, ComponentSource, Held, World};

/// The exit of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestExit {
    /// The guest reported success.
    Success,
    /// The guest reported failure.
    Failure,
}

/// Runs a command to its end. Dropping the future ends the command and its connections.
///
/// # Errors
/// If the command cannot be run, or a limit or a trap stopped it.
pub async fn run(run: Run) -> Result<GuestExit, RunError> {
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

/// Converts the result of a command. wasmtime reports an exit as an error; an exit is not a failure here.
fn ended(called: wasmtime::Result<Result<(), ()>>) -> wasmtime::Result<GuestExit> {
    let well = match called {
        Ok(reported) => reported.is_ok(),
        Err(error) => match error.downcast_ref::<I32Exit>() {
            Some(exit) => exit.0 == 0,
            None => return Err(error),
        },
    };
    Ok(if well {
        GuestExit::Success
    } else {
        GuestExit::Failure
    })
}

fn state(run: &Run, deadline: Instant) -> Result<State, RunError> {
    let sender = Sender::new(SenderConfig {
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
