//! The sandbox against guests that misbehave: each ends its own stream with its own named error within its bound, and
//! the next stream on the same engine works.
//!
//! The guests are whole components of the world, made here: a few lines of core WebAssembly under the real WIT.
//! A `push` whose first byte is `!` does the deed; any other is answered properly.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use glovebox::engine::answers::{EventKind, Limits, Mode};
use glovebox::engine::{Engine, EngineConfig, Parser, SandboxError};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// CPU of a call in these tests.
const CPU: Duration = Duration::from_millis(200);
/// What a runaway may take beyond its bound on a machine that has other things to do.
const SLACK: Duration = Duration::from_secs(5);
/// Memory of a stream in these tests.
const MEMORY: usize = 32 << 20;
/// Handles of a stream in these tests.
const HANDLES: usize = 100;

/// A guest whose `push` does this, in core WebAssembly, when the first byte is `!`; else it gives an event.
/// The locals are `$this`, `$bytes`, `$length`; the result is the address of a batch.
fn guest(deed: &str) -> String {
    guest_with(deed, "(memory (export \"memory\") 2)", "")
}

fn guest_with(deed: &str, memory: &str, start: &str) -> String {
    let interface = "glovebox:answers";
    let stub =
        |name: &str, ty: &str| format!("(func (export \"{interface}/{name}\") {ty} unreachable)\n");
    let stubs = [
        stub("request@0.2.0#build", "(param i32) (result i32)"),
        stub(
            "reply@0.2.0#[static]parser.finish",
            "(param i32) (result i32)",
        ),
        stub(
            "reply@0.2.0#parse-all",
            "(param i32 i32 i32 i32 i32) (result i32)",
        ),
        stub("reply@0.2.0#infer-mode", "(param i32 i32) (result i32)"),
        stub(
            "reply@0.2.0#failure",
            "(param i32 i32 i32 i32 i32) (result i32)",
        ),
        stub("normalize@0.2.0#render", "(param i32) (result i32)"),
        stub("normalize@0.2.0#spans", "(param i32 i32 i32) (result i32)"),
    ]
    .concat();
    format!(
        r#"(module
  (import "[export]{interface}/reply@0.2.0" "[resource-new]parser" (func $new (param i32) (result i32)))
  {memory}
  ;; At 1024 a batch of one event, a text, and no error; the text is at 2048.
  (data (i32.const 1024) "\00\05\00\00\01\00\00\00\00")
  (data (i32.const 1280) "\07\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\08\00\00\02\00\00\00")
  (data (i32.const 2048) "ok")
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 65536))
  (func (export "{interface}/reply@0.2.0#[constructor]parser")
    (param i32 i32 i32 i32 i32 i32 i32 i32 i64) (result i32)
    (call $new (i32.const 1)))
  (func (export "{interface}/reply@0.2.0#[method]parser.head") (param i32 i32 i32))
  (func $recurse (param i32) (result i32) (i32.add (i32.const 1) (call $recurse (local.get 0))))
  (func (export "{interface}/reply@0.2.0#[method]parser.push")
    (param $this i32) (param $bytes i32) (param $length i32) (result i32) (local $at i32)
    (if (i32.eqz (local.get $length)) (then (return (i32.const 1024))))
    (if (i32.ne (i32.load8_u (local.get $bytes)) (i32.const 33)) (then (return (i32.const 1024))))
    {deed})
  {stubs}
  {start}
)"#
    )
}

/// The component of this core module, in a file of its own.
fn component(folder: &Path, module: &str) -> PathBuf {
    let mut resolve = Resolve::default();
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit/answers");
    let (package, _) = resolve.push_path(wit).unwrap();
    let world = resolve.select_world(&[package], Some("answers")).unwrap();
    let mut module = wat::parse_str(module).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false).unwrap();
    let component = ComponentEncoder::default()
        .module(&module)
        .unwrap()
        .encode()
        .unwrap();
    let path = folder.join("guest.wasm");
    std::fs::write(&path, component).unwrap();
    path
}

