//! `glovebox connect CLIENT --http`: the entry for a running server.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

const TOKEN: &str = "the-bearer-token-of-this-test";

fn connect(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_glovebox"))
        .env_clear()
        .env("HOME", folder)
        .env("XDG_STATE_HOME", folder.join("state"))
        .env("GLOVEBOX_TOKEN", TOKEN)
        .env("BOX_TOKEN", TOKEN)
        .current_dir(folder)
        .arg("connect")
        .args(arguments)
        .output()
        .unwrap()
}

/// For each client: where its servers are, and its entry for a local server and for one with a token.
fn shapes() -> Vec<(&'static str, &'static str, Value, Value)> {
    let program = env!("CARGO_BIN_EXE_glovebox");
    let (local, external) = ("http://127.0.0.1:9876/mcp", "https://box.example:9876/mcp");
    let bearer = |reference: &str| json!({ "Authorization": format!("Bearer {reference}") });
    let bridge_local = json!(["bridge", local]);
    let bridge = json!(["bridge", external, "--bearer-env", "GLOVEBOX_TOKEN"]);
    vec![
        (
            "opencode",
            "/mcp",
            json!({ "type": "remote", "url": local, "enabled": true, "oauth": false }),
            json!({ "type": "remote", "url": external, "enabled": true, "oauth": false, "headers": bearer("{env:GLOVEBOX_TOKEN}") }),
        ),
        (
            "claude-code",
            "/mcpServers",
            json!({ "type": "http", "url": local }),
            json!({ "type": "http", "url": external, "headers": bearer("${GLOVEBOX_TOKEN}") }),
        ),
        (
            "copilot",
            "/mcpServers",
            json!({ "type": "http", "url": local, "tools": ["*"] }),
            json!({ "type": "http", "url": external, "tools": ["*"], "headers": bearer("${GLOVEBOX_TOKEN}") }),
        ),
        (
            "cursor",
            "/mcpServers",
            json!({ "url": local }),
            json!({ "url": external, "headers": bearer("${env:GLOVEBOX_TOKEN}") }),
        ),
        (
            "vscode",
            "/servers",
            json!({ "type": "http", "url": local }),
            json!({ "type": "http", "url": external, "headers": bearer("${env:GLOVEBOX_TOKEN}") }),
        ),
        (
            "gemini",
            "/mcpServers",
            json!({ "httpUrl": local }),
            json!({ "httpUrl": external, "headers": bearer("${GLOVEBOX_TOKEN}") }),
        ),
        (
            "qwen",
            "/mcpServers",
            json!({ "httpUrl": local }),
            json!({ "httpUrl": external, "headers": bearer("${GLOVEBOX_TOKEN}") }),
        ),
        (
            "claude-desktop",
            "/mcpServers",
            json!({ "command": program, "args": bridge_local }),
            json!({ "command": program, "args": bridge }),
        ),
        (
            "cline",
            "/mcpServers",
            json!({ "transport": { "type": "stdio", "command": program, "args": bridge_local } }),
            json!({ "transport": { "type": "stdio", "command": program, "args": bridge } }),
        ),
        (
            "zed",
            "/context_servers",
            json!({ "url": local }),
            json!({ "source": "custom", "command": program, "args": bridge }),
        ),
    ]
}

fn entry(output: &Output, servers: &str) -> Value {
    assert!(output.status.success(), "{output:?}");
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    printed.pointer(servers).unwrap()["glovebox"].clone()
}

#[test]
fn every_client_gets_the_shape_for_a_running_server_and_never_the_token() {
    for (client, servers, local, external) in shapes() {
        let home = tempfile::tempdir().unwrap();
        let printed = connect(home.path(), &[client, "--http"]);
        assert_eq!(entry(&printed, servers), local, "{client}");
        let url = "https://box.example:9876/mcp";
        let printed = connect(home.path(), &[client, "--http", url]);
        assert_eq!(entry(&printed, servers), external, "{client}");
        let said = format!("{printed:?}");
        assert!(!said.contains(TOKEN), "{client}: {said}");
        assert!(said.contains("GLOVEBOX_TOKEN"), "{client}: {said}");
    }
}

