//! Bounds what a store can grow to, and records whether it refused.

use wasmtime::ResourceLimiter;

use super::Bounds;

/// The limiter of one session.
#[derive(Debug)]
pub(super) struct Limiter {
    memory_left: usize,
    elements_left: usize,
    instances: usize,
    refused: bool,
}

impl Limiter {
    pub(super) const fn new(bounds: &Bounds) -> Self {
        Self {
            memory_left: bounds.memory_bytes,
            elements_left: bounds.table_elements,
            instances: bounds.instances,
            refused: false,
        }
    }

    /// Whether anything was refused so far. A guest that gets no memory aborts, and that looks like any other
    /// trap.
    pub(super) const fn refused(&self) -> bool {
        self.refused
    }

    /// Takes what is asked for out of what is left, over all memories (or tables) of the store.
    fn take(left: &mut usize, current: usize, desired: usize, refused: &mut bool) -> bool {
        match left.checked_sub(desired.saturating_sub(current)) {
            Some(rest) => {
                *left = rest;
                true
            }
            None => {
                *refused = true;
                false
            }
        }
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let granted = Self::take(&mut self.memory_left, current, desired, &mut self.refused);
        Ok(granted)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let granted = Self::take(&mut self.elements_left, current, desired, &mut self.refused);
        Ok(granted)
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