fn engine(module: &str) -> Engine {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(component(folder.path(), module));
    // Compiled before the file goes away.
    drop(engine.parser(Mode::Answer, Limits::default()));
    engine
}

fn start(component: PathBuf) -> Engine {
    Engine::start(EngineConfig {
        component: Some(component),
        memory_bytes: MEMORY,
        output_bytes: 1 << 20,
        cpu: CPU,
        handles: HANDLES,
        ..EngineConfig::default()
    })
}

fn parser(engine: &Engine) -> Parser {
    engine.parser(Mode::Answer, Limits::default()).unwrap()
}

/// One stream is ended by the deed; one that ran beside it and one that comes after work.
fn ends_with(module: &str) -> SandboxError {
    let engine = engine(module);
    let mut beside = parser(&engine);
    works(&mut beside);

    let mut bad = parser(&engine);
    works(&mut bad);
    let start = Instant::now();
    let error = bad.push(b"!").unwrap_err();
    assert!(start.elapsed() < CPU + SLACK, "{:?}", start.elapsed());
    // It stays ended, with the same error.
    assert_eq!(bad.push(b".").unwrap_err(), error);
    assert_eq!(bad.finish().unwrap_err(), error);

    works(&mut beside);
    works(&mut parser(&engine));
    error
}

fn works(parser: &mut Parser) {
    let batch = parser.push(b".").unwrap();
    assert_eq!(batch.events.len(), 1);
    assert_eq!(batch.events[0].at, 7);
    assert_eq!(batch.events[0].kind, EventKind::Text("ok".to_owned()));
    assert_eq!(batch.error, None);
}

#[test]
fn an_endless_loop_is_stopped() {
    let error = ends_with(&guest("(loop $again (br $again)) unreachable"));
    assert_eq!(error, SandboxError::Cpu { limit: CPU });
    assert_eq!(error.kind(), "sandbox-cpu");
}

#[test]
fn a_loop_is_stopped_after_a_long_rest_too() {
    // The clock that bounds CPU sleeps when nothing runs; it must be awake again in time.
    let engine = engine(&guest("(loop $again (br $again)) unreachable"));
    let mut parser = parser(&engine);
    works(&mut parser);
    std::thread::sleep(Duration::from_millis(1500));
    let start = Instant::now();
    let error = parser.push(b"!").unwrap_err();
    assert_eq!(error.kind(), "sandbox-cpu");
    assert!(
        start.elapsed() >= CPU,
        "stopped too early: {:?}",
        start.elapsed()
    );
    assert!(start.elapsed() < CPU + SLACK, "{:?}", start.elapsed());
}

#[test]
fn a_memory_hog_is_stopped() {
    // As a guest in Rust does it: grows until it may not, then aborts.
    let hog = "(loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable";
    let error = ends_with(&guest(hog));
    assert_eq!(error, SandboxError::Memory { limit: MEMORY });
    assert_eq!(error.kind(), "sandbox-memory");
}

#[test]
fn traps_are_told_apart() {
    for (deed, class) in [
        ("unreachable", "unreachable"),
        ("(call $recurse (i32.const 0))", "stack-overflow"),
        ("(i32.load (i32.const -8))", "memory-out-of-bounds"),
        (
            "(i32.div_u (i32.const 1) (i32.const 0))",
            "division-by-zero",
        ),
        // Not a trap: a result that does not fit into memory.
        ("(i32.const -16)", "bad-value"),
    ] {
        let error = ends_with(&guest(deed));
        assert_eq!(error, SandboxError::Trap { class }, "{deed}");
        assert_eq!(error.kind(), "sandbox-trap");
    }
}

