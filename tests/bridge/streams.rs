//! Streams that break: what is resumed, what is repeated, and what is never sent again.

use serde_json::json;

use super::fake::{Fake, Request, said, usual};
use super::{bridge, bridge_with, call, open, own_error};

#[test]
fn a_call_whose_stream_breaks_is_not_sent_again() {
    let fake = Fake::start(|request, wire, state| {
        if !request.is_call() {
            usual(request, wire, "s");
        } else if state.count(Request::is_call) == 1 {
            wire.begin_stream();
            wire.chunk(": working\n\n");
        } else {
            wire.json(&said(request, "well"));
        }
    });
    let mut server = bridge(&fake.url);
    open(&mut server);
    let reply = server.ask("tools/call", json!({ "name": "pay" }));
    let (kind, sent, text) = own_error(&reply);
    assert_eq!(
        (kind.as_str(), sent.as_str()),
        ("connection_ended", "unknown")
    );
    for part in [
        "sent once",
        "not sent again",
        "unknown",
        "The bridge goes on",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(call(&mut server, "pay", json!({ "more": 1 })), "well");
    assert_eq!(fake.calls(), 2);
}

#[test]
fn a_call_whose_connection_ends_before_the_reply_is_not_sent_again() {
    let fake = Fake::start(|request, wire, _| {
        if !request.is_call() {
            usual(request, wire, "s");
        }
    });
    let mut server = bridge(&fake.url);
    open(&mut server);
    let (kind, sent, _) = own_error(&server.ask("tools/call", json!({ "name": "pay" })));
    assert_eq!(
        (kind.as_str(), sent.as_str()),
        ("connection_ended", "unknown")
    );
    assert_eq!(fake.calls(), 1);
}

#[test]
fn what_changes_nothing_is_repeated() {
    let fake = Fake::start(|request, wire, state| {
        let lists = state.count(|request| request.rpc() == "tools/list");
        if request.rpc() == "tools/list" && lists < 3 {
            if lists == 1 {
                return;
            }
            wire.begin_stream();
            wire.chunk("data: {\"jsonrpc\":\"2.0\",");
            return;
        }
        usual(request, wire, "s");
    });
    let mut server = bridge(&fake.url);
    open(&mut server);
    assert!(server.ask("tools/list", json!({})).get("result").is_some());
    assert_eq!(fake.state.count(|request| request.rpc() == "tools/list"), 3);
}

#[test]
fn what_nobody_knows_is_not_repeated() {
    let fake = Fake::start(|request, wire, _| {
        if request.rpc() != "custom/pay" {
            usual(request, wire, "s");
        }
    });
    let mut server = bridge(&fake.url);
    open(&mut server);
    let (_, sent, text) = own_error(&server.ask("custom/pay", json!({})));
    assert_eq!(sent, "unknown");
    assert!(text.contains("custom/pay was sent once"), "{text}");
    assert_eq!(fake.state.count(|request| request.rpc() == "custom/pay"), 1);
}

#[test]
fn a_stream_with_ids_is_resumed_after_its_last_event() {
    let fake = Fake::start(|request, wire, state| {
        let progress = |wire: &mut super::fake::Wire<'_>, id: &str, value: u64| {
            let params = json!({ "progressToken": "t", "progress": value });
            let message =
                json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params });
            wire.chunk(&format!("id: {id}\ndata: {message}\n\n"));
        };
        if request.is_call() {
            wire.begin_stream();
            wire.chunk("id: a-0\nretry: 10\ndata:\n\n");
            progress(wire, "a-1", 1);
            wire.chunk("id: a-2\ndata: {\"cut");
        } else if request.method == "GET" && request.header("last-event-id").is_some() {
            // The first attempts find nobody, the next one some more, the last one the answer.
            let tries = state.count(|request| request.header("last-event-id").is_some());
            match tries {
                1 => return,
                2 => return wire.reply("503 Service Unavailable", &[], ""),
                _ => {}
            }
            wire.begin_stream();
            if request.header("last-event-id") == Some("a-1") {
                progress(wire, "a-2", 2);
                wire.end_stream();
                return;
            }
            let id = fake_call_id(state);
            wire.chunk(&format!(
                "id: a-3\ndata: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"ok\":true}}}}\n\n"
            ));
            wire.end_stream();
        } else {
            usual(request, wire, "s");
        }
    });
    let mut server = bridge(&fake.url);
    open(&mut server);
    let id = server.request(
        "tools/call",
        json!({ "name": "long", "_meta": { "progressToken": "t" } }),
    );
    for value in [1, 2] {
        assert_eq!(server.message()["params"]["progress"], value);
    }
    assert_eq!(server.reply(id)["result"]["ok"], true);
    let resumed: Vec<_> = fake
        .log()
        .iter()
        .filter_map(|request| {
            request.header("last-event-id").map(|id| {
                (
                    id.to_owned(),
                    request.header("mcp-session-id").map(ToOwned::to_owned),
                )
            })
        })
        .collect();
    assert_eq!(
        resumed.last().unwrap(),
        &("a-2".to_owned(), Some("s".to_owned()))
    );
    assert_eq!(resumed.first().unwrap().0, "a-1");
    assert_eq!(fake.calls(), 1);
}

