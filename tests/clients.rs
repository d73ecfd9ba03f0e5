//! Real clients, by others, against the real program: PyPI `mcp`, npm `@modelcontextprotocol/sdk` and `client`.
//!
//! `tests/clients/prepare` installs them. Where that was not done these tests say so and pass, unless
//! GLOVEBOX_REQUIRE_CLIENTS=1.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::http::program::Serve;
use crate::support::server::{PROGRAM, Simulator, program, state};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/clients")
}

/// How a client reaches the server.
#[derive(Clone, Copy, Debug)]
enum Over {
    /// As a process that it starts itself.
    Stdio,
    /// At a path of `glovebox serve`.
    Http(&'static str),
    /// At a path of `glovebox serve`, through `glovebox bridge`.
    Bridge(&'static str),
}

/// Runs a script with a client, unless the client is not there.
fn run(over: Over, interpreter: &Path, installed: &str, script: &str, expected: usize) {
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
    let mut serve = program(state.path());
    for command in [&mut command, &mut serve] {
        command
            .env("GLOVEBOX_UPSTREAM", &simulator.url)
            .env("BRAVE_ANSWERS_KEY", "a-key-for-tests");
    }
    serve.args(["serve", "--json", "--listen", ":0"]);
    let serve = (!matches!(over, Over::Stdio)).then(|| Serve::spawn(serve));
    let target = match (over, &serve) {
        (Over::Http(path) | Over::Bridge(path), Some(serve)) => {
            format!("http://127.0.0.1:{}{path}", serve.port)
        }
        _ => PROGRAM.to_owned(),
    };
    let output = command
        .arg(folder().join(script))
        .arg(target)
        .args(matches!(over, Over::Bridge(_)).then_some(PROGRAM))
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

fn npm_sdk_1(over: Over, expected: usize) {
    let installed = "node_modules/@modelcontextprotocol/sdk";
    run(over, Path::new("node"), installed, "sdk1.mjs", expected);
}

fn npm_client_2(over: Over, expected: usize) {
    let installed = "node_modules/@modelcontextprotocol/client";
    run(over, Path::new("node"), installed, "client2.mjs", expected);
}

fn python_2(over: Over, expected: usize) {
    let python = folder().join(".venv/bin/python");
    run(over, &python, ".venv/bin/python", "client.py", expected);
}

#[test]
fn npm_sdk_1_in_the_older_era() {
    npm_sdk_1(Over::Stdio, 9);
}

#[test]
fn npm_client_2_in_both_eras() {
    npm_client_2(Over::Stdio, 27);
}

#[test]
fn python_2_in_both_eras() {
    python_2(Over::Stdio, 28);
}

#[test]
fn npm_sdk_1_over_streamable_http() {
    npm_sdk_1(Over::Http("/mcp"), 9);
}

#[test]
fn npm_client_2_over_streamable_http() {
    npm_client_2(Over::Http("/mcp"), 27);
}

#[test]
fn python_2_over_streamable_http() {
    python_2(Over::Http("/mcp"), 28);
}

#[test]
fn npm_sdk_1_over_sse() {
    npm_sdk_1(Over::Http("/sse"), 9);
}

#[test]
fn npm_client_2_over_sse() {
    npm_client_2(Over::Http("/sse"), 9);
}

#[test]
fn python_2_over_sse() {
    python_2(Over::Http("/sse"), 9);
}

#[test]
fn npm_sdk_1_through_the_bridge() {
    npm_sdk_1(Over::Bridge("/mcp"), 9);
}

#[test]
fn npm_client_2_through_the_bridge() {
    npm_client_2(Over::Bridge("/mcp"), 27);
}

#[test]
fn python_2_through_the_bridge() {
    python_2(Over::Bridge("/mcp"), 28);
}

#[test]
fn npm_sdk_1_through_the_bridge_over_sse() {
    npm_sdk_1(Over::Bridge("/sse"), 9);
}

#[test]
fn npm_client_2_through_the_bridge_over_sse() {
    npm_client_2(Over::Bridge("/sse"), 9);
}

#[test]
fn python_2_through_the_bridge_over_sse() {
    python_2(Over::Bridge("/sse"), 9);
}
