//! The component where others would run it: Node, Python, and other WASI runtimes, each against the native outcome.
//!
//! `tests/examples/prepare` installs them. Where that was not done these tests say so and pass, unless
//! GLOVEBOX_REQUIRE_CLIENTS=1.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{KEY, Ran, Simulated, World};
use answers::{Format, Header, Mode, parse_all, render};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .unwrap()
}

fn examples() -> PathBuf {
    root().join("tests/examples")
}

/// Whether something that `prepare` installs is there.
fn prepared(installed: &str) -> bool {
    if examples().join(installed).exists() {
        return true;
    }
    let missing = format!("{installed} is not installed: tests/examples/prepare does that");
    assert!(
        std::env::var_os("GLOVEBOX_REQUIRE_CLIENTS").is_none(),
        "{missing}"
    );
    eprintln!("skipped: {missing}");
    false
}

fn python() -> PathBuf {
    examples().join(".venv/bin/python")
}

/// The hash of the outcome's JSON text of each vector, natively.
fn native() -> BTreeMap<String, String> {
    let mut hashes = BTreeMap::new();
    for entry in std::fs::read_dir(root().join("fixtures/answers")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|kind| kind != "sse") {
            continue;
        }
        let expected: Value =
            serde_json::from_slice(&std::fs::read(path.with_extension("json")).unwrap()).unwrap();
        let mode = if expected["mode"] == "research" {
            Mode::Research
        } else {
            Mode::Answer
        };
        let head = std::fs::read_to_string(path.with_extension("headers")).unwrap_or_default();
        let headers: Vec<Header> = head
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| Header {
                name: name.trim().to_owned(),
                value: value.trim().to_owned(),
            })
            .collect();
        let outcome = parse_all(mode, &headers, &std::fs::read(&path).unwrap());
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        hashes.insert(name, sha256(render(&outcome, Format::Json).as_bytes()));
    }
    assert!(hashes.len() > 100, "only {} vectors", hashes.len());
    hashes
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Runs a script over all vectors and compares what it found with the native outcomes.
fn vectors(mut command: Command) {
    let ran = Ran::of(
        command
            .arg(root().join("fixtures/answers"))
            .output()
            .unwrap(),
    );
    let mut native = native();
    for line in ran.out.lines() {
        let found: Value = serde_json::from_str(line).unwrap();
        let name = found["name"].as_str().unwrap();
        assert_eq!(
            found["problems"].as_array().map(Vec::len),
            Some(0),
            "{line}"
        );
        assert_eq!(
            found["sha256"].as_str(),
            native.remove(name).as_deref(),
            "{name}: other bytes than natively"
        );
    }
    assert!(
        native.is_empty() && ran.code == Some(0),
        "left out: {:?}, {}",
        native.keys(),
        ran.err
    );
}

#[test]
fn every_vector_in_node() {
    if prepared("node_modules") {
        let mut node = Command::new("node");
        node.arg(examples().join("vectors.mjs"));
        vectors(node);
    }
}

#[test]
fn every_vector_in_python() {
    if prepared(".venv") {
        let mut script = Command::new(python());
        script.arg(examples().join("vectors.py"));
        vectors(script);
    }
}

