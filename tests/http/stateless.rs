//! Streamable HTTP of 2026-07-28: requests by themselves.

use serde_json::{Value, json};

use super::client::{Connection, exchange, meta, modern, modern_call, notification, request};
use super::fixture::{Options, Server};
use super::program::Serve;
use crate::support::World;

#[test]
fn the_headers_say_what_the_request_says() {
    let world = World::new();
    let server = Serve::start(&world, &[]);
    let body = modern_call(1, "status", json!({}));
    let version = ("mcp-protocol-version", "2026-07-28");
    let (method, name) = (("mcp-method", "tools/call"), ("mcp-name", "status"));
    for (headers, status, code) in [
        (&[version, method, name][..], 200, None),
        (
            &[version, method, ("mcp-name", "=?base64?c3RhdHVz?=")],
            200,
            None,
        ),
        (
            &[
                version,
                method,
                name,
                ("mcp-session-id", "any"),
                ("last-event-id", "1-1"),
            ],
            200,
            None,
        ),
        (&[method, name], 400, Some(-32020)),
        (&[version, name], 400, Some(-32020)),
        (&[version, method], 400, Some(-32020)),
        (
            &[("mcp-protocol-version", "2025-11-25"), method, name],
            400,
            Some(-32020),
        ),
        (
            &[version, ("mcp-method", "tools/list"), name],
            400,
            Some(-32020),
        ),
        (
            &[version, method, ("mcp-name", "answers")],
            400,
            Some(-32020),
        ),
        (&[version, version, method, name], 400, Some(-32020)),
        (&[version, method, method, name], 400, Some(-32020)),
        (
            &[version, method, name, ("mcp-name", "other")],
            400,
            Some(-32020),
        ),
    ] {
        let (head, reply) = exchange(server.port, "POST", "/mcp", headers, &body);
        let reply: Value = serde_json::from_str(&reply).unwrap();
        assert_eq!(
            (head.status, reply["error"]["code"].as_i64()),
            (status, code),
            "{headers:?} {reply}"
        );
        assert_eq!(reply["id"], 1);
    }
}

#[test]
fn errors_have_the_status_that_the_protocol_names() {
    let world = World::new();
    let server = Serve::start(&world, &[]);
    let with = |more: Value| {
        let mut meta = meta();
        for (key, value) in more.as_object().unwrap() {
            meta[format!("io.modelcontextprotocol/{key}")] = value.clone();
        }
        meta
    };
    let bare = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
    let future = with(json!({ "protocolVersion": "2099-01-01" }));
    let unknown = json!({ "_meta": meta(), "uri": "research://none" });
    for (version, method, name, params, status, code) in [
        (
            "2026-07-28",
            "no/such",
            None,
            json!({ "_meta": meta() }),
            404,
            -32601,
        ),
        (
            "2026-07-28",
            "initialize",
            None,
            json!({ "_meta": meta() }),
            404,
            -32601,
        ),
        (
            "2026-07-28",
            "ping",
            None,
            json!({ "_meta": meta() }),
            404,
            -32601,
        ),
        (
            "2026-07-28",
            "logging/setLevel",
            None,
            json!({ "_meta": meta() }),
            404,
            -32601,
        ),
        (
            "2026-07-28",
            "resources/subscribe",
            None,
            json!({ "_meta": meta() }),
            404,
            -32601,
        ),
        (
            "2026-07-28",
            "resources/unsubscribe",
            None,
            json!({ "_meta": meta(), "uri": 5 }),
            404,
            -32601,
        ),
        (
            "2099-01-01",
            "tools/list",
            None,
            json!({ "_meta": future }),
            400,
            -32022,
        ),
        ("2099-01-01", "tools/list", None, json!({}), 400, -32022),
        ("2026-07-28", "tools/list", None, json!({}), 400, -32602),
        (
            "2026-07-28",
            "tools/list",
            None,
            json!({ "_meta": bare }),
            400,
            -32602,
        ),
        (
            "2026-07-28",
            "server/discover",
            None,
            json!({}),
            400,
            -32602,
        ),
        (
            "2026-07-28",
            "tools/call",
            None,
            json!({ "_meta": meta() }),
            200,
            -32602,
        ),
        (
            "2026-07-28",
            "resources/read",
            Some("research://none"),
            unknown,
            200,
            -32602,
        ),
        (
            "2026-07-28",
            "tasks/get",
            Some("none"),
            json!({ "_meta": meta(), "taskId": "none" }),
            400,
            -32021,
        ),
    ] {
        let mut headers = vec![("mcp-protocol-version", version), ("mcp-method", method)];
        headers.extend(name.map(|name| ("mcp-name", name)));
        let (head, reply) = exchange(
            server.port,
            "POST",
            "/mcp",
            &headers,
            &request(3, method, params),
        );
        let reply: Value = serde_json::from_str(&reply).unwrap();
        assert_eq!(
            (head.status, reply["error"]["code"].as_i64()),
            (status, Some(code)),
            "{method} {reply}"
        );
        assert_eq!(reply["id"], 3);
        match code {
            -32022 => assert!(
                reply["error"]["data"]["supported"]
                    .as_array()
                    .unwrap()
                    .len()
                    >= 5
            ),
            -32602 if name.is_some() => {
                assert_eq!(reply["error"]["data"]["uri"], "research://none")
            }
            _ => {}
        }
    }
}

