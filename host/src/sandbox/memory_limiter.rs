//! Bounds what a store can grow to, and records whether it refused.

use wasmtime::ResourceLimiter;

use super::Bounds;

/// The limiter of one session.
#[derive(Debug)]
pub(super) struct MemoryLimiter {
    memory_left: usize,
    elements_left: usize,
    instances: usize,
    refused: Option<Refused>,
}

/// What a guest did not get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Linear memory.
    Memory,
    /// Elements of a table.
    Table,
}

impl MemoryLimiter {
    pub(super) const fn new(bounds: &Bounds) -> Self {
        Self {
            memory_left: bounds.memory_bytes,
            elements_left: bounds.table_elements,
            instances: bounds.instances,
            refused: None,
        }
    }

    /// Returns what was refused last. A guest that gets no memory aborts, and that looks like any other trap.
    pub(super) const fn refused(&self) -> Option<Refused> {
        self.refused
    }

    /// Takes what is asked for out of what is left, over all memories (or tables) of the store.
    fn take(left: &mut usize, current: usize, desired: usize) -> bool {
        let rest = left.checked_sub(desired.saturating_sub(current));
        *left = rest.unwrap_or(*left);
        rest.is_some()
    }

    fn granted(&mut self, granted: bool, what: Refused) -> bool {
        if !granted {
            self.refused = Some(what);
        }
        granted
    }
}

impl ResourceLimiter for MemoryLimiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let granted = Self::take(&mut self.memory_left, current, desired);
        Ok(self.granted(granted, Refused::Memory))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let granted = Self::take(&mut self.elements_left, current, desired);
        Ok(self.granted(granted, Refused::Table))
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn tables(&self) -> usize {
        self.instances
    }

    fn memories(&self) -> usize {
        self.instances
    }
}
