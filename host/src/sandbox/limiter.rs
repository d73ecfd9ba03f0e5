//! Bounds what a store can grow to, and remembers that it said no.

use wasmtime::ResourceLimiter;

use super::config::{EngineConfig, INSTANCES, TABLE_ELEMENTS, TABLES};

/// The data of a store: its limiter.
#[derive(Debug)]
pub(super) struct Limiter {
    memory_left: usize,
    elements_left: usize,
    refused: bool,
}

impl Limiter {
    pub(super) fn new(config: &EngineConfig) -> Self {
        Self {
            memory_left: config.memory_bytes,
            elements_left: TABLE_ELEMENTS,
            refused: false,
        }
    }

    /// Whether anything was refused so far.
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
        INSTANCES
    }

    fn tables(&self) -> usize {
        TABLES
    }

    fn memories(&self) -> usize {
        TABLES
    }
}
