//! The sandbox with guests that misbehave. Each guest ends its own session with a specific error within its bound, and
//! the next session of the same component works. The tests run for three worlds: those of the
//! answers and the traffic component, and a small one that is defined here.
//!
//! The guests are components built from text modules. They misbehave for input that begins with `!` and answer all
//! other input correctly.

mod tiny;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use glovebox::answers::{Answers, AnswersConfig, AnswersWorld, EventKind, Limits, Mode, Parser};
use glovebox::sandbox::{Bounds, Component, ComponentSource, Sandbox, SandboxError, World};
use glovebox::traffic::{Format, Import, Item, Traffic, TrafficConfig, TrafficWorld};
use wit_parser::Resolve;

use self::tiny::{Tiny, TinyWorld};
use crate::support::any_guest::AnyGuest;
use crate::support::guest::{Guest, ONE_EVENT, encode, push};

/// The CPU limit of a call.
const CPU: Duration = Duration::from_millis(200);
/// How much longer a call may take on a busy machine.
const SLACK: Duration = Duration::from_secs(5);
/// The memory limit of a session.
const MEMORY: usize = 32 << 20;
/// The handle limit of a session.
const HANDLES: usize = 100;
/// The output limit of a call.
const OUTPUT: usize = 1 << 20;

const ENDLESS: &str = "(loop $again (br $again)) unreachable";
const RECURSE: &str = "(func $recurse (param i32) (result i32) (i32.add (i32.const 1) (call $recurse (local.get 0))))";

/// The parts of a core module: the code that runs for `!`, and the code that runs at the start.
#[derive(Clone, Copy)]
struct Module<'a> {
    deed: &'a str,
    pages: u32,
    start: &'a str,
}

impl<'a> Module<'a> {
    const fn doing(deed: &'a str) -> Self {
        Self {
            deed,
            pages: 2,
            start: "",
        }
    }

    fn memory(&self) -> String {
        format!("(memory (export \"memory\") {})", self.pages)
    }
}

/// A world that is tested.
trait Subject: Sized + Sync {
    /// The name of the world in errors.
    const WORLD: &'static str;
    /// The size of an element of the returned list, and the offset of the length of its text.
    const ELEMENT: (u32, u32);
    /// An open session.
    type Open: Send;
    /// Writes the component to a file in a folder.
    fn write(folder: &Path, module: Module<'_>) -> PathBuf;
    fn start(sandbox: &Sandbox, component: PathBuf, bounds: Bounds) -> Self;
    fn open(&self) -> Result<Self::Open, SandboxError>;
    /// Calls the guest and checks its answer.
    fn call(open: &mut Self::Open, bytes: &[u8]) -> Result<(), SandboxError>;
}

impl Subject for Answers {
    const WORLD: &'static str = AnswersWorld::NAME;
    const ELEMENT: (u32, u32) = (176, 20);
    type Open = Parser;

    fn write(folder: &Path, module: Module<'_>) -> PathBuf {
        let mut guest = Guest::default()
            .with("[method]parser.push", push(module.deed))
            .and(ONE_EVENT)
            .and(RECURSE)
            .and(module.start);
        guest.memory = module.memory();
        guest.write(folder)
    }

    fn start(sandbox: &Sandbox, component: PathBuf, bounds: Bounds) -> Self {
        let component = Some(component);
        Self::start(sandbox, AnswersConfig { component, bounds })
    }

    fn open(&self) -> Result<Parser, SandboxError> {
        self.parser(Mode::Answer, Limits::default())
    }

    fn call(open: &mut Parser, bytes: &[u8]) -> Result<(), SandboxError> {
        let batch = open.push(bytes)?;
        assert_eq!(batch.events.len(), 1);
        assert_eq!(batch.events[0].at, 7);
        assert_eq!(batch.events[0].kind, EventKind::Text("ok".to_owned()));
        assert_eq!(batch.error, None);
        Ok(())
    }
}

impl Subject for Component<TinyWorld> {
    const WORLD: &'static str = TinyWorld::NAME;
    const ELEMENT: (u32, u32) = (8, 4);
    type Open = Tiny;

