//! Real clients, by others, against the real program: PyPI `mcp`, npm `@modelcontextprotocol/sdk` and `client`.
//!
//! `tests/clients/prepare` installs them. Where that was not done these tests say so and pass, unless
//! GLOVEBOX_REQUIRE_CLIENTS=1.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::http::program::Serve;
use crate::support::World;
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
    /// At a path of `glovebox serve --external`, with its token and its certificate authority.
    Https(&'static str),
    /// At a path of `glovebox serve`, through `glovebox bridge`.
    Bridge(&'static str),
}

/// Runs a script with a client, unless the client is not there.
fn run(over: Over, interpreter: &Path, installed: &str, script: &str, expected: usize) {
    run_with(over, interpreter, installed, script, expected, &[]);
}

/// As [`run`], with settings of the server.
fn run_with(
    over: Over,
    interpreter: &Path,
    installed: &str,
    script: &str,
    expected: usize,
    settings: &[(&str, &str)],
) {
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
            .env("BRAVE_ANSWERS_KEY", "a-key-for-tests")
            .envs(settings.iter().copied());
    }
    serve.args(["serve", "--json", "--listen", ":0"]);
    if matches!(over, Over::Https(_)) {
        serve.arg("--external");
    }
    let serve = (!matches!(over, Over::Stdio)).then(|| Serve::spawn(serve));
    let target = match (over, &serve) {
        (Over::Http(path) | Over::Bridge(path), Some(serve)) => {
            format!("http://127.0.0.1:{}{path}", serve.port)
        }
        (Over::Https(path), Some(serve)) => {
            let ca = serve.ca.as_ref().unwrap();
            let token = std::fs::read_to_string(state.path().join("state/token")).unwrap();
            command
                .env("NODE_EXTRA_CA_CERTS", ca)
                .env("SSL_CERT_FILE", ca)
                .env("GLOVEBOX_TOKEN", token.trim());
            format!("https://localhost:{}{path}", serve.port)
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
fn npm_sdk_1_over_streamable_https() {
    npm_sdk_1(Over::Https("/mcp"), 9);
}

#[test]
fn npm_client_2_over_streamable_https() {
    npm_client_2(Over::Https("/mcp"), 27);
}

#[test]
fn python_2_over_streamable_https() {
    python_2(Over::Https("/mcp"), 28);
}

#[test]
fn npm_sdk_1_over_sse_with_tls() {
    npm_sdk_1(Over::Https("/sse"), 9);
}

#[test]
fn python_2_over_sse_with_tls() {
    python_2(Over::Https("/sse"), 9);
}

/// supergateway as it is configured for servers that only know the older transport.
fn supergateway(world: &World, serve: &Serve, scheme: &str, token: Option<&str>) {
    let gateway = folder().join("node_modules/supergateway/dist/index.js");
    if !gateway.exists() {
        let missing = "supergateway is not installed: tests/clients/prepare does that";
        assert!(
            std::env::var_os("GLOVEBOX_REQUIRE_CLIENTS").is_none(),
            "{missing}"
        );
        eprintln!("skipped: {missing}");
        return;
    }
    let mut command = Command::new("node");
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", world.path())
        .arg(gateway)
        .args(["--sse", &format!("{scheme}://127.0.0.1:{}/sse", serve.port)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(token) = token {
        command.args(["--oauth2Bearer", token]);
    }
    if let Some(ca) = &serve.ca {
        command.env("NODE_EXTRA_CA_CERTS", ca);
    }
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut ask = |message: serde_json::Value| {
        writeln!(input, "{message}").unwrap();
        let line = lines.next().expect("a line").unwrap();
        serde_json::from_str::<serde_json::Value>(&line).unwrap()
    };
    let initialized = ask(serde_json::json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": { "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } },
    }));
    assert_eq!(
        initialized["result"]["serverInfo"]["name"], "glovebox",
        "{initialized}"
    );
    let listed =
        ask(serde_json::json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} }));
    assert!(
        listed["result"]["tools"].as_array().unwrap().len() >= 8,
        "{listed}"
    );
    let called = ask(serde_json::json!({
        "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": "answers", "arguments": { "query": "Over a gateway?" } },
    }));
    assert_eq!(called["id"], 3);
    assert_ne!(called["result"]["isError"], true, "{called}");
    let _ = child.kill();
    let _ = child.wait();
}

#[test]
fn supergateway_in_local_mode() {
    let world = World::new();
    supergateway(&world, &Serve::start(&world, &[]), "http", None);
}

#[test]
fn supergateway_with_a_token() {
    let world = World::new();
    let serve = Serve::start(&world, &["--require-token"]);
    supergateway(&world, &serve, "http", Some(&serve.token(&world)));
}

#[test]
fn supergateway_with_a_token_over_tls() {
    let world = World::new();
    let serve = Serve::start(&world, &["--external"]);
    supergateway(&world, &serve, "https", Some(&serve.token(&world)));
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

/// A limit that every call is above.
const ASKS: [(&str, &str); 1] = [("GLOVEBOX_CONFIRM_OVER_USD", "0.01")];

fn npm_client_2_approves(over: Over, expected: usize) {
    let installed = "node_modules/@modelcontextprotocol/client";
    let node = Path::new("node");
    run_with(over, node, installed, "approve.mjs", expected, &ASKS);
}

fn python_2_approves(over: Over, expected: usize) {
    let python = folder().join(".venv/bin/python");
    let installed = ".venv/bin/python";
    run_with(over, &python, installed, "approve.py", expected, &ASKS);
}

#[test]
fn npm_client_2_asks_a_person_over_stdio() {
    npm_client_2_approves(Over::Stdio, 8);
}

#[test]
fn npm_client_2_asks_a_person_over_streamable_http() {
    npm_client_2_approves(Over::Http("/mcp"), 8);
}

#[test]
fn npm_client_2_asks_a_person_over_sse() {
    npm_client_2_approves(Over::Http("/sse"), 4);
}

#[test]
fn python_2_asks_a_person_over_stdio() {
    python_2_approves(Over::Stdio, 9);
}

#[test]
fn python_2_asks_a_person_over_streamable_http() {
    python_2_approves(Over::Http("/mcp"), 9);
}

#[test]
fn python_2_asks_a_person_over_sse() {
    python_2_approves(Over::Http("/sse"), 4);
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
