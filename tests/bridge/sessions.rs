//! Sessions that the server loses.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::fake::{Fake, Request, State, Wire, said, usual};
use super::{bridge, call, open, own_error};

/// Serves sessions `s1`, `s2`, … of which only the latest is known; `status` and `body` refuse the others.
fn forgetful(
    status: &'static str,
    body: &'static str,
    serve: impl Fn(&Request, &mut Wire<'_>, &State) + Send + Sync + 'static,
) -> Fake {
    let opened = AtomicUsize::new(0);
    let forgotten = AtomicUsize::new(0);
    Fake::start(move |request, wire, state| {
        if request.rpc() == "initialize" {
            let number = opened.fetch_add(1, Ordering::SeqCst) + 1;
            usual(request, wire, &format!("s{number}"));
            return;
        }
        if request.rpc() == "notifications/forget" {
            forgotten.store(opened.load(Ordering::SeqCst), Ordering::SeqCst);
            wire.accepted();
            return;
        }
        let number: usize = request.header("mcp-session-id").unwrap_or("s0")[1..]
            .parse()
            .unwrap();
        if number <= forgotten.load(Ordering::SeqCst) && request.method != "DELETE" {
            wire.reply(status, &[("content-type", "application/json")], body);
            return;
        }
        serve(request, wire, state);
    })
}

#[test]
fn a_lost_session_is_opened_again_with_all_that_was_set() {
    for (status, body) in [
        ("404 Not Found", ""),
        (
            "404 Not Found",
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#,
        ),
        (
            "400 Bad Request",
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}"#,
        ),
    ] {
        let fake = forgetful(status, body, |request, wire, _| {
            if !usual(request, wire, "x") {
                wire.json(&said(request, "well"));
            }
        });
        let mut server = bridge(&fake.url);
        open(&mut server);
        for uri in ["a:1", "a:2", "a:3"] {
            server.ask("resources/subscribe", json!({ "uri": uri }));
        }
        server.ask("resources/unsubscribe", json!({ "uri": "a:2" }));
        server.ask("logging/setLevel", json!({ "level": "debug" }));
        server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/forget" }));
        // What changes nothing is repeated in the new session.
        assert!(server.ask("tools/list", json!({})).get("result").is_some());
        let changed = server.wait_for(|message| message.get("method").is_some());
        assert_eq!(changed["method"], "notifications/tools/list_changed");
        assert!(server.settled().is_empty());
        let again: Vec<_> = fake
            .log()
            .into_iter()
            .filter(|request| {
                request.header("mcp-session-id") == Some("s2") && request.method == "POST"
            })
            .map(|request| {
                (
                    request.rpc(),
                    request.json()["params"]["uri"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned(),
                )
            })
            .filter(|(method, _)| method != "ping")
            .collect();
        let pair = |method: &str, uri: &str| (method.to_owned(), uri.to_owned());
        assert_eq!(
            again,
            [
                pair("notifications/initialized", ""),
                pair("logging/setLevel", ""),
                pair("resources/subscribe", "a:1"),
                pair("resources/subscribe", "a:3"),
                pair("tools/list", ""),
            ]
        );
        let opened = fake
            .log()
            .into_iter()
            .filter(|request| request.rpc() == "initialize");
        let opened: Vec<_> = opened
            .map(|request| request.json()["params"].clone())
            .collect();
        assert_eq!(opened.len(), 2);
        assert_eq!(opened[0], opened[1]);
        server.leave();
        let ended = fake.wait_for("the end", |request| request.method == "DELETE");
        assert_eq!(ended.header("mcp-session-id"), Some("s2"));
    }
}

#[test]
fn a_call_in_a_lost_session_is_refused_and_can_be_made_again() {
    let fake = forgetful("404 Not Found", "", |request, wire, _| {
        if !usual(request, wire, "x") {
            wire.json(&said(request, "well"));
        }
    });
    let mut server = bridge(&fake.url);
    open(&mut server);
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/forget" }));
    let (kind, sent, text) = own_error(&server.ask("tools/call", json!({ "name": "pay" })));
    assert_eq!((kind.as_str(), sent.as_str()), ("session_lost", "refused"));
    for part in [
        "no longer knows the session",
        "sent once, was refused",
        "A new session is open",
        "can be made again now",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(call(&mut server, "pay", json!({})), "well");
    assert_eq!(fake.calls(), 2);
}

#[test]
fn many_requests_at_once_open_one_session() {
    let fake = forgetful("404 Not Found", "", |request, wire, _| {
        if !usual(request, wire, "x") {
            wire.json(&said(request, "well"));
        }
    });
    let mut server = bridge(&fake.url);
    open(&mut server);
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/forget" }));
    let ids: Vec<i64> = (0..50)
        .map(|_| server.request("tools/list", json!({})))
        .collect();
    for id in ids {
        assert!(server.reply(id).get("result").is_some());
    }
    assert_eq!(fake.state.count(|request| request.rpc() == "initialize"), 2);
}

#[test]
fn an_answer_to_a_lost_session_reaches_no_other() {
    // Both sessions ask with the same id; the answers to the first must not approve what the second asks.
    let answers = std::sync::Arc::new(Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&answers);
    let fake = forgetful("404 Not Found", "", move |request, wire, state| {
        if request.json().get("result").is_some() {
            seen.lock().unwrap().push(request.json());
            wire.accepted();
            state.tell("answered");
        } else if request.is_call() {
            wire.begin_stream();
            let which = &request.json()["params"]["name"];
            wire.event(&json!({ "jsonrpc": "2.0", "id": 0, "method": "elicitation/create", "params": { "message": which } }));
            if which == "one" {
                state.wait("lose");
                return;
            }
            state.wait("answered");
            wire.event(&said(request, "well"));
            wire.end_stream();
        } else {
            usual(request, wire, "x");
        }
    });
    let mut server = bridge(&fake.url);
    open(&mut server);
    let one = server.request("tools/call", json!({ "name": "one" }));
    let asked = server.wait_for(|message| message["method"] == "elicitation/create");
    assert_eq!(
        (&asked["id"], &asked["params"]["message"]),
        (&json!(0), &json!("one"))
    );
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/forget" }));
    fake.tell("lose");
    assert_eq!(own_error(&server.reply(one)).1, "unknown");
    assert!(server.ask("tools/list", json!({})).get("result").is_some());
    let withdrawn = server.wait_for(|message| message["method"] == "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], 0);
    let two = server.request("tools/call", json!({ "name": "two" }));
    let asked = server.wait_for(|message| message["method"] == "elicitation/create");
    assert_eq!(asked["params"]["message"], "two");
    assert_ne!(asked["id"], 0);
    server.send(
        &json!({ "jsonrpc": "2.0", "id": 0, "result": { "action": "accept", "for": "one" } }),
    );
    server.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "action": "decline", "for": "two" } }));
    assert_eq!(server.reply(two)["result"]["content"][0]["text"], "well");
    let answers = answers.lock().unwrap();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(
        (&answers[0]["id"], &answers[0]["result"]["for"]),
        (&json!(0), &json!("two"))
    );
}

