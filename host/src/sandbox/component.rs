//! A component that is compiled in the background.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;

use tokio::sync::Notify;
use wasmtime::component::{Component as Code, InstancePre, Linker};

use super::error::one_line;
use super::runtime::Runtime;
use super::{Bounds, Held, Sandbox, SandboxError, Session, World};

/// Where a component comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComponentSource {
    /// Built into this binary.
    Embedded(&'static [u8]),
    /// A file.
    File(PathBuf),
}

/// A component of the world `W` and the bounds that its sessions run under. A clone is cheap and shares the
/// compiled code.
pub struct Component<W: World> {
    compiling: Arc<Compiling<W>>,
}

/// A component that is being compiled or is compiled.
struct Compiling<W: World> {
    source: ComponentSource,
    bounds: Bounds,
    result: OnceLock<Result<Arc<Compiled<W>>, SandboxError>>,
    done: Notify,
}

/// A component that is ready to be instantiated.
pub(super) struct Compiled<W: World> {
    pub(super) runtime: Arc<Runtime>,
    pub(super) pre: InstancePre<Held<W::Data>>,
    pub(super) indices: W::Indices,
    pub(super) bounds: Bounds,
    /// What a person calls the component.
    name: String,
}

impl<W: World> Component<W> {
    /// Starts to compile on a thread of its own and returns at once. What goes wrong there is reported by
    /// [`Component::ready`] and [`Component::open`].
    #[must_use]
    pub fn start(sandbox: &Sandbox, source: ComponentSource, bounds: Bounds) -> Self {
        let compiling = Arc::new(Compiling {
            source,
            bounds,
            result: OnceLock::new(),
            done: Notify::new(),
        });
        let deliver = Deliver {
            to: Arc::clone(&compiling),
            result: None,
        };
        let sandbox = sandbox.clone();
        let thread = thread::Builder::new().name("glovebox-compile".to_owned());
        // Without a thread the closure is dropped, and that delivers the failure.
        let _ = thread.spawn(move || {
            let result = compile(&sandbox, &deliver.to).map(Arc::new);
            deliver.send(result);
        });
        Self { compiling }
    }

    /// Waits until the component is compiled, without holding a thread.
    ///
    /// # Errors
    /// [`SandboxError::Component`] when it cannot be used.
    pub async fn ready(&self) -> Result<(), SandboxError> {
        loop {
            // Registered before the look, so that a result in between is not missed.
            let mut done = std::pin::pin!(self.compiling.done.notified());
            done.as_mut().enable();
            if let Some(result) = self.compiling.result.get() {
                return result.as_ref().map(|_| ()).map_err(Clone::clone);
            }
            done.await;
        }
    }

    /// Opens a session for synchronous calls: a new instance in a store of its own. Holds its thread until
    /// the component is compiled.
    ///
    /// # Errors
    /// [`SandboxError::Component`] when the component cannot be used, else what ended its start function.
    pub fn open(&self, data: W::Data) -> Result<Session<W>, SandboxError> {
        Session::open(self.compiled()?, data)
    }

    /// Opens a session for asynchronous calls. Wait for [`Component::ready`] first, so that no thread is held.
    ///
    /// # Errors
    /// As [`Component::open`].
    pub async fn open_async(&self, data: W::Data) -> Result<Session<W>, SandboxError> {
        Session::open_async(self.compiled()?, data).await
    }

    /// Holds this thread until there is a result.
    fn compiled(&self) -> Result<Arc<Compiled<W>>, SandboxError> {
        self.compiling.result.wait().clone()
    }
}

impl<W: World> Compiled<W> {
    /// The component does not export what its world says.
    pub(super) fn other_world(&self, error: &wasmtime::Error) -> SandboxError {
        other_world::<W>(&self.name, error)
    }
}

/// Sets a result even where the thread panics, so that nobody waits for ever.
struct Deliver<W: World> {
    to: Arc<Compiling<W>>,
    result: Option<Result<Arc<Compiled<W>>, SandboxError>>,
}

