//! Servers of 2026-07-28: no session, headers that repeat the request, and a closed stream as the cancellation.

use serde_json::{Value, json};

use super::fake::{Fake, Request, result, said};
use super::{bridge, own_error};
use crate::support::server::modern;

fn with_meta(mut params: Value) -> Value {
    params["_meta"] = modern(json!({}));
    params
}

/// A server with one tool that has headers, in a list of two pages.
fn tools(request: &Request) -> Option<Value> {
    let properties = json!({ "region": { "type": "string", "x-mcp-header": "Region" } });
    let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object", "properties": properties } });
    match (
        request.rpc().as_str(),
        request.json()["params"]["cursor"].as_str(),
    ) {
        ("tools/list", None) => Some(result(
            request,
            json!({ "tools": [tool("first")], "nextCursor": "2" }),
        )),
        ("tools/list", Some(_)) => Some(result(request, json!({ "tools": [tool("deploy")] }))),
        _ => None,
    }
}

#[test]
fn headers_repeat_the_request_and_those_of_arguments_are_learned() {
    let fake = Fake::start(|request, wire, _| match tools(request) {
        Some(list) => wire.json(&list),
        None => wire.json(&said(request, "well")),
    });
    let mut server = bridge(&fake.url);
    let call = |server: &mut crate::support::server::Server, tool: &str, region: &str| {
        let params = with_meta(json!({ "name": tool, "arguments": { "region": region } }));
        server.ask("tools/call", params)["result"]["content"][0]["text"].clone()
    };
    for (tool, region) in [("deploy", "eu"), ("deploy", "zürich"), ("first", "us")] {
        assert_eq!(call(&mut server, tool, region), "well");
    }
    // The list was read once, before the first call.
    assert_eq!(fake.state.count(|request| request.rpc() == "tools/list"), 2);
    let calls: Vec<_> = fake.log().into_iter().filter(Request::is_call).collect();
    let headers =
        |request: &Request, name: &str| request.header(name).unwrap_or_default().to_owned();
    for (request, name, region) in [
        (&calls[0], "deploy", "eu"),
        (&calls[1], "deploy", "=?base64?esO8cmljaA==?="),
        (&calls[2], "first", "us"),
    ] {
        assert_eq!(headers(request, "mcp-protocol-version"), "2026-07-28");
        assert_eq!(headers(request, "mcp-method"), "tools/call");
        assert_eq!(headers(request, "mcp-name"), name);
        assert_eq!(headers(request, "mcp-param-region"), region);
        assert_eq!(request.header("mcp-session-id"), None);
    }
    server.ask("resources/read", with_meta(json!({ "uri": "a://ö" })));
    let read = fake.wait_for("it", |request| request.rpc() == "resources/read");
    assert_eq!(headers(&read, "mcp-name"), "=?base64?YTovL8O2?=");
    server.leave();
    assert!(fake.log().iter().all(|request| request.method == "POST"));
}

#[test]
fn a_cancellation_closes_the_stream() {
    let fake = Fake::start(|request, wire, state| match tools(request) {
        Some(list) => wire.json(&list),
        None => {
            wire.begin_stream();
            wire.wait_for_close();
            state.tell("closed");
        }
    });
    let mut server = bridge(&fake.url);
    let id = server.request("tools/call", with_meta(json!({ "name": "deploy" })));
    fake.wait_for("the call", Request::is_call);
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    fake.wait("closed");
    server.leave();
    assert_eq!(
        fake.state
            .count(|request| request.rpc() == "notifications/cancelled"),
        0
    );
}

#[test]
fn a_call_whose_stream_breaks_is_not_sent_again_and_cannot_be_resumed() {
    let fake = Fake::start(|request, wire, _| match tools(request) {
        Some(list) => wire.json(&list),
        None => {
            wire.begin_stream();
            wire.chunk("id: 1\ndata:\n\n");
        }
    });
    let mut server = bridge(&fake.url);
    let reply = server.ask("tools/call", with_meta(json!({ "name": "deploy" })));
    assert_eq!(own_error(&reply).1, "unknown");
    assert_eq!(fake.calls(), 1);
    assert!(fake.log().iter().all(|request| request.method == "POST"));
}

#[test]
fn a_subscription_is_opened_again_for_as_long_as_it_is_wanted() {
    let fake = Fake::start(|request, wire, state| {
        if request.rpc() != "subscriptions/listen" {
            return wire.json(&result(request, json!({})));
        }
        let number = state.count(|request| request.rpc() == "subscriptions/listen");
        if number == 2 {
            return wire.reply("503 Service Unavailable", &[], "");
        }
        wire.begin_stream();
        wire.event(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": { "n": number } }));
        if number == 6 {
            wire.wait_for_close();
            state.tell("closed");
        }
    });
    let mut server = bridge(&fake.url);
    let id = server.request(
        "subscriptions/listen",
        with_meta(json!({ "notifications": { "toolsListChanged": true } })),
    );
    for number in [1, 3, 4, 5, 6] {
        assert_eq!(server.message()["params"]["n"], number);
    }
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    fake.wait("closed");
    server.leave();
}

#[test]
fn a_subscription_does_not_hold_up_the_end() {
    let fake = Fake::start(|_, wire, _| {
        wire.begin_stream();
        wire.chunk(": hello\n\n");
        wire.wait_for_close();
    });
    let mut server = bridge(&fake.url);
    let begun = std::time::Instant::now();
    server.request("subscriptions/listen", with_meta(json!({})));
    fake.wait_for("it", |request| request.rpc() == "subscriptions/listen");
    server.close();
    assert_eq!(server.wait(), Some(0));
    assert!(begun.elapsed() < std::time::Duration::from_secs(5));
}
