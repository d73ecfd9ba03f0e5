//! Streamable HTTP of the revisions with a handshake: sessions, streams that are resumed, restarts.

use std::time::Duration;

use glovebox::transport::http::limits::Limits;
use serde_json::{Value, json};

use super::client::{
    Connection, answer_of, begin, call, exchange, modern, modern_call, notification, post, request,
};
use super::fixture::{Options, Server};
use super::program::Serve;
use crate::support::World;

fn error_code(body: &str) -> i64 {
    let body: Value = serde_json::from_str(body).unwrap();
    body["error"]["code"].as_i64().unwrap()
}

/// A call of the tool that waits.
fn wait_call(id: u64, name: &str, progress: bool) -> String {
    let mut arguments = json!({ "name": name });
    if progress {
        arguments["progress"] = true.into();
    }
    let params =
        json!({ "name": "wait", "arguments": arguments, "_meta": { "progressToken": id } });
    request(id, "tools/call", params)
}

/// Posts a message of a session in a connection of its own, and gives the connection.
fn open_post(port: u16, session: &str, body: &str) -> Connection {
    let mut connection = Connection::open(port);
    connection.send("POST", "/mcp", &[("mcp-session-id", session)], body);
    connection
}

fn open_get(port: u16, session: &str, last: Option<&str>) -> Connection {
    let mut headers = vec![("mcp-session-id", session)];
    headers.extend(last.map(|last| ("last-event-id", last)));
    let mut connection = Connection::open(port);
    connection.send("GET", "/mcp", &headers, "");
    connection
}

#[test]
fn a_session_begins_works_and_ends() {
    let world = World::new();
    let server = Serve::start(&world, &[]);
    let port = server.port;
    let list = request(1, "tools/list", json!({}));
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = begin(port, version, &[]);
        assert!(session.len() >= 43 && session.bytes().all(|byte| byte.is_ascii_graphic()));
        for path in ["/mcp", "/mcp/"] {
            let (head, body) = exchange(port, "POST", path, &[("mcp-session-id", &session)], &list);
            assert_eq!(
                (head.status, head.header("content-type")),
                (200, Some("application/json"))
            );
            let body = answer_of(&body);
            assert!(body["result"]["tools"].as_array().unwrap().len() >= 8);
        }
        let (head, _) = exchange(port, "DELETE", "/mcp", &[("mcp-session-id", &session)], "");
        assert_eq!(head.status, 204);
        for method in ["POST", "GET", "DELETE"] {
            let body = if method == "POST" { list.as_str() } else { "" };
            let (head, body) =
                exchange(port, method, "/mcp", &[("mcp-session-id", &session)], body);
            assert_eq!((head.status, error_code(&body)), (404, -32001), "{method}");
            assert!(body.contains("initialize"));
        }
    }
    let (head, body) = exchange(port, "POST", "/mcp", &[], &list);
    assert_eq!((head.status, error_code(&body)), (400, -32600));
    assert!(body.contains("Mcp-Session-Id") && body.contains("\"id\":1"));
    // A stale id on `initialize` begins a new session.
    let stale = [
        ("mcp-session-id", "gone"),
        ("mcp-protocol-version", "2026-07-28"),
    ];
    begin(port, "2025-11-25", &stale);
}

#[test]
fn what_is_no_request_is_answered_by_a_json_rpc_error() {
    let world = World::new();
    let server = Serve::start(&world, &[]);
    let session = begin(server.port, "2025-11-25", &[]);
    for (body, status, code) in [
        ("{", 400, -32700),
        ("nonsense", 400, -32700),
        ("  ", 400, -32700),
        ("[]", 400, -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, 400, -32600),
        (r#"{"id":1,"method":"ping"}"#, 400, -32600),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#,
            200,
            -32601,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}"#,
            200,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"none"}}"#,
            200,
            -32602,
        ),
    ] {
        let (head, reply) = post(server.port, &session, body);
        assert_eq!(
            (head.status, error_code(&reply)),
            (status, code),
            "{body}: {reply}"
        );
    }
}

#[test]
fn an_answer_that_came_while_its_client_was_away_is_delivered_on_resume_once() {
    let server = Server::start(Options::default());
    let session = begin(server.port, "2025-11-25", &[]);
    let mut first = open_post(server.port, &session, &wait_call(7, "a", true));
    assert!(first.head().is_stream());
    let (seen, progress) = first.message().unwrap();
    assert_eq!(progress["method"], "notifications/progress");
    server.wait("a runs");
    drop(first);
    server.control.tell("a may end");
    let mut resumed = open_get(server.port, &session, seen.as_deref());
    assert!(resumed.head().is_stream());
    let (answered, answer) = resumed.message().unwrap();
    assert_eq!(answer["id"], 7);
    assert_eq!(answer["result"]["content"][0]["text"], "a");
    assert_eq!(resumed.message(), None, "more than the answer came");
    let mut again = open_get(server.port, &session, answered.as_deref());
    assert!(again.head().is_stream());
    assert_eq!(again.message(), None, "the answer came twice");
    assert_eq!(server.control.count("a is cancelled"), 0);
}

