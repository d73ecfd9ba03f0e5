//! Compiles the component on a thread of its own and lets others wait for it.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread;

use tokio::sync::Notify;
use wasmtime::component::{Component, Linker};
use wasmtime::{Cache, CacheConfig, Config, Engine};

use super::bindings::AnswersPre;
use super::config::{COMPONENT_BYTES, EngineConfig};
use super::error::SandboxError;
use super::limiter::Limiter;
use super::ticker::Ticker;

/// A component that is ready to be instantiated.
pub(super) struct Compiled {
    pub(super) engine: Engine,
    pub(super) pre: AnswersPre<Limiter>,
    pub(super) ticker: Ticker,
}

/// A component that is being compiled or is compiled.
#[derive(Default)]
pub(super) struct Compiling {
    result: OnceLock<Result<Arc<Compiled>, SandboxError>>,
    done: Notify,
}

impl std::fmt::Debug for Compiling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compiling")
            .field("done", &self.result.get().is_some())
            .finish()
    }
}

/// Sets a result even where the thread panics, so that nobody waits for ever.
struct Deliver {
    to: Arc<Compiling>,
    result: Option<Result<Arc<Compiled>, SandboxError>>,
    config: Arc<EngineConfig>,
}

impl Deliver {
    /// Sets this result; dropping does the work.
    fn send(mut self, result: Result<Arc<Compiled>, SandboxError>) {
        self.result = Some(result);
    }
}

impl Drop for Deliver {
    fn drop(&mut self) {
        let result = self.result.take().unwrap_or_else(|| {
            Err(SandboxError::component(
                &self.config,
                "its compilation failed inside the compiler; use another component",
            ))
        });
        // Set once only, by construction: there is one thread and one of these.
        drop(self.to.result.set(result));
        self.to.done.notify_waiters();
    }
}

impl Compiling {
    /// Starts the thread.
    pub(super) fn start(config: Arc<EngineConfig>) -> Arc<Self> {
        let compiling = Arc::new(Self::default());
        let deliver = Deliver {
            to: Arc::clone(&compiling),
            result: None,
            config,
        };
        let thread = thread::Builder::new().name("glovebox-compile".to_owned());
        // Without a thread the closure is dropped, and that delivers the failure.
        let _ = thread.spawn(move || {
            let result = compile(&deliver.config).map(Arc::new);
            deliver.send(result);
        });
        compiling
    }

    /// Holds this thread until there is a result.
    pub(super) fn wait(&self) -> Result<Arc<Compiled>, SandboxError> {
        self.result.wait().clone()
    }

    /// Waits without holding a thread.
    pub(super) async fn ready(&self) -> Result<(), SandboxError> {
        loop {
            // Registered before the look, so that a result in between is not missed.
            let mut done = std::pin::pin!(self.done.notified());
            done.as_mut().enable();
            if let Some(result) = self.result.get() {
                return result.as_ref().map(|_| ()).map_err(Clone::clone);
            }
            done.await;
        }
    }
}

/// From the component's bytes to something that can be instantiated.
fn compile(config: &EngineConfig) -> Result<Compiled, SandboxError> {
    let broken = |error: wasmtime::Error| SandboxError::component(config, one_line(&error));
    let engine = Engine::new(&settings(config)).map_err(broken)?;
    let component = match &config.component {
        None => Component::new(&engine, super::COMPONENT),
        Some(path) => Component::new(&engine, read(path, config)?),
    }
    .map_err(broken)?;
    refuse_imports(&engine, &component, config)?;
    let pre = Linker::new(&engine)
        .instantiate_pre(&component)
        .and_then(AnswersPre::new)
        .map_err(|error| {
            let error = one_line(&error);
            SandboxError::component(
                config,
                format!("it does not export the world glovebox:answers/answers ({error})"),
            )
        })?;
    let ticker = Ticker::start(engine.weak()).map_err(|error| {
        SandboxError::component(
            config,
            format!("no thread can be started to bound it: {error}"),
        )
    })?;
    Ok(Compiled {
        engine,
        pre,
        ticker,
    })
}

/// A component of this world touches nothing; one that wants to is refused by name.
fn refuse_imports(
    engine: &Engine,
    component: &Component,
    config: &EngineConfig,
) -> Result<(), SandboxError> {
    let ty = component.component_type();
    let imports: Vec<&str> = ty.imports(engine).map(|(name, _)| name).collect();
    if imports.is_empty() {
        return Ok(());
    }
    Err(SandboxError::component(
        config,
        format!(
            "it imports {}; a parser must import nothing",
            imports.join(", ")
        ),
    ))
}

/// The compiler's settings. The world has no asynchronous function, and without that machinery a call
/// costs half; threads and the rest of what the built-in component does not use stay off.
fn settings(config: &EngineConfig) -> Config {
    let mut settings = Config::new();
    settings
        .epoch_interruption(true)
        .concurrency_support(false)
        .wasm_backtrace_max_frames(None);
    if let Some(cache) = config.cache.as_deref().and_then(cache_in) {
        settings.cache(Some(cache));
    }
    settings
}

/// The cache in this folder, or none: whoever can write there can run code as this user.
fn cache_in(folder: &Path) -> Option<Cache> {
    if !make_private(folder) {
        tracing::warn!(
            folder = %folder.display(),
            "not kept: compiled code goes only into a folder of this user that nobody else can write to"
        );
        return None;
    }
    let mut cache = CacheConfig::new();
    cache.with_directory(folder);
    match Cache::new(cache) {
        Ok(cache) => Some(cache),
        Err(error) => {
            tracing::warn!(folder = %folder.display(), %error, "compiled code is not kept");
            None
        }
    }
}

/// Makes the folder if it is not there, and says whether it is this user's alone to write to.
#[cfg(unix)]
fn make_private(folder: &Path) -> bool {
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};

    let mut builder = fs::DirBuilder::new();
    if builder.recursive(true).mode(0o700).create(folder).is_err() {
        return false;
    }
    // A file made here shows who we are to the file system.
    let Ok(us) = tempfile::tempfile_in(folder).and_then(|file| file.metadata()) else {
        return false;
    };
    fs::symlink_metadata(folder)
        .is_ok_and(|meta| meta.is_dir() && meta.uid() == us.uid() && meta.mode() & 0o022 == 0)
}

/// Elsewhere the profile folder's own rights decide.
#[cfg(not(unix))]
fn make_private(folder: &Path) -> bool {
    fs::create_dir_all(folder).is_ok()
}

/// The component's file, if it is of a size that can be one.
fn read(path: &Path, config: &EngineConfig) -> Result<Vec<u8>, SandboxError> {
    let unreadable = |error: std::io::Error| {
        SandboxError::component(config, format!("it cannot be read: {error}"))
    };
    let file = fs::File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(COMPONENT_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > COMPONENT_BYTES {
        let limit = COMPONENT_BYTES >> 20;
        return Err(SandboxError::component(
            config,
            format!("it is larger than {limit} MiB"),
        ));
    }
    Ok(bytes)
}

/// An error and its causes on one line, cut where it stops being of use.
fn one_line(error: &wasmtime::Error) -> String {
    const LONG: usize = 300;
    let text = format!("{error:#}");
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(LONG).collect()
}