    fn write(folder: &Path, module: Module<'_>) -> PathBuf {
        let (memory, act, start) = (module.memory(), push(module.deed), module.start);
        let module = format!(
            r#"(module
  (import "[export]test:tiny/api" "[resource-new]handle" (func $new (param i32) (result i32)))
  {memory}
  ;; At 1024 a list of one text, which is at 2048.
  (data (i32.const 1024) "\00\05\00\00\01\00\00\00")
  (data (i32.const 1280) "\00\08\00\00\02\00\00\00")
  (data (i32.const 2048) "ok")
  {RECURSE}
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 65536))
  (func (export "test:tiny/api#[constructor]handle") (result i32) (call $new (i32.const 1)))
  (func (export "test:tiny/api#act")
    (param $bytes i32) (param $length i32) (result i32) (local $at i32) {act})
  {start})"#
        );
        let mut resolve = Resolve::default();
        let wit = include_str!("sandbox/tiny.wit");
        let package = resolve.push_str("tiny.wit", wit).unwrap();
        let path = folder.join("guest.wasm");
        std::fs::write(&path, encode(&resolve, package, "tiny", &module)).unwrap();
        path
    }

    fn start(sandbox: &Sandbox, component: PathBuf, bounds: Bounds) -> Self {
        Self::start(sandbox, ComponentSource::File(component), bounds)
    }

    fn open(&self) -> Result<Tiny, SandboxError> {
        Tiny::open(self)
    }

    fn call(open: &mut Tiny, bytes: &[u8]) -> Result<(), SandboxError> {
        assert_eq!(open.act(bytes)?, ["ok"]);
        Ok(())
    }
}

impl Subject for Traffic {
    const WORLD: &'static str = TrafficWorld::NAME;
    const ELEMENT: (u32, u32) = (208, 28);
    type Open = Import;

    fn write(folder: &Path, module: Module<'_>) -> PathBuf {
        let body = format!(
            "(local $at i32) (local $bytes i32) (local $length i32)
             (local.set $bytes (local.get $p1)) (local.set $length (local.get $p2)) {}",
            push(module.deed).replace("$new", "$new-reader")
        );
        let mut guest = AnyGuest::default();
        guest.memory = module.memory();
        let guest = guest
            .with("intake#default-limits", "(i32.const 4096)")
            .with("intake#[method]reader.push", &body)
            .and(RECURSE)
            .and(module.start)
            // At 1024 a batch of one skipped item, which is at 1280: its reason is at 2048.
            .and(
                r#"(data (i32.const 1024) "\00\05\00\00\01\00\00\00\00")
                   (data (i32.const 1280) "\01")
                   (data (i32.const 1304) "\00\08\00\00\02\00\00\00")
                   (data (i32.const 2048) "ok")"#,
            );
        let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit/traffic");
        guest.write(&wit, "traffic", folder)
    }

    fn start(sandbox: &Sandbox, component: PathBuf, bounds: Bounds) -> Self {
        let component = Some(component);
        Self::new(sandbox, TrafficConfig { component, bounds })
    }

    fn open(&self) -> Result<Import, SandboxError> {
        self.import(Format::Har)
    }

    fn call(open: &mut Import, bytes: &[u8]) -> Result<(), SandboxError> {
        let items = open.push(bytes)?;
        let [Item::Skip(skip)] = &items[..] else {
            panic!("{items:?}");
        };
        assert_eq!(skip.reason, "ok");
        Ok(())
    }
}