#[test]
fn a_call_is_resumed_while_it_runs() {
    let server = Server::start(Options::default());
    let session = begin(server.port, "2025-11-25", &[]);
    let mut first = open_post(server.port, &session, &wait_call(7, "a", false));
    assert!(first.head().is_stream());
    // The first event of this revision has an id and nothing else.
    let primed = first.event().unwrap();
    assert_eq!(primed.data.as_deref(), Some(""));
    assert!(primed.retry.is_some());
    let mut second = open_get(server.port, &session, primed.id.as_deref());
    assert!(second.head().is_stream());
    // The older connection has lost its stream.
    assert_eq!(first.message(), None);
    server.control.tell("a may end");
    assert_eq!(
        second.message().unwrap().1["result"]["content"][0]["text"],
        "a"
    );
}

#[test]
fn only_clients_that_know_them_get_empty_events() {
    let server = Server::start(Options::default());
    for (version, primed) in [
        ("2025-03-26", false),
        ("2025-06-18", false),
        ("2025-11-25", true),
    ] {
        let session = begin(server.port, version, &[]);
        let mut stream = open_post(server.port, &session, &wait_call(1, version, false));
        assert!(stream.head().is_stream());
        let first = stream.event().unwrap();
        assert_eq!(
            (
                first.id.is_some(),
                first.retry.is_some(),
                first.data.is_some()
            ),
            (primed, primed, primed)
        );
        server.control.tell(&format!("{version} may end"));
        let mut ids = Vec::new();
        while let Some(event) = stream.event() {
            assert!(primed || event.retry.is_none());
            ids.extend(event.id);
        }
        assert_eq!(ids.len(), 1, "{version}");
    }
}

#[test]
fn closing_a_connection_cancels_nothing_and_cancelling_ends_the_stream() {
    let server = Server::start(Options::default());
    let session = begin(server.port, "2025-11-25", &[]);
    let gone = open_post(server.port, &session, &wait_call(1, "gone", false));
    server.wait("gone runs");
    drop(gone);
    let mut cancelled = open_post(server.port, &session, &wait_call(2, "cancelled", false));
    assert!(cancelled.head().is_stream());
    server.wait("cancelled runs");
    let cancel = notification("notifications/cancelled", json!({ "requestId": 2 }));
    assert_eq!(post(server.port, &session, &cancel).0.status, 202);
    server.wait("cancelled is cancelled");
    assert_eq!(cancelled.message(), None);
    assert_eq!(server.control.count("gone is cancelled"), 0);
    // The id is free again.
    server.control.tell("cancelled may end");
    let mut again = open_post(server.port, &session, &wait_call(2, "cancelled", false));
    let head = again.head();
    assert!(again.body(&head).contains("\"id\":2"));
}

#[test]
fn a_request_id_that_is_in_use_is_refused() {
    let server = Server::start(Options::default());
    let session = begin(server.port, "2025-11-25", &[]);
    let mut first = open_post(server.port, &session, &wait_call(1, "first", false));
    assert!(first.head().is_stream());
    let (head, body) = post(server.port, &session, &call(1, "echo", json!({})));
    assert_eq!((head.status, error_code(&body)), (400, -32600));
    server.control.tell("first may end");
    assert_eq!(
        first.message().unwrap().1["result"]["content"][0]["text"],
        "first"
    );
}

#[test]
fn an_event_of_another_session_gives_nothing() {
    let server = Server::start(Options::default());
    let (mine, theirs) = (
        begin(server.port, "2025-11-25", &[]),
        begin(server.port, "2025-11-25", &[]),
    );
    // The other session has as many streams, so that the numbers exist in it.
    for _ in 0..8 {
        post(
            server.port,
            &theirs,
            &call(1, "echo", json!({ "of": "theirs" })),
        );
    }
    let mut stream = open_post(server.port, &mine, &wait_call(1, "secret", true));
    assert!(stream.head().is_stream());
    let (seen, _) = stream.message().unwrap();
    drop(stream);
    server.control.tell("secret may end");
    let mut thief = open_get(server.port, &theirs, seen.as_deref());
    assert!(thief.head().is_stream());
    assert_eq!(thief.message(), None);
    let mut owner = open_get(server.port, &mine, seen.as_deref());
    assert!(owner.head().is_stream());
    assert_eq!(
        owner.message().unwrap().1["result"]["content"][0]["text"],
        "secret"
    );
    for wrong in [
        "x",
        "1",
        "-",
        "1-1",
        "p1-",
        "p-1-1",
        "p99999999999999999999-1",
    ] {
        let (head, body) = exchange(
            server.port,
            "GET",
            "/mcp",
            &[("mcp-session-id", &mine), ("last-event-id", wrong)],
            "",
        );
        assert_eq!(head.status, 400, "{wrong}: {body}");
    }
}

