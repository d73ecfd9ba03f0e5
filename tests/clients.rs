//! Real clients, by others, against the real program: PyPI `mcp`, npm `@modelcontextprotocol/sdk` and `client`.
//!
//! `tests/clients/prepare` installs them. Where that was not done these tests say so and pass, unless
//! GLOVEBOX_REQUIRE_CLIENTS=1.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::server::{PROGRAM, Simulator, program, state};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/clients")
}

/// Runs a script with a client, unless the client is not there.
fn run(interpreter: &Path, installed: &str, script: &str, expected: usize) {
    if !folder().join(installed).exists() {
        let missing = format!("{installed} is not installed: tests/clients/prepare does that");
        assert!(
            std::env::var_os("GLOVEBOX_REQUIRE_CLIENTS").is_none(),
            "{missing}"
        );
        eprintln!("skipped: {missing}");
        return;
    }
    let simulator = Simulator::start("0.02");
    let state = state();
    let environment = program(state.path());
    let mut command = Command::new(interpreter);
    command.env_clear();
    for (name, value) in environment.get_envs() {
        command.env(name, value.unwrap());
    }
    let output = command
        .env("GLOVEBOX_UPSTREAM", &simulator.url)
        .env("BRAVE_ANSWERS_KEY", "a-key-for-tests")
        .arg(folder().join(script))
        .arg(PROGRAM)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {said}\n{errors}");
    // A script that ends early must not pass.
    let passed = said.lines().filter(|line| line.starts_with("ok ")).count();
    assert_eq!(passed, expected, "{script}: {said}\n{errors}");
}

#[test]
fn npm_sdk_1_in_the_older_era() {
    run(
        Path::new("node"),
        "node_modules/@modelcontextprotocol/sdk",
        "sdk1.mjs",
        9,
    );
}

#[test]
fn npm_client_2_in_both_eras() {
    run(
        Path::new("node"),
        "node_modules/@modelcontextprotocol/client",
        "client2.mjs",
        27,
    );
}

#[test]
fn python_2_in_both_eras() {
    let python = folder().join(".venv/bin/python");
    run(&python, ".venv/bin/python", "client.py", 28);
}
