//! What can go wrong in the sandbox, and how wasmtime's error becomes one of these.

use std::time::Duration;

use wasmtime::Trap;
use wasmtime::component::ResourceTableError;

use super::Bounds;
use super::memory_limiter::Refused;

/// Why a session was ended, or why there is no component to run. Other sessions are not affected.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum SandboxError {
    /// A call ran longer than its bound.
    #[error(
        "the component {world} ran for more than {} ms of its own time in one call and was stopped; \
         what it returned before is kept. If the component is your own, look for an endless loop",
        .limit.as_millis()
    )]
    Cpu {
        /// The component's world.
        world: &'static str,
        /// The bound.
        limit: Duration,
    },
    /// The component asked for more memory than its bound.
    #[error(
        "the component {world} asked for more than {} MiB of memory and was stopped; \
         what it returned before is kept. Give it less input, or use another component",
        .limit >> 20
    )]
    Memory {
        /// The component's world.
        world: &'static str,
        /// The bound in bytes.
        limit: usize,
    },
    /// The component asked for larger tables than its bound.
    #[error(
        "the component {world} asked for more than {limit} table elements and was stopped; \
         what it returned before is kept. Use another component"
    )]
    Table {
        /// The component's world.
        world: &'static str,
        /// The bound in elements.
        limit: usize,
    },
    /// The component trapped.
    #[error(
        "the component {world} failed ({class}); what it returned before is kept. \
         Please report it, together with the input that it failed on"
    )]
    Trap {
        /// The component's world.
        world: &'static str,
        /// A stable, hyphenated class, such as `unreachable` or `stack-overflow`.
        class: &'static str,
    },
    /// A call handed over more than its bound.
    #[error(
        "the component {world} handed over more than {} MiB in one call and was stopped; \
         what it returned before is kept. Give it less input, or use another component",
        .limit >> 20
    )]
    Output {
        /// The component's world.
        world: &'static str,
        /// The bound in bytes.
        limit: usize,
    },
    /// The component holds more handles than its bound.
    #[error(
        "the component {world} holds more than {limit} handles and was stopped; \
         what it returned before is kept. If the component is your own, it leaks resources"
    )]
    Handles {
        /// The component's world.
        world: &'static str,
        /// The bound.
        limit: usize,
    },
    /// There is no component to run.
    #[error("{name} cannot be used as a component of the world {world}: {problem}")]
    Component {
        /// The component, as a person knows it.
        name: String,
        /// The world that it is to have.
        world: &'static str,
        /// What is wrong with it and what would be right.
        problem: String,
    },
}

impl SandboxError {
    /// Returns the stable name of this kind of error, for programs.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Cpu { .. } => "sandbox-cpu",
            Self::Memory { .. } => "sandbox-memory",
            Self::Table { .. } => "sandbox-table",
            Self::Trap { .. } => "sandbox-trap",
            Self::Output { .. } => "sandbox-output",
            Self::Handles { .. } => "sandbox-handles",
            Self::Component { .. } => "sandbox-component",
        }
    }

    /// Classifies what ended a call. `refused` is what the limiter refused before: a guest out of memory aborts,
    /// which looks like any other `unreachable`.
    pub(super) fn of_call(
        world: &'static str,
        bounds: &Bounds,
        error: &wasmtime::Error,
        refused: Option<Refused>,
    ) -> Self {
        tracing::debug!(world, error = one_line(error), "a session was ended");
        let trap = error.downcast_ref::<Trap>();
        if trap == Some(&Trap::Interrupt) {
            let limit = bounds.cpu;
            return Self::Cpu { world, limit };
        }
        // These two have no public type; the tests check them against the messages of the locked version.
        let root = error.root_cause().to_string();
        if root.contains("fuel allocated for hostcalls") {
            let limit = bounds.output_bytes;
            return Self::Output { world, limit };
        }
        let full = matches!(error.downcast_ref(), Some(ResourceTableError::Full));
        if full || root.contains("store handle limit exceeded") {
            let limit = bounds.handles;
            return Self::Handles { world, limit };
        }
        match refused {
            Some(Refused::Memory) => {
                let limit = bounds.memory_bytes;
                Self::Memory { world, limit }
            }
            Some(Refused::Table) => {
                let limit = bounds.table_elements;
                Self::Table { world, limit }
            }
            None => {
                let class = trap.map_or("bad-value", class_of);
                Self::Trap { world, class }
            }
        }
    }
}

/// The stable name of a trap. A value that cannot be lifted is no trap and is named `bad-value`.
const fn class_of(trap: &Trap) -> &'static str {
    match trap {
        Trap::UnreachableCodeReached => "unreachable",
        Trap::StackOverflow => "stack-overflow",
        Trap::MemoryOutOfBounds => "memory-out-of-bounds",
        Trap::TableOutOfBounds => "table-out-of-bounds",
        Trap::IndirectCallToNull => "null-call",
        Trap::BadSignature => "bad-signature",
        Trap::IntegerOverflow => "integer-overflow",
        Trap::IntegerDivisionByZero => "division-by-zero",
        Trap::BadConversionToInteger => "bad-conversion",
        Trap::CannotEnterComponent => "cannot-enter",
        Trap::CannotLeaveComponent => "cannot-leave",
        _ => "other",
    }
}

/// Returns an error and its causes on one line, cut where it stops being of use.
pub(super) fn one_line(error: &wasmtime::Error) -> String {
    const LONGEST: usize = 300;
    let text = format!("{error:#}");
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(LONGEST).collect()
}