#[test]
fn a_session_of_one_token_is_not_another_ones() {
    let state = tempfile::tempdir().unwrap();
    let server = Server::start(Options {
        require_token: true,
        state: Some(state.path().to_owned()),
        ..Options::default()
    });
    let bearer = || {
        let token = std::fs::read_to_string(state.path().join("token")).unwrap();
        format!("Bearer {}", token.trim())
    };
    let old = bearer();
    let session = begin(server.port, "2025-11-25", &[("authorization", &old)]);
    let list = request(1, "tools/list", json!({}));
    let status = |bearer: &str| {
        let headers = [
            ("mcp-session-id", session.as_str()),
            ("authorization", bearer),
        ];
        exchange(server.port, "POST", "/mcp", &headers, &list)
            .0
            .status
    };
    assert_eq!(status(&old), 200);
    std::fs::write(
        state.path().join("token"),
        "another-token-of-another-length\n",
    )
    .unwrap();
    assert_eq!(status(&old), 401);
    assert_eq!(status(&bearer()), 404, "the session outlived its token");
}

#[test]
fn a_new_token_ends_the_streams_that_the_old_one_opened() {
    let state = tempfile::tempdir().unwrap();
    let server = Server::start(Options {
        require_token: true,
        state: Some(state.path().to_owned()),
        ..Options::default()
    });
    let port = server.port;
    let token = std::fs::read_to_string(state.path().join("token")).unwrap();
    let bearer = format!("Bearer {}", token.trim());
    let authorized = ("authorization", bearer.as_str());
    let session = begin(port, "2025-11-25", &[authorized]);
    let headers = [authorized, ("mcp-session-id", session.as_str())];
    let mut common = Connection::open(port);
    common.send("GET", "/mcp", &headers, "");
    assert!(common.head().is_stream());
    let mut pair = Connection::open(port);
    pair.send("GET", "/sse", &[authorized], "");
    assert!(pair.head().is_stream());
    let mut running = Connection::open(port);
    running.send("POST", "/mcp", &headers, &wait_call(1, "legacy", false));
    let mut stateless = Connection::open(port);
    let mut modern = modern("tools/call", "wait").to_vec();
    modern.push(authorized);
    let call = modern_call(1, "wait", json!({ "name": "stateless" }));
    stateless.send("POST", "/mcp", &modern, &call);
    let mut other = Connection::open(port);
    let (head, _) = other.exchange("GET", "/__mcp/metrics", &[authorized], "");
    assert_eq!(head.status, 200);
    server.wait("legacy runs");
    server.wait("stateless runs");
    // Nobody makes a request with the new token: the server sees by itself that there is one.
    std::fs::write(
        state.path().join("token"),
        "another-token-of-another-length\n",
    )
    .unwrap();
    while common.event().is_some() {}
    while pair.event().is_some() {}
    for mut connection in [running, stateless] {
        let head = connection.head();
        if head.is_stream() {
            while connection.event().is_some() {}
        } else {
            assert_eq!(head.status, 401);
        }
    }
    server.wait("stateless is cancelled");
    server.wait("legacy is cancelled");
    server.until("the sessions end", |http| http.session_count() == 0);
    let (head, _) = other.exchange("GET", "/__mcp/metrics", &[authorized], "");
    assert_eq!(head.status, 401);
}

