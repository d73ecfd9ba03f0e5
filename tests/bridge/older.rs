//! The transport of 2024-11-05, from servers that are particular about it.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::fake::{Fake, Request, State, Wire, result, said};
use super::{bridge, bridge_with, call, open, open_as, own_error};

/// A server with a stream at one path, and what its `endpoint` event says. A word `kill` ends the stream.
fn pair(
    path: &'static str,
    endpoint: impl Fn(&Request, usize) -> String + Send + Sync + 'static,
    serve: impl Fn(&Request, &State) -> Option<serde_json::Value> + Send + Sync + 'static,
) -> Fake {
    let streams = AtomicUsize::new(0);
    let outbox: std::sync::Mutex<Vec<String>> = std::sync::Mutex::default();
    Fake::start(move |request, wire, state| {
        let bare = request.path.split('?').next().unwrap();
        if request.method == "GET" && bare == path {
            let number = streams.fetch_add(1, Ordering::SeqCst) + 1;
            wire.begin_stream();
            wire.chunk(&endpoint(request, number));
            loop {
                state.wait("out");
                let next = outbox.lock().unwrap().remove(0);
                if next == "kill" || !wire.chunk(&next) {
                    return;
                }
            }
        }
        if request.method != "POST" || !request.path.contains("sessionId=") {
            wire.reply(
                "404 Not Found",
                &[("content-type", "text/html")],
                "<html>Cannot POST",
            );
            return;
        }
        let put = |text: String| {
            outbox.lock().unwrap().push(text);
            state.tell("out");
        };
        let answer = match request.rpc().as_str() {
            "initialize" => Some(result(
                request,
                json!({
                    "protocolVersion": request.json()["params"]["protocolVersion"],
                    "capabilities": { "tools": { "listChanged": true } },
                }),
            )),
            "ping" => Some(result(request, json!({}))),
            "notifications/kill" => {
                put("kill".to_owned());
                None
            }
            _ => serve(request, state),
        };
        wire.reply(
            "202 Accepted",
            &[("content-type", "text/plain")],
            "Accepted",
        );
        if let Some(answer) = answer {
            put(format!("event: message\r\ndata: {answer}\r\n\r\n"));
        }
    })
}

fn base(fake: &Fake, path: &str) -> String {
    fake.url.replace("/mcp", path)
}

#[test]
fn a_server_at_the_root_that_names_a_query_alone() {
    let fake = pair(
        "/",
        |_, number| format!("event: endpoint\r\ndata: ?sessionId={number}\r\n\r\n"),
        |request, _| Some(said(request, "burp")),
    );
    let mut server = bridge(&base(&fake, "/"));
    open_as(&mut server, "2024-11-05");
    assert_eq!(call(&mut server, "a", json!({})), "burp");
    let posted = fake.wait_for("the call", Request::is_call);
    assert_eq!(posted.path, "/?sessionId=1");
    assert_eq!(posted.header("content-type"), Some("application/json"));
    server.leave();
}