impl<W: World> Deliver<W> {
    /// Sets this result; dropping does the work.
    fn send(mut self, result: Result<Arc<Compiled<W>>, SandboxError>) {
        self.result = Some(result);
    }
}

impl<W: World> Drop for Deliver<W> {
    fn drop(&mut self) {
        let result = self.result.take().unwrap_or_else(|| {
            let problem = "the compiler failed on it; use another component";
            Err(unusable::<W>(&self.to.source.name(), problem))
        });
        // It is set once: there is one thread and one of these.
        drop(self.to.result.set(result));
        self.to.done.notify_waiters();
    }
}

/// From the component's bytes to something that can be instantiated.
fn compile<W: World>(
    sandbox: &Sandbox,
    wanted: &Compiling<W>,
) -> Result<Compiled<W>, SandboxError> {
    let name = wanted.source.name();
    let refused = |problem: String| unusable::<W>(&name, &problem);
    let runtime = sandbox.runtime().map_err(refused)?;
    let code = match &wanted.source {
        ComponentSource::Embedded(bytes) => Code::new(&runtime.engine, bytes),
        ComponentSource::File(path) => {
            let bytes = read(path, wanted.bounds.component_bytes).map_err(refused)?;
            Code::new(&runtime.engine, bytes)
        }
    }
    .map_err(|error| refused(one_line(&error)))?;
    let mut linker = Linker::new(&runtime.engine);
    if W::IMPORTS {
        W::link(&mut linker).map_err(|error| refused(one_line(&error)))?;
    } else {
        refuse_imports(&runtime, &code).map_err(refused)?;
    }
    let pre = linker
        .instantiate_pre(&code)
        .map_err(|error| refused(one_line(&error)))?;
    let indices = W::find(&pre).map_err(|error| other_world::<W>(&name, &error))?;
    Ok(Compiled {
        runtime,
        pre,
        indices,
        bounds: wanted.bounds,
        name,
    })
}

/// A component whose world imports nothing touches nothing; one that imports is refused by name.
fn refuse_imports(runtime: &Runtime, code: &Code) -> Result<(), String> {
    let ty = code.component_type();
    let imports: Vec<&str> = ty.imports(&runtime.engine).map(|(name, _)| name).collect();
    if imports.is_empty() {
        return Ok(());
    }
    let imports = imports.join(", ");
    Err(format!(
        "it imports {imports}; a component of this world must import nothing"
    ))
}

/// Reads a component's file, if it is not too large. Anything but a regular file is refused: a pipe may never deliver,
/// and a device never end.
fn read(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    let unreadable = |error: std::io::Error| format!("it cannot be read: {error}");
    // Before it is opened: opening a pipe waits for its other end.
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let file = fs::File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > limit {
        return Err(format!("it is larger than {} MiB", limit >> 20));
    }
    Ok(bytes)
}

fn unusable<W: World>(name: &str, problem: &str) -> SandboxError {
    SandboxError::Component {
        name: name.to_owned(),
        world: W::NAME,
        problem: problem.to_owned(),
    }
}

fn other_world<W: World>(name: &str, error: &wasmtime::Error) -> SandboxError {
    let error = one_line(error);
    unusable::<W>(name, &format!("it does not export the world ({error})"))
}

impl ComponentSource {
    /// What a person calls the component.
    fn name(&self) -> String {
        match self {
            Self::Embedded(_) => "the built-in component".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }
}

impl<W: World> Clone for Component<W> {
    fn clone(&self) -> Self {
        Self {
            compiling: Arc::clone(&self.compiling),
        }
    }
}

impl<W: World> std::fmt::Debug for Component<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Component")
            .field("world", &W::NAME)
            .field("source", &self.compiling.source.name())
            .field("compiled", &self.compiling.result.get().is_some())
            .finish_non_exhaustive()
    }
}