/// Runs a script over the vectors of the traffic component; each must say of itself that it passes.
fn traffic_vectors(mut command: Command) {
    let folder = root().join("fixtures/traffic");
    let ran = Ran::of(command.arg(&folder).output().unwrap());
    let mut names: Vec<String> = std::fs::read_dir(folder.join("vectors"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    assert!(names.len() > 100, "only {} vectors", names.len());
    for line in ran.out.lines() {
        let found: Value = serde_json::from_str(line).unwrap();
        assert!(found["problem"].is_null(), "{line}");
        names.retain(|name| found["name"] != *name);
    }
    assert!(
        names.is_empty() && ran.code == Some(0),
        "left out: {names:?}, {}",
        ran.err
    );
}

#[test]
fn every_vector_of_traffic_in_node() {
    if prepared("node_modules") {
        let mut node = Command::new("node");
        node.arg(examples().join("traffic_vectors.mjs"));
        traffic_vectors(node);
    }
}

#[test]
fn every_vector_of_traffic_in_python() {
    if prepared(".venv") {
        let mut script = Command::new(python());
        script.arg(examples().join("traffic_vectors.py"));
        traffic_vectors(script);
    }
}

#[test]
fn the_transpiled_components_are_the_committed_ones() {
    for name in ["answers", "traffic"] {
        let recorded = root().join(format!("web/{name}/component/source.sha256"));
        let recorded = std::fs::read_to_string(recorded).unwrap();
        let component = std::fs::read(root().join(format!("guest/dist/{name}.wasm"))).unwrap();
        assert_eq!(
            recorded.trim(),
            sha256(&component),
            "guest/dist/{name}.wasm has changed: run tests/examples/transpile"
        );
    }
}

#[test]
fn transpiling_again_gives_the_same_files() {
    if !prepared("node_modules") {
        return;
    }
    let out = tempfile::tempdir().unwrap();
    for name in ["answers", "traffic"] {
        let again = out.path().join(name);
        let ran = Ran::of(
            Command::new(examples().join("transpile"))
                .arg(name)
                .arg(&again)
                .output()
                .unwrap(),
        );
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let committed = root().join(format!("web/{name}/component"));
        for kind in ["js", "core.wasm", "core2.wasm", "core3.wasm", "d.ts"] {
            let file = format!("{name}.{kind}");
            assert!(
                std::fs::read(again.join(&file)).unwrap()
                    == std::fs::read(committed.join(&file)).unwrap(),
                "{file} differs: run tests/examples/transpile"
            );
        }
    }
}

#[test]
fn the_examples_say_the_same() {
    if !prepared("node_modules") || !prepared(".venv") {
        return;
    }
    for (stream, words) in [
        ("citations", "[1] https://example.org/bridges/history"),
        ("research-3", "searching: "),
    ] {
        let stream = root().join(format!("fixtures/answers/{stream}.sse"));
        let node = Command::new("node")
            .arg(root().join("examples/javascript/example.mjs"))
            .arg(&stream)
            .output();
        let script = Command::new(python())
            .arg(root().join("examples/python/example.py"))
            .arg(&stream)
            .output();
        let (node, script) = (Ran::of(node.unwrap()), Ran::of(script.unwrap()));
        assert_eq!(
            (node.code, script.code),
            (Some(0), Some(0)),
            "{node:?} {script:?}"
        );
        assert!(
            node.out.contains(words) && node.err.contains("complete"),
            "{node:?}"
        );
        assert_eq!(node.out, script.out);
    }
}

#[test]
fn the_readme_shows_the_examples_as_they_are() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    for example in [
        "examples/javascript/example.mjs",
        "examples/python/example.py",
    ] {
        let text = std::fs::read_to_string(root().join(example)).unwrap();
        assert!(
            readme.contains(text.trim_end()),
            "{example} differs from the README"
        );
        assert!(text.lines().count() <= 34, "{example} has grown");
    }
}

#[test]
fn the_facades_hold_to_their_types() {
    if !prepared("node_modules") || !prepared(".venv") {
        return;
    }
    let node = Command::new("node")
        .arg(examples().join("facade.mjs"))
        .output();
    let script = Command::new(python())
        .arg(examples().join("facade.py"))
        .output();
    let (node, script) = (Ran::of(node.unwrap()), Ran::of(script.unwrap()));
    assert_eq!(
        (node.code, script.code),
        (Some(0), Some(0)),
        "{node:?} {script:?}"
    );
    // Both print what build, failure and a batch of events gave, as JSON with sorted members.
    assert_eq!(node.out, script.out);
    assert!(node.out.lines().count() >= 5, "{node:?}");
}

/// Asks through another WASI runtime, with the simulator as the upstream.
fn ask(runtime: impl Fn(&Simulated) -> Command) {
    let world = World::new();
    let simulator = Simulated::start(&world, &["--pace", "0"]);
    for (arguments, code, out, err) in [
        (vec!["sim:citations", "x"], Some(0), "[1]", "cost: $0.0"),
        (
            vec!["--research", "sim:research-3", "x"],
            Some(0),
            "COP",
            "iteration 3",
        ),
        (vec!["sim:error-402", "x"], Some(1), "", "ask: "),
    ] {
        let ran = Ran::of(runtime(&simulator).args(&arguments).output().unwrap());
        assert_eq!(ran.code, code, "{arguments:?}: {ran:?}");
        assert!(
            ran.out.contains(out) && ran.err.contains(err),
            "{arguments:?}: {ran:?}"
        );
    }
    assert_eq!(simulator.log().len(), 3);
}

#[test]
fn ask_under_wasmtime() {
    if prepared(".venv") {
        ask(|simulator| {
            let mut command = Command::new(examples().join(".venv/bin/wasmtime"));
            command
                .args(["run", "-S", "http", "--env"])
                .arg(format!("BRAVE_ANSWERS_KEY={KEY}"))
                .arg("--env")
                .arg(format!("GLOVEBOX_UPSTREAM={}", simulator.url))
                .arg(root().join("guest/dist/ask.wasm"));
            command
        });
    }
}

#[test]
fn ask_under_jco() {
    if prepared("node_modules") {
        ask(|simulator| {
            let mut command = Command::new(examples().join("node_modules/.bin/jco"));
            command
                .arg("run")
                .arg(root().join("guest/dist/ask.wasm"))
                .env("BRAVE_ANSWERS_KEY", KEY)
                .env("GLOVEBOX_UPSTREAM", &simulator.url);
            command
        });
    }
}
