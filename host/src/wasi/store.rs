//! What one run holds: its WASI context, its way out, its memory bound.

use std::sync::Arc;

use wasmtime::ResourceLimiter;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use super::console::{GuestStream, Stream};
use super::limits::{RESOURCES, TABLE_ELEMENTS};
use super::sender::{Hooks, Sender};
use super::{PLACEHOLDER, Run};

/// The data of the store.
pub(super) struct State {
    pub(super) limiter: MemoryLimiter,
    wasi: WasiCtx,
    http: WasiHttpCtx,
    hooks: Hooks,
    table: ResourceTable,
}

impl State {
    /// The guest reads the process's standard input and writes to the console; it has no folder, no socket and no variable but these.
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
        table.set_max_capacity(RESOURCES);
        Self {
            limiter: MemoryLimiter::new(run.limits.memory_bytes),
            wasi: wasi.build(),
            http: WasiHttpCtx::new(),
            hooks: Hooks(sender),
            table,
        }
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView {
            ctx: &mut self.http,
            table: &mut self.table,
            hooks: &mut self.hooks,
        }
    }
}

/// Bounds memory and tables, and remembers that it said no: a guest out of memory aborts, and that looks
/// like any other trap.
#[derive(Debug)]
pub(super) struct MemoryLimiter {
    bytes_left: usize,
    elements_left: usize,
    refused: bool,
}

impl MemoryLimiter {
    const fn new(bytes: usize) -> Self {
        Self {
            bytes_left: bytes,
            elements_left: TABLE_ELEMENTS,
            refused: false,
        }
    }

    /// Whether anything was refused.
    pub(super) const fn refused(&self) -> bool {
        self.refused
    }
}

impl ResourceLimiter for MemoryLimiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(take(
            &mut self.bytes_left,
            desired.saturating_sub(current),
            &mut self.refused,
        ))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(take(
            &mut self.elements_left,
            desired.saturating_sub(current),
            &mut self.refused,
        ))
    }
}

fn take(left: &mut usize, wanted: usize, refused: &mut bool) -> bool {
    if let Some(rest) = left.checked_sub(wanted) {
        *left = rest;
        return true;
    }
    *refused = true;
    false
}
