//! Servers by others, and `glovebox serve`. `tests/clients/prepare` installs the former; without them these tests say so
//! and pass, unless GLOVEBOX_REQUIRE_CLIENTS=1.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::{bridge, bridge_with, call, open, open_as, own_error};
use crate::http::program::Serve;
use crate::support::World;
use crate::support::server::Server;

/// A server in a process of its own.
struct Peer {
    child: Child,
    port: u16,
}

impl Peer {
    fn start(program: &Path, script: &str, args: &[&str]) -> Option<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/clients");
        let installed = folder
            .join("node_modules/@modelcontextprotocol/sdk")
            .exists()
            && folder.join(".venv/bin/python").exists();
        if !installed {
            let missing = "the servers are not installed: tests/clients/prepare does that";
            assert!(
                std::env::var_os("GLOVEBOX_REQUIRE_CLIENTS").is_none(),
                "{missing}"
            );
            eprintln!("skipped: {missing}");
            return None;
        }
        let program = if program.is_relative() && program.components().count() > 1 {
            folder.join(program)
        } else {
            PathBuf::from(program)
        };
        let mut child = Command::new(program)
            .arg(folder.join(script))
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        Some(Self {
            port: line.trim().parse().unwrap(),
            child,
        })
    }

    fn node(args: &[&str]) -> Option<Self> {
        Self::start(Path::new("node"), "server.mjs", args)
    }

    fn python(transport: &str) -> Option<Self> {
        Self::start(Path::new(".venv/bin/python"), "server.py", &[transport])
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Answers what the server asks while a tool runs, and gives the text of the tool's result.
fn asked(server: &mut Server, tool: &str, method: &str, answer: Value) -> String {
    let id = server.request("tools/call", json!({ "name": tool, "arguments": {} }));
    let question = server.wait_for(|message| message["method"] == method);
    server.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
    let reply = server.reply(id);
    reply["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{reply}"))
        .to_owned()
}

fn steps(server: &mut Server) {
    let params = json!({ "name": "steps", "arguments": {}, "_meta": { "progressToken": "p" } });
    let id = server.request("tools/call", params);
    for value in [1.0, 2.0, 3.0] {
        let message = server.message();
        assert_eq!(
            message["params"]["progress"].as_f64(),
            Some(value),
            "{message}"
        );
        assert_eq!(message["params"]["progressToken"], "p");
    }
    assert_eq!(server.reply(id)["result"]["content"][0]["text"], "done");
}

/// What both kinds of servers by others can do.
fn common(server: &mut Server) {
    for text in ["one", "two\nlines", "\u{1f600}"] {
        assert_eq!(call(server, "echo", json!({ "text": text })), text);
    }
    let answer = json!({ "action": "accept", "content": { "which": "this" } });
    let text = asked(server, "ask", "elicitation/create", answer);
    assert!(text.contains("accept") && text.contains("this"), "{text}");
    steps(server);
    let id = server.request("tools/call", json!({ "name": "wait", "arguments": {} }));
    while call(server, "count", json!({ "of": "wait" })) != "1" {}
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    while call(server, "count", json!({ "of": "aborted" })) != "1" {}
    // Each call came once.
    assert_eq!(call(server, "count", json!({ "of": "echo" })), "3");
    assert_eq!(call(server, "count", json!({ "of": "ask" })), "1");
    assert_eq!(call(server, "count", json!({ "of": "steps" })), "1");
}

fn npm(path: &str) {
    let Some(peer) = Peer::node(&[]) else { return };
    let mut server = bridge(&peer.url(path));
    open(&mut server);
    common(&mut server);
    let said =
        json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "It." } });
    assert!(asked(&mut server, "sample", "sampling/createMessage", said).contains("It."));
    let roots = json!({ "roots": [{ "uri": "file:///here" }] });
    assert!(asked(&mut server, "roots", "roots/list", roots).contains("file:///here"));
    server.settled();
    assert_eq!(call(&mut server, "grow", json!({})), "grew");
    server.wait_for(|message| message["method"] == "notifications/tools/list_changed");
    let tools = server.ask("tools/list", json!({}));
    assert!(tools.to_string().contains("grown"), "{tools}");
    server.leave();
}

#[test]
fn npm_server_over_streamable_http() {
    npm("/mcp");
}

#[test]
fn npm_server_over_sse() {
    npm("/sse");
}

#[test]
fn python_server_over_streamable_http() {
    let Some(peer) = Peer::python("http") else {
        return;
    };
    let mut server = bridge(&peer.url("/mcp"));
    open(&mut server);
    common(&mut server);
    server.leave();
}

#[test]
fn python_server_over_sse() {
    let Some(peer) = Peer::python("sse") else {
        return;
    };
    let mut server = bridge(&peer.url("/sse"));
    open(&mut server);
    common(&mut server);
    server.leave();
}

#[test]
fn npm_server_that_is_restarted() {
    for path in ["/mcp", "/sse"] {
        let Some(mut peer) = Peer::node(&[]) else {
            return;
        };
        let mut server = bridge(&peer.url(path));
        open(&mut server);
        assert_eq!(
            call(&mut server, "echo", json!({ "text": "before" })),
            "before"
        );
        let lost = server.request("tools/call", json!({ "name": "wait", "arguments": {} }));
        while call(&mut server, "count", json!({ "of": "wait" })) != "1" {}
        let port = peer.port.to_string();
        peer.child.kill().unwrap();
        peer.child.wait().unwrap();
        assert_eq!(own_error(&server.reply(lost)).1, "unknown", "{path}");
        // Asked while nobody listens.
        let list = server.request("tools/list", json!({}));
        let Some(_peer) = Peer::node(&[&port]) else {
            return;
        };
        assert!(server.reply(list).get("result").is_some(), "{path}");
        server.wait_for(|message| message["method"] == "notifications/tools/list_changed");
        assert_eq!(
            call(&mut server, "echo", json!({ "text": "after" })),
            "after",
            "{path}"
        );
        assert_eq!(
            call(&mut server, "count", json!({ "of": "echo" })),
            "1",
            "{path}"
        );
        server.leave();
    }
}

#[test]
fn glovebox_serve_that_is_restarted_keeps_the_session() {
    let world = World::new();
    let serve = Serve::start(&world, &[]);
    let listen = format!(":{}", serve.port);
    let mut server = bridge(&format!("http://127.0.0.1:{}/mcp", serve.port));
    open(&mut server);
    assert!(call(&mut server, "status", json!({})).contains("glovebox"));
    serve.signal("TERM");
    serve.wait();
    let id = server.request("tools/call", json!({ "name": "status", "arguments": {} }));
    let serve = Serve::start(&world, &["--listen", &listen]);
    let reply = server.reply(id);
    assert!(reply.get("result").is_some(), "{reply}");
    assert!(server.settled().is_empty());
    server.leave();
    drop(serve);
}

#[test]
fn glovebox_serve_with_a_token() {
    let world = World::new();
    let serve = Serve::start(&world, &["--require-token"]);
    let token = world.run(&["token", "show"]).out.trim().to_owned();
    for path in ["/mcp", "/sse"] {
        let url = format!("http://127.0.0.1:{}{path}", serve.port);
        let reply = bridge(&url).ask("initialize", json!({ "protocolVersion": "2025-06-18" }));
        assert!(own_error(&reply).2.contains("status 401"), "{reply}");
        let mut server = bridge_with(&url, &["--bearer-env", "TOKEN"], &[("TOKEN", &token)]);
        open_as(&mut server, "2025-06-18");
        assert!(call(&mut server, "status", json!({})).contains("glovebox"));
        server.leave();
    }
}