/// Generates every test for each world.
macro_rules! for_each_world {
    ($($test:ident)*) => {
        mod answers {
            $(#[test] fn $test() { super::$test::<super::Answers>(); })*
        }
        mod traffic {
            $(#[test] fn $test() { super::$test::<super::Traffic>(); })*
        }
        mod tiny_world {
            $(#[test] fn $test() { super::$test::<super::Component<super::TinyWorld>>(); })*
        }
    };
}

for_each_world! {
    an_endless_loop_is_stopped
    a_loop_after_a_long_pause_is_stopped
    a_memory_hog_is_stopped
    a_table_hog_is_stopped
    traps_have_distinct_errors
    a_giant_list_is_refused
    leaked_handles_are_counted
    a_guest_that_fails_at_its_start_is_stopped
    a_file_that_is_not_a_component_of_the_world_is_refused
    sessions_run_concurrently_on_many_threads
    compiled_code_is_cached_only_in_a_private_folder
}

fn bounds() -> Bounds {
    Bounds {
        memory_bytes: MEMORY,
        output_bytes: OUTPUT,
        cpu: CPU,
        handles: HANDLES,
        ..Bounds::default()
    }
}

fn started<S: Subject>(component: PathBuf) -> S {
    S::start(&Sandbox::default(), component, bounds())
}

/// Compiles a component.
fn compiled<S: Subject>(module: Module<'_>) -> S {
    let folder = tempfile::tempdir().unwrap();
    let subject: S = started(S::write(folder.path(), module));
    // Compile it before the file is removed.
    drop(subject.open());
    subject
}

fn works<S: Subject>(open: &mut S::Open) {
    S::call(open, b".").unwrap();
}

/// Runs `deed` in one session and checks that a concurrent and a later session work. Returns the error of the first
/// session.
fn ends_with<S: Subject>(deed: &str) -> SandboxError {
    let subject: S = compiled(Module::doing(deed));
    let mut beside = subject.open().unwrap();
    works::<S>(&mut beside);

    let mut bad = subject.open().unwrap();
    works::<S>(&mut bad);
    let start = Instant::now();
    let error = S::call(&mut bad, b"!").unwrap_err();
    assert!(start.elapsed() < CPU + SLACK, "{:?}", start.elapsed());
    // The session stays ended and returns the same error.
    assert_eq!(S::call(&mut bad, b".").unwrap_err(), error);
    assert!(error.to_string().contains(S::WORLD), "{error}");

    works::<S>(&mut beside);
    works::<S>(&mut subject.open().unwrap());
    error
}

fn an_endless_loop_is_stopped<S: Subject>() {
    let (error, world) = (ends_with::<S>(ENDLESS), S::WORLD);
    assert_eq!(error, SandboxError::Cpu { world, limit: CPU });
    assert_eq!(error.kind(), "sandbox-cpu");
}

fn a_loop_after_a_long_pause_is_stopped<S: Subject>() {
    // The CPU clock sleeps while nothing runs. It must wake up in time.
    let subject: S = compiled(Module::doing(ENDLESS));
    let mut open = subject.open().unwrap();
    works::<S>(&mut open);
    std::thread::sleep(Duration::from_millis(1500));
    let start = Instant::now();
    let error = S::call(&mut open, b"!").unwrap_err();
    assert_eq!(error.kind(), "sandbox-cpu");
    assert!(
        start.elapsed() >= CPU,
        "stopped too early: {:?}",
        start.elapsed()
    );
    assert!(start.elapsed() < CPU + SLACK, "{:?}", start.elapsed());
}

fn a_memory_hog_is_stopped<S: Subject>() {
    // A guest in Rust grows its memory until that fails, then aborts.
    let hog = "(loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable";
    let (error, world) = (ends_with::<S>(hog), S::WORLD);
    let limit = MEMORY;
    assert_eq!(error, SandboxError::Memory { world, limit });
    assert_eq!(error.kind(), "sandbox-memory");
}

fn a_table_hog_is_stopped<S: Subject>() {
    let subject: S = compiled(Module {
        start: "(table 0 funcref)",
        ..Module::doing(
            "(loop $more (br_if $more (i32.ne (table.grow (ref.null func) (i32.const 999)) (i32.const -1)))) unreachable",
        )
    });
    let mut open = subject.open().unwrap();
    works::<S>(&mut open);
    let error = S::call(&mut open, b"!").unwrap_err();
    let (world, limit) = (S::WORLD, Bounds::default().table_elements);
    assert_eq!(error, SandboxError::Table { world, limit });
    works::<S>(&mut subject.open().unwrap());
}

fn traps_have_distinct_errors<S: Subject>() {
    for (deed, class) in [
        ("unreachable", "unreachable"),
        ("(call $recurse (i32.const 0))", "stack-overflow"),
        ("(i32.load (i32.const -8))", "memory-out-of-bounds"),
        (
            "(i32.div_u (i32.const 1) (i32.const 0))",
            "division-by-zero",
        ),
        // A result outside of the memory is not a trap.
        ("(i32.const -16)", "bad-value"),
    ] {
        let (error, world) = (ends_with::<S>(deed), S::WORLD);
        assert_eq!(error, SandboxError::Trap { world, class }, "{deed}");
        assert_eq!(error.kind(), "sandbox-trap");
    }
}

fn a_giant_list_is_refused<S: Subject>() {
    // A list of four billion elements.
    let giant = "(i32.store (i32.const 1028) (i32.const -1)) (i32.const 1024)";
    let error = ends_with::<S>(giant);
    assert_eq!(error.kind(), "sandbox-trap", "the list was read");
    // A list that fits into memory, in which all elements have the same long text.
    let (size, length) = S::ELEMENT;
    let end = 131_072 + 400 * size;
    let alike = format!(
        r"
        (local.set $at (i32.const 131072))
        (drop (memory.grow (i32.const 300)))
        (loop $more
          (memory.copy (local.get $at) (i32.const 1280) (i32.const {size}))
          (i32.store (i32.add (local.get $at) (i32.const {length})) (i32.const 65536))
          (local.set $at (i32.add (local.get $at) (i32.const {size})))
          (br_if $more (i32.lt_u (local.get $at) (i32.const {end}))))
        (i32.store (i32.const 1024) (i32.const 131072))
        (i32.store (i32.const 1028) (i32.const 400))
        (i32.const 1024)"
    );
    let (error, world) = (ends_with::<S>(&alike), S::WORLD);
    let limit = OUTPUT;
    assert_eq!(error, SandboxError::Output { world, limit });
    assert_eq!(error.kind(), "sandbox-output");
}

fn leaked_handles_are_counted<S: Subject>() {
    let leak = "(loop $more (drop (call $new (i32.const 1))) (br $more)) unreachable";
    let (error, world) = (ends_with::<S>(leak), S::WORLD);
    let limit = HANDLES;
    assert_eq!(error, SandboxError::Handles { world, limit });
    assert_eq!(error.kind(), "sandbox-handles");
}

fn refused<S: Subject>(subject: &S) -> SandboxError {
    match subject.open() {
        Ok(_) => panic!("the component was opened"),
        Err(error) => error,
    }
}

fn a_guest_that_fails_at_its_start_is_stopped<S: Subject>() {
    let looping = Module {
        start: "(func $start (loop $again (br $again))) (start $start)",
        ..Module::doing("unreachable")
    };
    assert_eq!(refused(&compiled::<S>(looping)).kind(), "sandbox-cpu");
    let large = Module {
        pages: 1000,
        ..Module::doing("unreachable")
    };
    assert_eq!(refused(&compiled::<S>(large)).kind(), "sandbox-memory");
}

fn a_file_that_is_not_a_component_of_the_world_is_refused<S: Subject>() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("guest.wasm");
    let unusable = format!(
        "guest.wasm cannot be used as a component of the world {}",
        S::WORLD
    );
    for (bytes, says) in [
        (b"not wasm".to_vec(), unusable.as_str()),
        (
            wat::parse_str("(component)").unwrap(),
            "does not export the world",
        ),
        (wat::parse_str("(module)").unwrap(), unusable.as_str()),
        (
            wat::parse_str(r#"(component (import "wasi:cli/environment@0.2.0" (instance)))"#)
                .unwrap(),
            "imports wasi:cli/environment@0.2.0",
        ),
        (vec![0; (8 << 20) + 1], "larger than 8 MiB"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let error = refused(&started::<S>(path.clone()));
        assert_eq!(error.kind(), "sandbox-component");
        assert!(error.to_string().contains(says), "{error}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
    let missing = refused(&started::<S>(folder.path().join("missing.wasm")));
    assert!(missing.to_string().contains("cannot be read"), "{missing}");
}

fn sessions_run_concurrently_on_many_threads<S: Subject>() {
    let subject: S = compiled(Module::doing(ENDLESS));
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|index| {
                let subject = &subject;
                scope.spawn(move || {
                    let mut open = subject.open().unwrap();
                    for _ in 0..50 {
                        works::<S>(&mut open);
                    }
                    if index % 2 == 0 {
                        let error = S::call(&mut open, b"!").unwrap_err();
                        assert_eq!(error.kind(), "sandbox-cpu");
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

fn compiled_code_is_cached_only_in_a_private_folder<S: Subject>() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let path = S::write(folder.path(), Module::doing("unreachable"));
    let kept = |cache: &Path| {
        let sandbox = Sandbox::new(Some(cache.to_owned()));
        let subject = S::start(&sandbox, path.clone(), Bounds::default());
        works::<S>(&mut subject.open().unwrap());
        files(cache)
    };

    let private = folder.path().join("private");
    assert!(!kept(&private).is_empty());
    let mode = std::fs::metadata(&private).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    // A damaged cache file is harmless: the component is compiled again.
    for file in files(&private) {
        std::fs::write(file, b"damaged").unwrap();
    }
    assert!(!kept(&private).is_empty());

    let open = folder.path().join("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
    assert!(
        kept(&open).is_empty(),
        "a cache that others can write was used"
    );
}

/// Returns all files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push(path);
        }
    }
    files
}

/// Both worlds share one compiler and one clock. A runaway guest of one world does not affect the other.
#[test]
fn two_worlds_share_a_sandbox() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::default();
    let path = <Component<TinyWorld>>::write(folder.path(), Module::doing(ENDLESS));
    let tiny = <Component<TinyWorld> as Subject>::start(&sandbox, path, bounds());
    let answers = Answers::start(&sandbox, AnswersConfig::default());
    let mut runaway = Tiny::open(&tiny).unwrap();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| runaway.act(b"!").unwrap_err());
        let outcome = answers.parse_all(Mode::Answer, &[], b"data: [DONE]\n\n");
        assert!(outcome.unwrap().complete);
        assert_eq!(running.join().unwrap().kind(), "sandbox-cpu");
    });
}
