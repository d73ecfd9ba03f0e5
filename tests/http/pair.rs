//! The transport of 2024-11-05: `/sse` and `/message`.

use serde_json::{Value, json};

use super::client::{Connection, call, exchange, notification, request};
use super::fixture::{Options, Server};

/// A session: its stream, and where its messages go.
fn open(server: &Server) -> (Connection, String) {
    let mut stream = Connection::open(server.port);
    stream.send("GET", "/sse", &[], "");
    let head = stream.head();
    assert!(head.is_stream());
    let endpoint = stream.event().unwrap();
    assert_eq!(endpoint.name.as_deref(), Some("endpoint"));
    let path = endpoint.data.unwrap();
    assert!(path.starts_with("/message?sessionId="), "{path}");
    let params = json!({
        "protocolVersion": "2024-11-05", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    send(server, &path, &request(0, "initialize", params));
    let answer = answer(&mut stream);
    assert_eq!(answer["result"]["protocolVersion"], "2024-11-05");
    send(
        server,
        &path,
        &notification("notifications/initialized", json!({})),
    );
    (stream, path)
}

fn send(server: &Server, path: &str, body: &str) {
    let (head, reply) = exchange(server.port, "POST", path, &[], body);
    assert_eq!(head.status, 202, "{reply}");
}

/// The next message, which has neither id nor time to reconnect.
fn answer(stream: &mut Connection) -> Value {
    let event = stream.event().unwrap();
    assert_eq!(
        (event.name.as_deref(), &event.id, &event.retry),
        (Some("message"), &None, &None)
    );
    serde_json::from_str(&event.data.unwrap()).unwrap()
}

#[test]
fn messages_go_one_way_and_answers_the_other() {
    let server = Server::start(Options::default());
    let (mut one, to_one) = open(&server);
    let (mut two, to_two) = open(&server);
    send(&server, &to_one, &call(1, "echo", json!({ "of": "one" })));
    send(&server, &to_two, &call(1, "echo", json!({ "of": "two" })));
    for (stream, name) in [(&mut two, "two"), (&mut one, "one")] {
        let text = answer(stream)["result"]["content"][0]["text"].to_string();
        assert!(text.contains(name), "{text}");
    }
    // What the server refuses is answered where its client waits.
    send(&server, &to_one, &request(2, "no/such", json!({})));
    assert_eq!(answer(&mut one)["error"]["code"], -32601);
    // What has no id is answered at once.
    for body in ["{", "[]"] {
        let (head, _) = exchange(server.port, "POST", &to_one, &[], body);
        assert_eq!(head.status, 400);
    }
    assert_eq!(server.http.session_count(), 2);
}

#[test]
fn a_session_ends_with_its_stream() {
    let server = Server::start(Options::default());
    let (stream, path) = open(&server);
    send(&server, &path, &call(1, "wait", json!({ "name": "a" })));
    server.wait("a runs");
    drop(stream);
    server.wait("a is cancelled");
    server.until("the session ends", |http| {
        http.session_count() == 0 && http.service_count() == 0
    });
    let ping = request(2, "ping", json!({}));
    for path in [
        path.as_str(),
        "/message",
        "/message?sessionId=",
        "/message?other=1",
    ] {
        assert_eq!(
            exchange(server.port, "POST", path, &[], &ping).0.status,
            404
        );
    }
    assert_eq!(exchange(server.port, "GET", &path, &[], "").0.status, 405);
    assert_eq!(
        exchange(server.port, "POST", "/sse", &[], &ping).0.status,
        405
    );
}
