//! What can go wrong in the sandbox, and how a raw error becomes one of these.

use std::time::Duration;

use wasmtime::Trap;

use super::config::EngineConfig;

/// Why a stream was ended, or why there is no component to run. Other streams are not affected.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum SandboxError {
    /// A call ran longer than its bound.
    #[error(
        "the parser component ran for more than {} ms in one call and was stopped; \
         what came before is kept. If the component is your own, look for an endless loop",
        .limit.as_millis()
    )]
    Cpu {
        /// The bound.
        limit: Duration,
    },
    /// The component asked for more memory than its bound.
    #[error(
        "the parser component asked for more than {} MiB of memory and was stopped; \
         what came before is kept. Lower the limits of the stream, or use another component",
        .limit >> 20
    )]
    Memory {
        /// The bound in bytes.
        limit: usize,
    },
    /// The component trapped.
    #[error(
        "the parser component failed ({class}) and its stream was ended; what came before is kept. \
         The raw stream shows what it could not read: please report it"
    )]
    Trap {
        /// A stable, hyphenated class, such as `unreachable` or `stack-overflow`.
        class: &'static str,
    },
    /// A call handed back more than its bound.
    #[error(
        "the parser component handed back more than {} MiB in one call and was stopped; \
         what came before is kept. Lower the limits of the stream, or use another component",
        .limit >> 20
    )]
    Output {
        /// The bound in bytes.
        limit: usize,
    },
    /// The component holds more handles than its bound.
    #[error(
        "the parser component holds more than {limit} handles and was stopped; \
         what came before is kept. If the component is your own, it leaks resources"
    )]
    Handles {
        /// The bound.
        limit: usize,
    },
    /// There is no component to run.
    #[error("{name} cannot be used as a parser: {problem}")]
    Component {
        /// The component, as a person knows it.
        name: String,
        /// What is wrong with it and what would be right.
        problem: String,
    },
}

impl SandboxError {
    /// The stable name of this kind of error, for programs.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Cpu { .. } => "sandbox-cpu",
            Self::Memory { .. } => "sandbox-memory",
            Self::Trap { .. } => "sandbox-trap",
            Self::Output { .. } => "sandbox-output",
            Self::Handles { .. } => "sandbox-handles",
            Self::Component { .. } => "sandbox-component",
        }
    }

    /// Names what a call ended with. `refused` says whether the limiter refused memory before: a guest out
    /// of memory aborts, and so looks like any other `unreachable`.
    pub(super) fn of_call(error: &wasmtime::Error, config: &EngineConfig, refused: bool) -> Self {
        let trap = error.downcast_ref::<Trap>();
        if trap == Some(&Trap::Interrupt) {
            return Self::Cpu { limit: config.cpu };
        }
        // These two have no public type; the tests hold them against the messages of the locked version.
        let root = error.root_cause().to_string();
        if root.contains("fuel allocated for hostcalls") {
            return Self::Output {
                limit: config.output_bytes,
            };
        }
        if root.contains("store handle limit exceeded") {
            return Self::Handles {
                limit: config.handles,
            };
        }
        if refused {
            return Self::Memory {
                limit: config.memory_bytes,
            };
        }
        Self::Trap {
            class: trap.map_or("bad-value", class_of),
        }
    }

    /// Says why a component cannot be used.
    pub(super) fn component(config: &EngineConfig, problem: impl Into<String>) -> Self {
        Self::Component {
            name: config.component_name(),
            problem: problem.into(),
        }
    }
}

/// The stable name of a trap. A value that does not lift is no trap and is named `bad-value`.
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
