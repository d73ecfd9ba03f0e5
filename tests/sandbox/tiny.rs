//! A second world in the sandbox: all that a world adds to it.

use glovebox::sandbox::{Component, Held, SandboxError, Session, World};
use wasmtime::Store;
use wasmtime::component::{Instance, InstancePre};

mod bindings;

/// The world.
pub struct TinyWorld;

impl World for TinyWorld {
    const NAME: &'static str = "test:tiny/tiny";
    type Data = ();
    type Indices = bindings::TinyIndices;
    type Exports = bindings::Tiny;

    fn find(component: &InstancePre<Held<()>>) -> wasmtime::Result<Self::Indices> {
        bindings::TinyIndices::new(component)
    }

    fn load(
        indices: &Self::Indices,
        store: &mut Store<Held<()>>,
        instance: &Instance,
    ) -> wasmtime::Result<Self::Exports> {
        indices.load(store, instance)
    }
}

/// One instance.
pub struct Tiny(Session<TinyWorld>);

impl Tiny {
    pub fn open(component: &Component<TinyWorld>) -> Result<Self, SandboxError> {
        Ok(Self(component.open(())?))
    }

    pub fn act(&mut self, bytes: &[u8]) -> Result<Vec<String>, SandboxError> {
        self.0
            .call(|store, exports| exports.test_tiny_api().call_act(store, bytes))
    }
}