#[test]
fn every_form_of_endpoint_is_taken_and_the_usual_path_is_found() {
    type Endpoint = fn(&Request, usize) -> String;
    let forms: [(&'static str, &str, Endpoint, &str); 5] = [
        (
            "/sse",
            "/sse",
            |_, _| "event: endpoint\ndata: /message?sessionId=a\n\n".into(),
            "/message?sessionId=a",
        ),
        (
            "/sse",
            "/mcp",
            |_, _| "event: endpoint\ndata: /message?sessionId=a\n\n".into(),
            "/message?sessionId=a",
        ),
        (
            "/deep/sse",
            "/deep/sse",
            |_, _| "event: endpoint\ndata: message?sessionId=a\n\n".into(),
            "/deep/message?sessionId=a",
        ),
        (
            "/sse",
            "/sse",
            |request, _| {
                format!(
                    "event: endpoint\ndata: http://{}/m?sessionId=a\n\n",
                    request.header("host").unwrap()
                )
            },
            "/m?sessionId=a",
        ),
        (
            "/sse",
            "/",
            |_, _| "data: /message?sessionId=a\n\n".into(),
            "/message?sessionId=a",
        ),
    ];
    for (path, given, endpoint, expected) in forms {
        let fake = pair(path, endpoint, |request, _| Some(said(request, "well")));
        let mut server = bridge(&base(&fake, given));
        open_as(&mut server, "2024-11-05");
        assert_eq!(call(&mut server, "a", json!({})), "well");
        assert_eq!(fake.wait_for("the call", Request::is_call).path, expected);
    }
}

#[test]
fn messages_are_sent_to_no_other_origin() {
    let elsewhere = Fake::start(|_, wire, _| wire.accepted());
    let target = elsewhere.url.clone();
    let fake = pair(
        "/sse",
        move |_, _| format!("event: endpoint\ndata: {target}?sessionId=a&token=hunter2\n\n"),
        |_, _| None,
    );
    let mut server = bridge(&base(&fake, "/sse"));
    let reply = server.ask("initialize", json!({ "protocolVersion": "2024-11-05" }));
    let (_, _, text) = own_error(&reply);
    assert!(
        text.contains("another origin") && !text.contains("hunter2"),
        "{text}"
    );
    assert!(elsewhere.log().is_empty());
}

#[test]
fn a_stream_that_ends_leaves_the_outcome_unknown_and_is_opened_again() {
    let fake = pair(
        "/sse",
        |_, number| format!("event: endpoint\ndata: /m?sessionId={number}\n\n"),
        |request, state| {
            if request.json()["params"]["name"] == "pay" {
                state.tell("paying");
                return None;
            }
            if request.rpc() == "tools/list" && state.count(|one| one.rpc() == "tools/list") == 1 {
                return None;
            }
            (request.json().get("id").is_some()).then(|| said(request, "well"))
        },
    );
    let mut server = bridge(&base(&fake, "/sse"));
    open_as(&mut server, "2024-11-05");
    server.ask("resources/subscribe", json!({ "uri": "a:1" }));
    let pay = server.request("tools/call", json!({ "name": "pay" }));
    let list = server.request("tools/list", json!({}));
    fake.wait("paying");
    fake.wait_for("the list", |request| request.rpc() == "tools/list");
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/kill" }));
    let (kind, sent, text) = own_error(&server.reply(pay));
    assert_eq!(
        (kind.as_str(), sent.as_str()),
        ("connection_ended", "unknown"),
        "{text}"
    );
    // What changes nothing is repeated, in a session with the old one's subscriptions.
    assert!(server.reply(list).get("result").is_some());
    assert_eq!(call(&mut server, "other", json!({})), "well");
    let second: Vec<String> = fake
        .log()
        .iter()
        .filter(|request| request.path == "/m?sessionId=2")
        .map(Request::rpc)
        .collect();
    assert_eq!(
        second[..3],
        [
            "initialize",
            "notifications/initialized",
            "resources/subscribe"
        ]
    );
    assert_eq!(fake.calls(), 2);
}

#[test]
fn an_address_that_is_gone_opens_the_stream_again() {
    let fake = Fake::start({
        let streams = AtomicUsize::new(0);
        let answers = std::sync::Mutex::new(std::collections::HashMap::<usize, Vec<String>>::new());
        move |request: &Request, wire: &mut Wire<'_>, state: &State| {
            if request.method == "GET" && request.path == "/mcp" {
                let number = streams.fetch_add(1, Ordering::SeqCst) + 1;
                wire.begin_stream();
                wire.chunk(&format!("event: endpoint\ndata: /m?sessionId={number}\n\n"));
                loop {
                    state.wait(&format!("out {number}"));
                    let next = answers.lock().unwrap().get_mut(&number).unwrap().remove(0);
                    if !wire.chunk(&next) {
                        return;
                    }
                }
            }
            let Some((_, number)) = request.path.split_once("sessionId=") else {
                return wire.reply("405 Method Not Allowed", &[], "");
            };
            let number: usize = number.parse().unwrap();
            let gone = number == 1
                && request.rpc() != "initialize"
                && request.rpc() != "notifications/initialized";
            if gone {
                return wire.reply("404 Not Found", &[], "no such session");
            }
            wire.accepted();
            if request.json().get("id").is_some() {
                let version = &request.json()["params"]["protocolVersion"];
                let answer = result(
                    request,
                    json!({ "protocolVersion": version, "capabilities": {}, "content": [{ "type": "text", "text": "well" }] }),
                );
                answers
                    .lock()
                    .unwrap()
                    .entry(number)
                    .or_default()
                    .push(format!("data: {answer}\n\n"));
                state.tell(&format!("out {number}"));
            }
        }
    });
    let mut server = bridge(&fake.url);
    open_as(&mut server, "2024-11-05");
    let (kind, sent, _) = own_error(&server.ask("tools/call", json!({ "name": "pay" })));
    assert_eq!((kind.as_str(), sent.as_str()), ("session_lost", "refused"));
    assert_eq!(call(&mut server, "pay", json!({})), "well");
    assert_eq!(fake.calls(), 2);
}

