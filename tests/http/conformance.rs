//! The conformance suite of the protocol, against the program and against the tools of [`super::fixture`].
//!
//! `tests/conformance/prepare` installs it. Where that was not done these tests say so and pass, unless
//! GLOVEBOX_REQUIRE_CLIENTS=1.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::fixture::{Options, Server};
use super::program::Serve;
use crate::support::World;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/conformance")
}

/// Runs the frozen list of scenarios of a revision. `failures` names those that are expected to fail.
fn run(port: u16, revision: &str, failures: &str, passed: usize) {
    let suite = folder().join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    if !suite.exists() {
        let missing = "the conformance suite is not installed: tests/conformance/prepare does that";
        assert!(
            std::env::var_os("GLOVEBOX_REQUIRE_CLIENTS").is_none(),
            "{missing}"
        );
        eprintln!("skipped: {missing}");
        return;
    }
    let results = tempfile::tempdir().unwrap();
    let output = Command::new(folder().join("node_modules/.bin/node"))
        .arg(suite)
        .args(["server", "--url", &format!("http://127.0.0.1:{port}/mcp")])
        .args(["--requirements", revision])
        .arg("--expected-failures")
        .arg(folder().join(failures))
        .arg("-o")
        .arg(results.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{revision}: {said}\n{errors}");
    // A suite that ends early must not pass.
    let good = said
        .lines()
        .filter(|line| line.starts_with('\u{2713}'))
        .count();
    assert!(
        good >= passed,
        "{good} scenarios of {revision} passed: {said}\n{errors}"
    );
}

#[test]
fn the_program_in_2025_11_25() {
    let world = World::new();
    run(
        Serve::start(&world, &[]).port,
        "2025-11-25",
        "serve-2025-11-25.yml",
        7,
    );
}

#[test]
fn the_program_in_2026_07_28() {
    let world = World::new();
    run(
        Serve::start(&world, &[]).port,
        "2026-07-28",
        "serve-2026-07-28.yml",
        8,
    );
}

#[test]
fn all_scenarios_of_2025_11_25() {
    run(
        Server::start(Options::default()).port,
        "2025-11-25",
        "none.yml",
        30,
    );
}

#[test]
fn all_scenarios_of_2026_07_28() {
    run(
        Server::start(Options::default()).port,
        "2026-07-28",
        "none.yml",
        37,
    );
}
