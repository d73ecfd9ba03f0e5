//! How a bridge ends: with its input, with its output, and at a signal.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::json;

use super::fake::{Fake, Request, said, usual};
use super::{bridge, command, open, own_error};
use crate::support::finish;
use crate::support::server::Server;

fn slow() -> Fake {
    Fake::start(|request, wire, state| {
        if request.is_call() {
            state.wait("go");
            wire.json(&said(request, "late"));
        } else {
            usual(request, wire, "the-session");
        }
    })
}

#[test]
fn the_end_of_the_input_waits_for_answers_and_ends_the_session() {
    let fake = slow();
    let mut server = bridge(&fake.url);
    open(&mut server);
    let id = server.request("tools/call", json!({ "name": "a" }));
    fake.wait_for("the call", Request::is_call);
    server.close();
    fake.tell("go");
    assert_eq!(server.reply(id)["result"]["content"][0]["text"], "late");
    assert_eq!(server.wait(), Some(0));
    let ended = fake.wait_for("the end", |request| request.method == "DELETE");
    assert_eq!(ended.header("mcp-session-id"), Some("the-session"));
}

#[test]
fn a_server_that_does_not_answer_holds_up_no_end() {
    let fake = slow();
    let mut server = bridge(&fake.url);
    open(&mut server);
    let id = server.request("tools/call", json!({ "name": "a" }));
    fake.wait_for("the call", Request::is_call);
    server.close();
    let (kind, sent, _) = own_error(&server.reply(id));
    assert_eq!((kind.as_str(), sent.as_str()), ("ended", "unknown"));
    assert_eq!(server.wait(), Some(0));
    fake.tell("go");
}

#[test]
fn a_server_that_never_answers_at_all_holds_up_no_end() {
    let fake = Fake::start(|_, wire, _| wire.wait_for_close());
    let mut server = bridge(&fake.url);
    server.request("initialize", json!({ "protocolVersion": "2025-11-25" }));
    fake.wait_for("it", |request| request.rpc() == "initialize");
    server.close();
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn a_signal_ends_it_at_once() {
    for signal in ["-TERM", "-INT"] {
        let fake = slow();
        let mut server = bridge(&fake.url);
        open(&mut server);
        server.request("tools/call", json!({ "name": "a" }));
        fake.wait_for("the call", Request::is_call);
        let pid = server.pid().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &pid])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(server.wait(), Some(130));
        fake.wait_for("the end", |request| request.method == "DELETE");
        fake.tell("go");
    }
}

#[test]
fn a_closed_output_ends_it() {
    let fake = slow();
    let mut server = Server::spawn(command(&fake.url, &[], &[]));
    open(&mut server);
    server.settled();
    let mut child = command(&fake.url, &[], &[])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    writeln!(input, r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-11-25"}}}}"#).unwrap();
    assert_eq!(finish(child).code, Some(0));
    drop(input);
}
