//! The sandbox: runs WebAssembly components and bounds everything that they can use.
//!
//! Nothing here knows a particular world. A [`World`] adds the bindings that were generated from its WIT, and
//! gets the rest from here: a [`Component`] is compiled in the background, a [`Session`] is one instance of it
//! in a wasmtime store of its own, and every call into a session is bounded by [`Bounds`]. CPU is bounded by
//! epochs, memory by a limiter, results by a byte count, handles by a number. A call that exceeds a bound or
//! traps ends its session with a [`SandboxError`], and no other.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use glovebox::answers::AnswersWorld;
//! use glovebox::sandbox::{Bounds, Component, Sandbox, ComponentSource};
//!
//! let source = ComponentSource::Embedded(glovebox::answers::COMPONENT);
//! let component: Component<AnswersWorld> =
//!     Component::start(&Sandbox::default(), source, Bounds::default());
//! let mut session = component.open(())?;
//! let mode = session.call(|store, exports| {
//!     exports.glovebox_answers_reply().call_infer_mode(store, b"data: [DONE]\n")
//! })?;
//! assert_eq!(mode.name(), "answer");
//! # Ok(())
//! # }
//! ```

mod bounds;
mod cache;
mod component;
mod error;
mod held;
mod memory_limiter;
mod meter;
mod runtime;
mod session;
mod ticker;
mod world;

pub use self::bounds::{Bounds, CHUNK_BYTES};
pub use self::component::{Component, ComponentSource};
pub use self::error::SandboxError;
pub use self::held::Held;
pub use self::runtime::Sandbox;
pub use self::session::Session;
pub use self::world::World;