#[test]
fn a_server_that_came_back_with_another_version_is_reported() {
    let versions = AtomicUsize::new(0);
    let fake = Fake::start(move |request, wire, _| {
        if request.rpc() == "initialize" {
            let version =
                ["2025-11-25", "2025-03-26"][versions.fetch_add(1, Ordering::SeqCst).min(1)];
            let answer = super::fake::result(
                request,
                json!({ "protocolVersion": version, "capabilities": {} }),
            );
            wire.reply(
                "200 OK",
                &[
                    ("content-type", "application/json"),
                    ("mcp-session-id", "s"),
                ],
                &answer.to_string(),
            );
        } else if request.rpc() == "tools/list" {
            wire.reply("404 Not Found", &[], "");
        } else {
            usual(request, wire, "s");
        }
    });
    let mut server = bridge(&fake.url);
    open(&mut server);
    let (kind, _, text) = own_error(&server.ask("tools/list", json!({})));
    assert_eq!(kind, "session_not_renewed");
    assert!(
        text.contains("2025-03-26") && text.contains("restart the client"),
        "{text}"
    );
}

#[test]
fn the_servers_own_stream_notices_a_restart_before_any_call() {
    let fake = forgetful("404 Not Found", "", |request, wire, state| {
        if request.method == "GET" {
            wire.begin_stream();
            wire.chunk("retry: 1\n\n");
            if request.header("mcp-session-id") == Some("s1") {
                state.wait("restart");
            } else {
                wire.wait_for_close();
            }
        } else if !usual(request, wire, "x") {
            wire.json(&said(request, "well"));
        }
    });
    let mut server = bridge(&fake.url);
    open(&mut server);
    fake.wait_for("the stream", |request| request.method == "GET");
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/forget" }));
    fake.wait_for("it", |request| request.rpc() == "notifications/forget");
    fake.tell("restart");
    fake.wait_for("the new stream", |request| {
        request.method == "GET" && request.header("mcp-session-id") == Some("s2")
    });
    assert_eq!(call(&mut server, "pay", json!({})), "well");
    assert_eq!(fake.calls(), 1);
    server.leave();
}
