//! A parser that fails in the middle of a stream, as an MCP client sees it: its call ends with an error that names
//! the failure, the output stays clean, and the server goes on.

use crate::support::guest::{BODY, Guest};
use crate::support::server::{Server, Simulator, state, text};
use serde_json::{Value, json};

/// A guest of the world that builds one request and fails on the first bytes of its reply.
fn guest() -> Guest {
    Guest::default().asking(BODY)
}

#[test]
fn a_trap_ends_its_call_alone_and_leaves_the_output_clean() {
    let simulator = Simulator::start("0");
    let state = state();
    let guest = guest().write(state.path());
    let flags = ["--component", guest.to_str().unwrap()];
    let mut server = Server::unread(
        state.path(),
        Some(&simulator),
        &flags,
        &[("RUST_LOG", "trace"), ("RUST_BACKTRACE", "1")],
    );
    // Every line that is read is checked to be a message.
    server.read();
    server.initialize("2025-11-25");
    for tool in ["answers", "research"] {
        let failed = server.call(tool, json!({"query": "q"}));
        assert_eq!(failed["isError"], true, "{tool}: {failed}");
        assert!(text(&failed).contains("unreachable"), "{tool}: {failed}");
        assert!(failed.get("structuredContent").is_none());
    }
    assert_eq!(simulator.log().len(), 2);
    let status = server.call("status", json!({}));
    assert_eq!(status["structuredContent"]["state"], "ready", "{status}");
    let errors: Vec<Value> = server
        .settled()
        .into_iter()
        .filter(|message| message.get("error").is_some())
        .collect();
    assert_eq!(errors, Vec::<Value>::new());
    server.leave();
}
