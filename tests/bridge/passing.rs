//! Messages pass as they came, whatever they are.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::json;

use super::fake::{Fake, Request, usual};
use super::{bridge, command, open, own_error};
use crate::support::server::Server;

/// A client's first request.
const OPENING: &str =
    r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;

/// A server that answers `custom/thing` with its id and its parameters, both as they were written.
fn mirror() -> Fake {
    Fake::start(|request, wire, _| {
        let between = |from: &str, to: &str| {
            let (_, rest) = request.body.split_once(from)?;
            Some(rest.rsplit_once(to)?.0.to_owned())
        };
        let id = between("\"id\":", ",\"method\":\"custom/thing\"");
        let (Some(id), Some(params)) = (id, between("\"params\":", ",\"extra\":[]}")) else {
            usual(request, wire, "s");
            return;
        };
        let text = format!("{{\"id\":{id} , \"result\":{params},\"jsonrpc\":\"2.0\"}}");
        let kind = ("content-type", "application/json; charset=utf-8");
        wire.reply("200 OK", &[kind], &text);
    })
}

#[test]
fn bytes_pass_unchanged_and_every_form_of_id_is_answered() {
    let fake = mirror();
    let mut child = command(&fake.url, &[], &[])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    writeln!(input, "{OPENING}").unwrap();
    lines.next().unwrap().unwrap();
    let ids = [
        "1",
        "0",
        "-5",
        "1.5",
        "1e3",
        "9007199254740993",
        "123456789012345678901234567890",
        r#""""#,
        r#""a b""#,
        r#""\u00e9\ud83d\ude00""#,
        "null",
        r#""\ud800""#,
    ];
    for (number, id) in ids.iter().enumerate() {
        // Escapes of every kind, and numbers that no parser keeps.
        let params = format!(
            r#"{{"n":{number},"x":[1.10,1E+2,"\ud800\/\u0041",{{"y":null}}],"big":12345678901234567890123}}"#
        );
        let sent = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"custom/thing","params":{params},"extra":[]}}"#
        );
        writeln!(input, "{sent}").unwrap();
        let reply = lines.next().unwrap().unwrap();
        let expected = format!(r#"{{"id":{id} , "result":{params},"jsonrpc":"2.0"}}"#);
        assert_eq!(reply, expected);
        let log = fake.log();
        assert!(log.iter().any(|request| request.body == sent), "{sent}");
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn what_is_no_message_is_answered_here() {
    let fake = mirror();
    let mut server = bridge(&fake.url);
    open(&mut server);
    for (line, code, id) in [
        ("{\"id\":7,", -32700, json!(7)),
        ("nonsense", -32700, json!(null)),
        ("[]", -32600, json!(null)),
        ("{\"id\":8}", -32600, json!(8)),
        ("{\"id\":{},\"method\":\"ping\"}", -32600, json!(null)),
    ] {
        server.send_raw(format!("{line}\n").as_bytes());
        let reply = server.message();
        assert_eq!(
            (&reply["error"]["code"], &reply["id"]),
            (&json!(code), &id),
            "{line}"
        );
    }
    // A batch is taken apart, and the byte order mark and empty lines are no messages.
    server.send_raw("\u{feff}\n\n[{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":\"ping\"},{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}]\n".as_bytes());
    assert_eq!(server.message()["id"], "b");
    fake.wait_for("the notification", |request| {
        request.rpc() == "notifications/x"
    });
}

#[test]
fn notifications_keep_their_order_and_come_before_what_follows() {
    let fake = mirror();
    let mut server = bridge(&fake.url);
    open(&mut server);
    let notices =
        (0..30).map(|n| format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/n{n}\"}}\n"));
    let mut lines: String = notices.collect();
    lines += "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n";
    server.send_raw(lines.as_bytes());
    server.reply(1);
    let log: Vec<String> = fake.log().iter().map(Request::rpc).collect();
    let posted: Vec<&str> = log
        .iter()
        .map(String::as_str)
        .filter(|method| !method.is_empty())
        .collect();
    let mut expected = vec![
        "initialize".to_owned(),
        "notifications/initialized".to_owned(),
    ];
    expected.extend((0..30).map(|n| format!("notifications/n{n}")));
    expected.push("tools/list".to_owned());
    assert_eq!(posted, expected);
}

#[test]
fn requests_with_one_id_at_once_are_refused() {
    let fake = Fake::start(|request, wire, state| {
        if usual(request, wire, "s") {
            return;
        }
        state.wait("go");
        wire.json(&super::fake::said(request, "once"));
    });
    let mut server = bridge(&fake.url);
    open(&mut server);
    let call =
        json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": { "name": "a" } });
    server.send(&call);
    fake.wait_for("the call", Request::is_call);
    server.send(&call);
    assert_eq!(server.message()["error"]["code"], -32600);
    fake.tell("go");
    assert_eq!(server.message()["result"]["content"][0]["text"], "once");
}

