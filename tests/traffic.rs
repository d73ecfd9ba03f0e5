//! `glovebox traffic inspect` as a person or a script runs it, and the inspection that is under it.

mod bombs;
mod files;
mod guests;
mod large;
mod secrets;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Ran, World};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fixtures/traffic")
        .canonicalize()
        .unwrap()
}

/// The names of the own samples.
fn samples() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.len() >= 20, "{names:?}");
    names
}

/// Inspects one of the samples.
fn inspect(name: &str, more: &[&str]) -> Ran {
    let path = folder().join(name);
    let mut arguments = vec!["traffic", "inspect", path.to_str().unwrap()];
    arguments.extend(more);
    World::new().run(&arguments)
}

/// Inspects these bytes from standard input.
fn inspect_bytes(bytes: &[u8], more: &[&str]) -> Ran {
    let mut arguments = vec!["traffic", "inspect", "-"];
    arguments.extend(more);
    fed(World::new().command(&arguments), bytes)
}

/// Runs a command with this on its standard input.
fn fed(mut command: Command, bytes: &[u8]) -> Ran {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // It may end before it has read everything.
            let _ = stdin.write_all(bytes);
        });
        Ran::of(child.wait_with_output().unwrap())
    })
}

/// A HAR file of these entries.
fn har(entries: &[Value]) -> Vec<u8> {
    let log = serde_json::json!({
        "log": { "version": "1.2", "creator": { "name": "test", "version": "1" }, "entries": entries },
    });
    serde_json::to_vec(&log).unwrap()
}