#[test]
fn a_client_that_stops_reading_loses_that_stream_and_nothing_else() {
    let server = Server::start(Options::default());
    let session = begin(server.port, "2025-11-25", &[]);
    let flood = json!({ "name": "flood", "arguments": { "count": 20_000 }, "_meta": { "progressToken": 1 } });
    let mut stalled = open_post(server.port, &session, &request(1, "tools/call", flood));
    assert!(stalled.head().is_stream());
    let primed = stalled.event().unwrap();
    // All of it has been sent before anything is read: much more than the stream and the kernel hold.
    server.wait("the flood is over");
    // The same session and others are served meanwhile, the flood comes to its end, and none of it is lost but
    // what nobody could have read.
    for _ in 0..20 {
        let (head, body) = post(
            server.port,
            &session,
            &call(2, "echo", json!({ "still": "here" })),
        );
        assert_eq!(head.status, 200, "{body}");
    }
    let (mut seen, mut messages, mut losses) = (primed.id, 0, 0);
    let answer = 'answer: loop {
        let mut resumed = open_get(server.port, &session, seen.as_deref());
        assert!(resumed.head().is_stream());
        while let Some((id, message)) = resumed.message() {
            (seen, messages) = (id, messages + 1);
            if message["result"].is_object() {
                break 'answer message;
            }
        }
        losses += 1;
        assert!(losses < 1_000, "the answer does not come");
    };
    assert_eq!(answer["result"]["content"][0]["text"], "flooded");
    assert!(messages < 20_000, "nothing gave way");
}

#[test]
fn the_idle_clock_stops_while_a_call_runs_or_a_stream_is_open() {
    let limits = Limits {
        // Longer than a client of this machine may be late with opening its stream.
        session_idle: Duration::from_millis(1_500),
        sweep: Duration::from_millis(50),
        keepalive: Duration::from_millis(100),
        ..Limits::default()
    };
    let server = Server::start(Options {
        limits,
        ..Options::default()
    });
    let calling = begin(server.port, "2025-11-25", &[]);
    let mut silent = open_post(server.port, &calling, &wait_call(1, "silent", false));
    assert!(silent.head().is_stream());
    let listening = begin(server.port, "2025-11-25", &[]);
    let mut stream = open_get(server.port, &listening, None);
    assert!(stream.head().is_stream());
    // Two generations of idle sessions come and go: many times what the others would have been given.
    for _ in 0..2 {
        begin(server.port, "2025-11-25", &[]);
        server.until("an idle session ends", |http| http.session_count() == 2);
    }
    server.control.tell("silent may end");
    assert_eq!(
        silent.message().unwrap().1["result"]["content"][0]["text"],
        "silent"
    );
    let (head, _) = post(server.port, &listening, &call(1, "echo", json!({})));
    assert_eq!(head.status, 200);
    // While nothing else happened, there were signs of life.
    let comments = std::iter::from_fn(|| stream.event())
        .take(4)
        .filter_map(|event| event.comment);
    assert!(comments.filter(|comment| comment == "keepalive").count() >= 2);
    drop((silent, stream));
    server.until("all sessions end", |http| http.session_count() == 0);
}

#[test]
fn a_restart_keeps_sessions_with_what_they_had_set_up() {
    let state = tempfile::tempdir().unwrap();
    let options = |port| Options {
        state: Some(state.path().to_owned()),
        port,
        ..Options::default()
    };
    let server = Server::start(options(0));
    let port = server.port;
    let session = begin(port, "2025-11-25", &[]);
    for (id, method, params) in [
        (
            1,
            "resources/subscribe",
            json!({ "uri": "test://watched-resource" }),
        ),
        (
            2,
            "resources/subscribe",
            json!({ "uri": "test://static-text" }),
        ),
        (
            3,
            "resources/unsubscribe",
            json!({ "uri": "test://static-text" }),
        ),
        (4, "logging/setLevel", json!({ "level": "error" })),
    ] {
        let (head, body) = post(port, &session, &request(id, method, params));
        assert_eq!(head.status, 200, "{body}");
        assert!(body.contains("\"result\""), "{body}");
    }
    drop(server);
    let server = Server::start(options(port));
    let (head, body) = post(
        port,
        &session,
        &call(5, "echo", json!({ "who": "knows me" })),
    );
    assert_eq!(head.status, 200, "{body}");
    assert!(body.contains("knows me"));
    server.wait("a session began");
    server.wait("test://watched-resource is followed");
    server.wait("level Error");
    assert_eq!(server.control.count("test://static-text is followed"), 0);
    // It is one session still, and ends for good.
    assert_eq!(server.http.session_count(), 1);
    assert_eq!(
        exchange(port, "DELETE", "/mcp", &[("mcp-session-id", &session)], "")
            .0
            .status,
        204
    );
    drop(server);
    let _server = Server::start(options(port));
    let (head, _) = post(port, &session, &call(6, "echo", json!({})));
    assert_eq!(head.status, 404);
}

#[test]
fn the_program_keeps_sessions_when_it_is_killed() {
    let world = World::new();
    let server = Serve::start(&world, &[]);
    let port = server.port;
    let session = begin(port, "2025-06-18", &[]);
    drop(server);
    let _server = Serve::start(&world, &["--listen", &format!("127.0.0.1:{port}")]);
    let (head, body) = post(port, &session, &call(5, "status", json!({})));
    assert_eq!(head.status, 200, "{body}");
    assert!(body.contains("glovebox"));
}