fn fake_call_id(state: &super::fake::State) -> serde_json::Value {
    let mut id = serde_json::Value::Null;
    let found = std::sync::Mutex::new(&mut id);
    state.count(|request| {
        if request.is_call() {
            **found.lock().unwrap() = request.json()["id"].clone();
        }
        false
    });
    id
}

#[test]
fn a_stream_that_cannot_be_resumed_leaves_the_outcome_unknown() {
    let fake = Fake::start(|request, wire, _| {
        if request.is_call() {
            wire.begin_stream();
            wire.chunk("id: 1\nretry: 1\ndata:\n\n");
        } else {
            usual(request, wire, "s");
        }
    });
    let mut server = bridge(&fake.url);
    open(&mut server);
    let (kind, sent, _) = own_error(&server.ask("tools/call", json!({ "name": "pay" })));
    assert_eq!(
        (kind.as_str(), sent.as_str()),
        ("connection_ended", "unknown")
    );
    assert_eq!(fake.calls(), 1);
}

#[test]
fn a_server_that_hangs_is_given_up_after_the_time_out() {
    for stage in ["head", "body", "stream"] {
        let fake = Fake::start(move |request, wire, _| {
            if !request.is_call() {
                usual(request, wire, "s");
                return;
            }
            match stage {
                "head" => {}
                "body" => {
                    wire.raw(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{");
                }
                _ => wire.begin_stream(),
            }
            wire.wait_for_close();
        });
        let mut server = bridge_with(&fake.url, &["--timeout", "1"], &[]);
        open(&mut server);
        let (kind, sent, text) = own_error(&server.ask("tools/call", json!({ "name": "pay" })));
        assert_eq!(
            (kind.as_str(), sent.as_str()),
            ("timed_out", "unknown"),
            "{stage}"
        );
        assert!(text.contains("--timeout"), "{text}");
        assert_eq!(fake.calls(), 1);
    }
}

#[test]
fn the_servers_own_stream_is_read_and_opened_again() {
    let fake = Fake::start(|request, wire, state| {
        if request.method != "GET" {
            usual(request, wire, "s");
            return;
        }
        let number = state.count(|request| request.method == "GET");
        wire.begin_stream();
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "data": number } });
        wire.chunk(&format!("id: e{number}\nretry: 1\ndata: {message}\n\n"));
        if number == 3 {
            wire.wait_for_close();
        }
    });
    let mut server = bridge(&fake.url);
    open(&mut server);
    for number in 1..=3 {
        assert_eq!(server.message()["params"]["data"], number);
    }
    let ids: Vec<_> = fake
        .log()
        .into_iter()
        .filter(|request| request.method == "GET")
        .map(|request| request.header("last-event-id").map(ToOwned::to_owned))
        .collect();
    assert_eq!(ids, [None, Some("e1".to_owned()), Some("e2".to_owned())]);
    server.leave();
}

#[test]
fn a_cancelled_call_is_told_to_the_server_and_not_answered() {
    let fake = Fake::start(|request, wire, state| {
        if request.is_call() {
            wire.begin_stream();
            wire.wait_for_close();
            state.tell("closed");
        } else {
            usual(request, wire, "s");
        }
    });
    let mut server = bridge(&fake.url);
    open(&mut server);
    let id = server.request("tools/call", json!({ "name": "long" }));
    fake.wait_for("the call", Request::is_call);
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    let told = fake.wait_for("the cancellation", |request| {
        request.rpc() == "notifications/cancelled"
    });
    assert_eq!(told.json()["params"]["requestId"], id);
    fake.wait("closed");
    assert!(server.settled().is_empty());
}