#[test]
fn only_requests_are_posted_and_only_posts_are_taken() {
    let server = Server::start(Options::default());
    let version = [("mcp-protocol-version", "2026-07-28")];
    for method in ["GET", "DELETE"] {
        let (head, _) = exchange(server.port, method, "/mcp", &version, "");
        assert_eq!((head.status, head.header("allow")), (405, Some("POST")));
    }
    let cancel = notification("notifications/cancelled", json!({ "requestId": 1 }));
    assert_eq!(
        exchange(server.port, "POST", "/mcp", &version, &cancel)
            .0
            .status,
        202
    );
    let reply = json!({ "jsonrpc": "2.0", "id": 1, "result": {} }).to_string();
    assert_eq!(
        exchange(server.port, "POST", "/mcp", &version, &reply)
            .0
            .status,
        400
    );
}

#[test]
fn a_stream_begins_with_progress_and_ends_with_the_answer_without_ids() {
    let server = Server::start(Options::default());
    let mut meta = meta();
    meta["progressToken"] = "p".into();
    let params = json!({ "_meta": meta, "name": "test_tool_with_progress", "arguments": {} });
    let mut stream = Connection::open(server.port);
    let headers = modern("tools/call", "test_tool_with_progress");
    stream.send("POST", "/mcp", &headers, &request(1, "tools/call", params));
    let head = stream.head();
    assert!(head.is_stream());
    assert_eq!(head.header("x-accel-buffering"), Some("no"));
    assert_eq!(head.header("cache-control"), Some("no-cache, no-transform"));
    let mut messages = Vec::new();
    while let Some(event) = stream.event() {
        assert_eq!((event.id, event.retry, event.name), (None, None, None));
        let data = event.data.unwrap();
        messages.push(serde_json::from_str::<Value>(&data).unwrap());
    }
    let progress: Vec<_> = messages
        .iter()
        .filter_map(|one| one["params"]["progress"].as_f64())
        .collect();
    assert_eq!(progress, [0.0, 50.0, 100.0]);
    assert_eq!(messages.last().unwrap()["result"]["resultType"], "complete");
}

#[test]
fn closing_the_connection_cancels_the_call_and_no_other() {
    let server = Server::start(Options::default());
    let headers = modern("tools/call", "wait");
    let open = |name: &str| {
        let mut connection = Connection::open(server.port);
        connection.send(
            "POST",
            "/mcp",
            &headers,
            &modern_call(1, "wait", json!({ "name": name })),
        );
        server.wait(&format!("{name} runs"));
        connection
    };
    // Before the reply has begun, and while it is streamed. The same id does no harm: there is no session.
    let early = open("early");
    drop(early);
    server.wait("early is cancelled");
    let mut stays = open("stays");
    let mut late = open("late");
    assert!(late.head().is_stream());
    drop(late);
    server.wait("late is cancelled");
    server.control.tell("stays may end");
    let head = stays.head();
    assert!(stays.body(&head).contains("stays"));
    server.until("all services end", |http| http.service_count() == 0);
}

#[test]
fn a_subscription_is_acknowledged_cancelled_by_closing_and_ended_with_a_result() {
    let server = Server::start(Options::default());
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "subscriptions/listen"),
    ];
    let params = json!({ "_meta": meta(), "notifications": { "resourcesListChanged": true } });
    let open = || {
        let mut connection = Connection::open(server.port);
        connection.send(
            "POST",
            "/mcp",
            &headers,
            &request(5, "subscriptions/listen", params.clone()),
        );
        assert!(connection.head().is_stream());
        let (_, first) = connection.message().unwrap();
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
        server.wait("a subscription is open");
        connection
    };
    drop(open());
    server.wait("a subscription is cancelled");
    let mut stream = open();
    server.http.stopping().cancel();
    let (_, result) = stream.message().unwrap();
    assert_eq!(
        (&result["id"], &result["result"]["resultType"]),
        (&json!(5), &json!("complete"))
    );
    assert_eq!(stream.message(), None);
}
