//! What a world adds to the sandbox.

use wasmtime::Store;
use wasmtime::component::{Instance, InstancePre, Linker};

use super::Held;

/// A component's world: its bindings, and what the host offers to it.
///
/// `wasmtime::component::bindgen!` generates the two types that an implementation names: for a world `parser`
/// these are `ParserIndices` and `Parser`.
pub trait World: 'static {
    /// The world as WIT names it, such as `glovebox:answers/answers`; error messages use it.
    const NAME: &'static str;

    /// Whether the world imports anything. A component that imports is refused where its world does not.
    const IMPORTS: bool = false;

    /// What the imported functions work on; `()` where nothing is imported.
    type Data: Send + 'static;

    /// Where the world's exports are in a component.
    type Indices: Send + Sync + 'static;

    /// The exports of one instance.
    type Exports: Send + Sync + 'static;

    /// Defines what the world imports.
    ///
    /// # Errors
    /// When a definition is there already.
    fn link(linker: &mut Linker<Held<Self::Data>>) -> wasmtime::Result<()> {
        let _ = linker;
        Ok(())
    }

    /// Finds the world's exports in a component.
    ///
    /// # Errors
    /// When one is missing.
    fn find(component: &InstancePre<Held<Self::Data>>) -> wasmtime::Result<Self::Indices>;

    /// Loads the exports of an instance.
    ///
    /// # Errors
    /// When one has another type than the world says.
    fn load(
        indices: &Self::Indices,
        store: &mut Store<Held<Self::Data>>,
        instance: &Instance,
    ) -> wasmtime::Result<Self::Exports>;
}