#[test]
fn no_store_holds_the_id_of_a_session() {
    let state = tempfile::tempdir().unwrap();
    let server = Server::start(Options {
        state: Some(state.path().to_owned()),
        ..Options::default()
    });
    let session = begin(server.port, "2025-11-25", &[]);
    drop(server);
    for file in std::fs::read_dir(state.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let held = bytes
            .windows(session.len())
            .any(|window| window == session.as_bytes());
        assert!(!held);
    }
}

#[test]
fn a_client_is_answered_in_the_form_it_takes() {
    let server = Server::start(Options::default());
    let session = begin(server.port, "2025-11-25", &[]);
    let echo = call(1, "echo", json!({}));
    for (accept, status, kind) in [
        ("*/*", 200, Some("application/json")),
        (
            "application/json, text/event-stream",
            200,
            Some("application/json"),
        ),
        ("application/json", 200, Some("application/json")),
        ("text/event-stream", 200, Some("text/event-stream")),
        ("text/html", 406, Some("application/json")),
    ] {
        let headers = [("mcp-session-id", session.as_str()), ("accept", accept)];
        let (head, body) = exchange(server.port, "POST", "/mcp", &headers, &echo);
        assert_eq!(
            (head.status, head.header("content-type")),
            (status, kind),
            "{accept}: {body}"
        );
    }
    // A client that takes JSON alone waits for its answer, however long that takes.
    let mut patient = Connection::open(server.port);
    let headers = [
        ("mcp-session-id", session.as_str()),
        ("accept", "application/json"),
    ];
    patient.send("POST", "/mcp", &headers, &wait_call(2, "long", true));
    server.wait("long runs");
    server.control.tell("long may end");
    let head = patient.head();
    assert_eq!(head.header("content-type"), Some("application/json"));
    assert!(patient.body(&head).contains("\"id\":2"));
}

#[test]
fn what_the_server_asks_comes_on_the_stream_of_the_call() {
    let server = Server::start(Options::default());
    let session = begin(server.port, "2025-06-18", &[]);
    let mut other = open_get(server.port, &session, None);
    assert!(other.head().is_stream());
    let mut stream = open_post(
        server.port,
        &session,
        &call(9, "test_elicitation", json!({ "message": "Who?" })),
    );
    assert!(stream.head().is_stream());
    let (_, asked) = stream.message().unwrap();
    assert_eq!(asked["method"], "elicitation/create");
    let answer = json!({
        "jsonrpc": "2.0", "id": asked["id"],
        "result": { "action": "accept", "content": { "username": "me" } },
    });
    assert_eq!(
        post(server.port, &session, &answer.to_string()).0.status,
        202
    );
    let (_, result) = stream.message().unwrap();
    assert!(
        result["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("me")
    );
}

#[test]
fn an_id_of_before_a_restart_means_no_other_stream() {
    let state = tempfile::tempdir().unwrap();
    let options = |port| Options {
        state: Some(state.path().to_owned()),
        port,
        ..Options::default()
    };
    let announce = |port, session: &str| {
        assert_eq!(
            post(port, session, &call(1, "announce", json!({})))
                .0
                .status,
            200
        );
    };
    let server = Server::start(options(0));
    let port = server.port;
    let session = begin(port, "2025-11-25", &[]);
    let mut common = open_get(port, &session, None);
    assert!(common.head().is_stream());
    announce(port, &session);
    let (of_common, _) = common.message().unwrap();
    let mut calling = open_post(port, &session, &wait_call(2, "before", true));
    assert!(calling.head().is_stream());
    let (of_call, _) = calling.message().unwrap();
    drop((common, calling, server));

    let server = Server::start(options(port));
    // What is announced before the client is back is not lost for it.
    announce(port, &session);
    let mut common = open_get(port, &session, of_common.as_deref());
    assert!(common.head().is_stream());
    assert_eq!(
        common.message().unwrap().1["method"],
        "notifications/resources/list_changed"
    );
    let mut calling = open_post(port, &session, &wait_call(2, "after", true));
    assert!(calling.head().is_stream());
    calling.message().unwrap();
    let mut lost = open_get(port, &session, of_call.as_deref());
    assert!(lost.head().is_stream());
    assert_eq!(lost.message(), None);
    server.control.tell("after may end");
    assert_eq!(
        calling.message().unwrap().1["result"]["content"][0]["text"],
        "after"
    );
}
