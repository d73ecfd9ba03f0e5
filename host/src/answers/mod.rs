//! The answers component: its typed face, and what a question may ask and cost.
//!
//! [`Answers`] runs the component in the sandbox. The types of its world are those of the WIT; [`Reading`] reads
//! one reply and keeps what was read before a failure. [`question`] has the defaults and ranges of a question,
//! [`cost`] its prices and estimates: both are defined here and nowhere else.

mod bindings;
mod calls;
pub mod cost;
pub mod cost_line;
mod parser;
mod partial;
mod progress;
pub mod question;
mod reading;
mod types;

use std::path::PathBuf;

use wasmtime::Store;
use wasmtime::component::{Instance, InstancePre};

use crate::sandbox::{
    Bounds, Component, ComponentSource, Held, Sandbox, SandboxError, Session, World,
};

pub use self::parser::Parser;
pub use self::partial::{empty, unrendered};
pub use self::progress::ResearchProgress;
pub use self::reading::{Read, Reading};
pub use self::types::{
    Alignment, Analyzing, Batch, Block, BlockKind, Citation, Code, Cost, Entity, Event, EventKind,
    Failure, FailureKind, Finished, Format, Header, Heading, HttpRequest, InvalidField, Item,
    Limits, Location, Mode, Outcome, OutcomeError, Progress, Question, Source, Span, StreamError,
    StreamErrorKind, Style, Styled, Table, Thinking, Usage, Warning,
};

/// The component that is built into this binary.
pub const COMPONENT: &[u8] = include_bytes!("../../../guest/dist/answers.wasm");

/// What the embedded component was built from, as JSON: its own hash and the hash of its sources.
pub const COMPONENT_RECORD: &str = include_str!("../../../guest/dist/answers.json");

/// The contract that the component implements, as WIT: the types, then the world.
pub const WIT: [&str; 2] = [
    include_str!("../../../wit/answers/types.wit"),
    include_str!("../../../wit/answers/world.wit"),
];

/// The world `answers`.
#[derive(Clone, Copy, Debug)]
pub struct AnswersWorld;

impl World for AnswersWorld {
    const NAME: &'static str = "glovebox:answers/answers";
    type Data = ();
    type Indices = bindings::AnswersIndices;
    type Exports = bindings::Answers;

    fn find(component: &InstancePre<Held<()>>) -> wasmtime::Result<Self::Indices> {
        bindings::AnswersIndices::new(component)
    }

    fn load(
        indices: &Self::Indices,
        store: &mut Store<Held<()>>,
        instance: &Instance,
    ) -> wasmtime::Result<Self::Exports> {
        indices.load(store, instance)
    }
}

/// Which answers component to run and within what bounds.
#[derive(Clone, Debug, Default)]
pub struct AnswersConfig {
    /// The component's file; the embedded one where absent.
    pub component: Option<PathBuf>,
    /// What each of its sessions may use.
    pub bounds: Bounds,
}

/// The answers component. A clone is cheap and shares the compiled code.
#[derive(Clone, Debug)]
pub struct Answers {
    component: Component<AnswersWorld>,
}

impl Answers {
    /// Starts to compile the component in the background and returns at once. What goes wrong there is
    /// reported by the first call that needs the component, and by [`Answers::ready`].
    #[must_use]
    pub fn start(sandbox: &Sandbox, config: AnswersConfig) -> Self {
        let source = config
            .component
            .map_or(ComponentSource::Embedded(COMPONENT), ComponentSource::File);
        Self {
            component: Component::start(sandbox, source, config.bounds),
        }
    }

    /// Waits until the component is compiled, without holding a thread. Async callers wait here once;
    /// a call made earlier holds its thread until then.
    ///
    /// # Errors
    /// [`SandboxError::Component`] when it cannot be used.
    pub async fn ready(&self) -> Result<(), SandboxError> {
        self.component.ready().await
    }

    fn open(&self) -> Result<Session<AnswersWorld>, SandboxError> {
        self.component.open(())
    }
}