#[test]
fn answers_come_as_they_are_ready_and_under_other_requests() {
    // The reply to one request holds the answer to another, twice, and one that nobody wants.
    let fake = Fake::start(|request, wire, state| {
        if usual(request, wire, "s") {
            return;
        }
        if request.json()["id"] == "slow" {
            state.wait("go");
            wire.json(&super::fake::said(request, "late"));
            return;
        }
        wire.begin_stream();
        for id in ["other", "slow", "slow", "fast"] {
            let text = json!({ "content": [{ "type": "text", "text": format!("for {id}") }] });
            wire.event(&json!({ "jsonrpc": "2.0", "id": id, "result": text }));
        }
        wire.end_stream();
    });
    let mut server = bridge(&fake.url);
    open(&mut server);
    for id in ["slow", "fast"] {
        server.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": id } }));
        fake.wait_for("the call", |request| request.json()["id"] == id);
    }
    for id in ["slow", "fast"] {
        let reply = server.message();
        assert_eq!(reply["id"], id);
        assert_eq!(reply["result"]["content"][0]["text"], format!("for {id}"));
    }
    // The answer that comes now is the second one.
    fake.tell("go");
    assert!(server.settled().is_empty());
}

#[test]
fn json_over_several_lines_is_one_line() {
    let fake = Fake::start(|request, wire, _| {
        if usual(request, wire, "s") {
            return;
        }
        let id = &request.json()["id"];
        wire.begin_stream();
        wire.chunk(&format!(
            "\u{feff}: hello\r\n\r\nid: 1\r\ndata: {{\"jsonrpc\":\"2.0\",\r\ndata:\"id\":{id},\r"
        ));
        wire.chunk("data: \"result\":\rdata: {\"text\":\"a\u{2028}b\"}}\r\r");
        wire.end_stream();
    });
    let mut server = bridge(&fake.url);
    open(&mut server);
    let reply = server.ask("tools/call", json!({ "name": "a" }));
    assert_eq!(reply["result"]["text"], "a\u{2028}b");
}

#[test]
fn too_long_lines_are_refused_with_their_id() {
    let fake = mirror();
    let mut server = bridge(&fake.url);
    open(&mut server);
    let text = "x".repeat(33 << 20);
    server.send_raw(
        format!("{{\"jsonrpc\":\"2.0\",\"id\":\"long\",\"method\":\"a\",\"params\":\"{text}\"}}\n")
            .as_bytes(),
    );
    let reply = server.message();
    assert_eq!(
        (&reply["id"], &reply["error"]["code"]),
        (&json!("long"), &json!(-32700))
    );
    server.settled();
}

#[test]
fn before_there_is_a_server_requests_get_an_error_and_wait_for_one() {
    // Nothing listens at the port until the test says so.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let url = format!("http://127.0.0.1:{port}/mcp");
    let mut server = super::bridge_with(&url, &["--timeout", "1"], &[]);
    let reply = server.ask("initialize", json!({ "protocolVersion": "2025-11-25" }));
    let (kind, sent, text) = own_error(&reply);
    assert_eq!((kind.as_str(), sent.as_str()), ("unreachable", "no"));
    assert!(
        text.contains(&format!("http://127.0.0.1:{port}")) && text.contains("Start the server"),
        "{text}"
    );
    let mut patient = bridge(&url);
    let id = patient.request("initialize", json!({ "protocolVersion": "2025-11-25" }));
    let fake = Fake::on(port, None, |request, wire, _| {
        usual(request, wire, "s");
    });
    assert!(patient.reply(id).get("result").is_some());
    drop(fake);
}

#[test]
fn a_client_that_does_not_read_holds_the_server_up_and_takes_no_memory() {
    let fake = Fake::start(|request, wire, state| {
        if usual(request, wire, "s") {
            return;
        }
        wire.begin_stream();
        wire.socket
            .set_write_timeout(Some(std::time::Duration::from_millis(500)))
            .unwrap();
        let text = "x".repeat(64 << 10);
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "data": text } });
        // 256 MiB, unless nobody reads.
        let sent = (0..4096).take_while(|_| wire.event(&message)).count();
        state.tell(if sent < 4096 { "held up" } else { "took all" });
    });
    let mut command = command(&fake.url, &[], &[]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    writeln!(input, "{OPENING}").unwrap();
    output.read_line(&mut String::new()).unwrap();
    writeln!(
        input,
        r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"flood"}}}}"#
    )
    .unwrap();
    fake.wait("held up");
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    assert!(peak < 80 << 10, "{peak} KiB");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The process takes no folder, no key and no component.
#[test]
fn it_needs_nothing_of_the_rest_of_the_program() {
    let fake = mirror();
    let home = tempfile::tempdir().unwrap();
    let mut command = command(&fake.url, &[], &[]);
    command
        .env("HOME", home.path())
        .env("XDG_CACHE_HOME", home.path().join("cache"));
    command.env("GLOVEBOX_STATE_DIR", home.path().join("state"));
    let mut server = Server::spawn(command);
    open(&mut server);
    server.leave();
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}
