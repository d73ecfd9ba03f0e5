//! The store data of a run: its WASI context and its HTTP sender.

use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use super::command::Run;
use super::console::{GuestStream, Stream};
use super::key::PLACEHOLDER;
use super::sender::{Hooks, Sender};
use crate::sandbox::Held;

/// The state of the imports of a command.
pub(super) struct State {
    wasi: WasiCtx,
    http: WasiHttpCtx,
    hooks: Hooks,
    table: ResourceTable,
}

impl State {
    /// Creates the state. The guest reads the standard input of the process and writes to the console. It has no
    /// folders, no sockets and only the variables set here.
    pub(super) fn new(run: &Run, sender: Arc<Sender>) -> Self {
        let mut wasi = WasiCtx::builder();
        let name = run
            .component
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        wasi.arg(name)
            .args(&run.arguments)
            .env("GLOVEBOX_UPSTREAM", run.origin.to_string())
            .inherit_stdin()
            .stdout(GuestStream::new(&run.console, Stream::Out))
            .stderr(GuestStream::new(&run.console, Stream::Err))
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false);
        if run.key.is_some() {
            wasi.env("BRAVE_ANSWERS_KEY", PLACEHOLDER)
                .env("BRAVE_API_KEY", PLACEHOLDER);
        }
        let mut table = ResourceTable::new();
        table.set_max_capacity(run.limits.bounds.handles);
        Self {
            wasi: wasi.build(),
            http: WasiHttpCtx::new(),
            hooks: Hooks(sender),
            table,
        }
    }
}

impl WasiView for Held<State> {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.data.wasi,
            table: &mut self.data.table,
        }
    }
}

impl WasiHttpView for Held<State> {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView {
            ctx: &mut self.data.http,
            table: &mut self.data.table,
            hooks: &mut self.data.hooks,
        }
    }
}