#[test]
fn codex_gets_its_own_names() {
    let home = tempfile::tempdir().unwrap();
    let printed = connect(
        home.path(),
        &[
            "codex",
            "--http",
            "https://box.example/mcp",
            "--bearer-env",
            "BOX_TOKEN",
        ],
    );
    let text = String::from_utf8(printed.stdout).unwrap();
    assert!(text.contains("url = \"https://box.example/mcp\""), "{text}");
    assert!(
        text.contains("bearer_token_env_var = \"BOX_TOKEN\""),
        "{text}"
    );
    assert!(text.contains("tool_timeout_sec = 120"), "{text}");
    assert!(!text.contains("command") && !text.contains(TOKEN), "{text}");
}

#[test]
fn an_entry_is_for_a_running_server_or_for_one_that_is_started() {
    for (client, servers) in [
        ("claude-code", "/mcpServers"),
        ("opencode", "/mcp"),
        ("gemini", "/mcpServers"),
        ("zed", "/context_servers"),
    ] {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("settings.json");
        let write = |more: &[&str]| {
            let mut arguments = vec![client, "--write", "--path", file.to_str().unwrap()];
            arguments.extend(more);
            assert!(connect(home.path(), &arguments).status.success());
            let text = fs::read_to_string(&file).unwrap();
            let value: Value = serde_json::from_str(&text).unwrap();
            value.pointer(servers).unwrap()["glovebox"].clone()
        };
        let started = write(&[]);
        let url = ["--http", "http://localhost:1234/mcp"];
        let running = write(&url);
        for member in ["command", "args", "env", "environment"] {
            assert_eq!(running.get(member), None, "{client}: {running}");
        }
        assert!(
            running.to_string().contains("http://localhost:1234/mcp"),
            "{running}"
        );
        assert_eq!(write(&url), running, "{client}");
        let again = write(&[]);
        for member in ["url", "httpUrl", "headers", "oauth"] {
            assert_eq!(again.get(member), None, "{client}: {again}");
        }
        assert_eq!(again.get("command"), started.get("command"), "{client}");
    }
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("config.toml");
    let write = |more: &[&str]| {
        let mut arguments = vec!["codex", "--write", "--path", file.to_str().unwrap()];
        arguments.extend(more);
        assert!(connect(home.path(), &arguments).status.success());
        fs::read_to_string(&file).unwrap()
    };
    write(&[]);
    let running = write(&["--http"]);
    assert!(
        running.contains("url = ")
            && !running.contains("command = ")
            && !running.contains("env_vars"),
        "{running}"
    );
    let started = write(&[]);
    assert!(
        started.contains("command = ") && !started.contains("url = "),
        "{started}"
    );
}

#[test]
fn the_authority_of_this_machines_server_is_named() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("state/glovebox/tls");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("ca.pem"), "").unwrap();
    let ca = folder.join("ca.pem");
    let printed = connect(
        home.path(),
        &["claude-desktop", "--http", "https://localhost:9876/mcp"],
    );
    let args = entry(&printed, "/mcpServers")["args"].clone();
    assert_eq!(
        args,
        json!([
            "bridge",
            "https://localhost:9876/mcp",
            "--bearer-env",
            "GLOVEBOX_TOKEN",
            "--ca",
            ca
        ])
    );
    let printed = connect(
        home.path(),
        &["claude-code", "--http", "https://localhost:9876/mcp"],
    );
    let notes = String::from_utf8(printed.stderr).unwrap();
    assert!(
        notes.contains("NODE_EXTRA_CA_CERTS") && notes.contains(ca.to_str().unwrap()),
        "{notes}"
    );
    // Another machine's has another one.
    let printed = connect(
        home.path(),
        &["claude-code", "--http", "https://box.example/mcp"],
    );
    assert!(
        !String::from_utf8(printed.stderr)
            .unwrap()
            .contains(ca.to_str().unwrap())
    );
}

#[test]
fn addresses_that_no_client_should_use_are_refused() {
    let home = tempfile::tempdir().unwrap();
    for (url, said) in [
        ("ftp://box.example/", "http://"),
        ("box.example:9876", "http"),
        ("http://box.example:9876/mcp", "https"),
        ("https://user:secret@box.example/mcp", "password"),
    ] {
        let output = connect(home.path(), &["cursor", "--http", url]);
        assert_eq!(output.status.code(), Some(2), "{url}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(said), "{url}: {text}");
    }
    for arguments in [
        &["cursor", "--bearer-env", "BOX_TOKEN"][..],
        &["cursor", "--http", "--bearer-env", "not a name"],
    ] {
        assert_eq!(
            connect(home.path(), arguments).status.code(),
            Some(2),
            "{arguments:?}"
        );
    }
}