#[test]
fn what_was_looked_for_is_said_when_nothing_is_found() {
    let fake = Fake::start(|_, wire, _| {
        wire.reply(
            "404 Not Found",
            &[("content-type", "text/html")],
            "<html>nothing",
        )
    });
    let mut server = bridge(&fake.url);
    let reply = server.ask("initialize", json!({ "protocolVersion": "2025-11-25" }));
    let (kind, _, text) = own_error(&reply);
    assert_eq!(kind, "refused");
    for part in [
        "status 404",
        "The older transport was looked for too",
        "/mcp: ",
        "/sse: ",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let tried: Vec<_> = fake
        .log()
        .into_iter()
        .map(|request| (request.method, request.path))
        .collect();
    let pair = |method: &str, path: &str| (method.to_owned(), path.to_owned());
    assert_eq!(
        tried,
        [
            pair("POST", "/mcp"),
            pair("GET", "/mcp"),
            pair("GET", "/sse")
        ]
    );
}

#[test]
fn a_refusal_in_json_rpc_is_no_reason_to_look_elsewhere() {
    let fake = Fake::start(|request, wire, _| {
        let error =
            json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32022, "message": "no" } });
        assert_eq!(request.method, "POST");
        wire.reply(
            "400 Bad Request",
            &[("content-type", "application/json")],
            &error.to_string(),
        );
    });
    let mut server = bridge(&fake.url);
    let reply = server.ask("server/discover", json!({}));
    assert_eq!(reply["error"]["code"], -32022);
    assert_eq!(fake.log().len(), 1);
}

#[test]
fn a_stream_that_never_begins_is_given_up() {
    for stage in ["head", "event"] {
        let fake = Fake::start(move |request, wire, _| {
            if request.method == "POST" {
                return wire.reply("405 Method Not Allowed", &[], "");
            }
            if stage == "event" {
                wire.begin_stream();
            }
            wire.wait_for_close();
        });
        let mut server = bridge_with(&fake.url, &["--timeout", "1"], &[]);
        let reply = server.ask("initialize", json!({ "protocolVersion": "2024-11-05" }));
        assert!(own_error(&reply).2.contains("nothing for 1 s"), "{reply}");
    }
}

#[test]
fn a_call_that_finds_the_older_transport_is_not_sent_a_second_time() {
    let fake = pair(
        "/mcp",
        |_, _| "event: endpoint\ndata: /m?sessionId=1\n\n".to_owned(),
        |request, _| Some(said(request, "well")),
    );
    let mut server = bridge(&fake.url);
    let (kind, sent, text) = own_error(&server.ask("tools/call", json!({ "name": "pay" })));
    assert_eq!(
        (kind.as_str(), sent.as_str()),
        ("moved", "refused"),
        "{text}"
    );
    assert_eq!(fake.calls(), 1);
    open(&mut server);
    assert_eq!(call(&mut server, "pay", json!({})), "well");
}