#[test]
fn a_giant_list_is_refused() {
    // A list of four billion events.
    let giant = "(i32.store (i32.const 1028) (i32.const -1)) (i32.const 1024)";
    let error = ends_with(&guest(giant));
    assert_eq!(error.kind(), "sandbox-trap", "it cannot lie in memory");
    // One that fits into memory, where every event holds the same long text.
    let alike = r"
        (local.set $at (i32.const 131072))
        (drop (memory.grow (i32.const 300)))
        (loop $more
          (memory.copy (local.get $at) (i32.const 1280) (i32.const 176))
          (i32.store (i32.add (local.get $at) (i32.const 20)) (i32.const 65536))
          (local.set $at (i32.add (local.get $at) (i32.const 176)))
          (br_if $more (i32.lt_u (local.get $at) (i32.const 200000))))
        (i32.store (i32.const 1024) (i32.const 131072))
        (i32.store (i32.const 1028) (i32.const 400))
        (i32.const 1024)";
    let error = ends_with(&guest(alike));
    assert_eq!(error, SandboxError::Output { limit: 1 << 20 });
    assert_eq!(error.kind(), "sandbox-output");
}

#[test]
fn leaked_handles_are_counted() {
    let leak = "(loop $more (drop (call $new (i32.const 1))) (br $more)) unreachable";
    let error = ends_with(&guest(leak));
    assert_eq!(error, SandboxError::Handles { limit: HANDLES });
    assert_eq!(error.kind(), "sandbox-handles");
}

#[test]
fn a_guest_that_is_bad_from_the_start_is_stopped() {
    let looping = guest_with(
        "unreachable",
        "(memory (export \"memory\") 2)",
        "(func $start (loop $again (br $again))) (start $start)",
    );
    let error = engine(&looping)
        .parser(Mode::Answer, Limits::default())
        .unwrap_err();
    assert_eq!(error.kind(), "sandbox-cpu");

    let large = guest_with("unreachable", "(memory (export \"memory\") 1000)", "");
    let error = engine(&large)
        .parser(Mode::Answer, Limits::default())
        .unwrap_err();
    assert_eq!(error.kind(), "sandbox-memory");
}

#[test]
fn what_is_no_parser_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("guest.wasm");
    for (bytes, says) in [
        (
            b"not wasm".to_vec(),
            "guest.wasm cannot be used as a parser",
        ),
        (
            wat::parse_str("(component)").unwrap(),
            "does not export the world",
        ),
        (
            wat::parse_str("(module)").unwrap(),
            "cannot be used as a parser",
        ),
        (
            wat::parse_str(r#"(component (import "wasi:cli/environment@0.2.0" (instance)))"#)
                .unwrap(),
            "imports wasi:cli/environment@0.2.0",
        ),
        (vec![0; (8 << 20) + 1], "larger than 8 MiB"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let error = start(path.clone())
            .parser(Mode::Answer, Limits::default())
            .unwrap_err();
        assert_eq!(error.kind(), "sandbox-component");
        assert!(error.to_string().contains(says), "{error}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
    let missing = start(folder.path().join("missing.wasm"));
    let error = missing.parser(Mode::Answer, Limits::default()).unwrap_err();
    assert!(error.to_string().contains("cannot be read"), "{error}");
}

#[test]
fn streams_run_side_by_side_on_many_threads() {
    let engine = engine(&guest("(loop $again (br $again)) unreachable"));
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|index| {
                let engine = &engine;
                scope.spawn(move || {
                    let mut parser = parser(engine);
                    for _ in 0..50 {
                        works(&mut parser);
                    }
                    if index % 2 == 0 {
                        assert_eq!(parser.push(b"!").unwrap_err().kind(), "sandbox-cpu");
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn compiled_code_is_kept_in_a_private_folder_alone() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let path = component(folder.path(), &guest("unreachable"));
    let kept = |cache: &Path| {
        let engine = Engine::start(EngineConfig {
            component: Some(path.clone()),
            cache: Some(cache.to_owned()),
            ..EngineConfig::default()
        });
        works(&mut parser(&engine));
        files(cache)
    };

    let private = folder.path().join("private");
    assert!(!kept(&private).is_empty());
    let mode = std::fs::metadata(&private).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    // A file that is damaged is no harm: it is compiled again.
    for file in files(&private) {
        std::fs::write(file, b"damaged").unwrap();
    }
    assert!(!kept(&private).is_empty());

    let open = folder.path().join("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
    assert!(kept(&open).is_empty(), "anybody could have put code there");
}

/// All files below a folder.
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
