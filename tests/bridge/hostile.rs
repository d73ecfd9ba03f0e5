//! Servers that answer with anything but MCP.

use serde_json::json;

use super::fake::{Fake, Wire, result, usual};
use super::{bridge, bridge_with, open, own_error};

const JSON: (&str, &str) = ("content-type", "application/json");

#[test]
fn statuses_are_explained() {
    for (status, body, kind, parts) in [
        (
            "401 Unauthorized",
            "{\"error\":\"invalid_token\"}",
            "application/json",
            &["status 401", "--bearer-env", "invalid_token"][..],
        ),
        ("403 Forbidden", "", "text/plain", &["status 403"]),
        (
            "404 Not Found",
            "<!DOCTYPE html><p>long page",
            "text/html",
            &["status 404", "/mcp", "a web page"],
        ),
        ("413 Content Too Large", "", "text/plain", &["too long"]),
        ("429 Too Many Requests", "", "text/plain", &["rate"]),
        (
            "500 Internal Server Error",
            "boom\u{1b}[31m",
            "text/plain",
            &["status 500", "boom [31m"],
        ),
        ("503 Service Unavailable", "", "text/plain", &["not ready"]),
    ] {
        let kind = ("content-type", kind);
        let fake = Fake::start(move |request, wire, _| {
            if request.is_call() {
                wire.reply(status, &[kind, ("retry-after", "3600")], body);
            } else {
                usual(request, wire, "");
            }
        });
        let mut server = bridge(&fake.url);
        open(&mut server);
        let reply = server.ask("tools/call", json!({ "name": "a" }));
        let (kind, _, text) = own_error(&reply);
        assert_eq!(kind, "refused", "{text}");
        for part in parts {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert_eq!(reply["error"]["data"]["status"].to_string(), status[..3]);
        assert_eq!(fake.calls(), 1);
    }
}

#[test]
fn replies_that_are_no_answer_are_explained() {
    type Make = fn(&mut Wire<'_>);
    let cases: [(&str, Make, &[&str]); 8] = [
        (
            "a page",
            |wire| wire.reply("200 OK", &[("content-type", "text/html")], "<html>x"),
            &["a web page"],
        ),
        (
            "a page that says it is JSON",
            |wire| wire.reply("200 OK", &[JSON], "<!doctype html>"),
            &["a web page"],
        ),
        (
            "a picture",
            |wire| wire.reply("200 OK", &[("content-type", "image/png")], "\u{1}"),
            &["image/png"],
        ),
        (
            "nothing",
            |wire| wire.reply("200 OK", &[], ""),
            &["without a type"],
        ),
        (
            "broken JSON",
            |wire| wire.reply("200 OK", &[JSON], "{\"jsonrpc\":"),
            &["instead of MCP"],
        ),
        (
            "only a notification",
            |wire| wire.json(&json!({ "jsonrpc": "2.0", "method": "notifications/x" })),
            &["no answer"],
        ),
        (
            "an encoding",
            |wire| wire.reply("200 OK", &[JSON, ("content-encoding", "br")], "x"),
            &["encoding br"],
        ),
        (
            "no HTTP",
            |wire| {
                wire.raw(b"SSH-2.0-OpenSSH\r\n");
            },
            &["connection ended"],
        ),
    ];
    for (name, make, parts) in cases {
        let fake = Fake::start(move |request, wire, _| {
            if request.is_call() {
                make(wire);
            } else {
                usual(request, wire, "s");
            }
        });
        let mut server = bridge(&fake.url);
        open(&mut server);
        let reply = server.ask("tools/call", json!({ "name": "a" }));
        let (_, sent, text) = own_error(&reply);
        assert_eq!(sent, "unknown", "{name}: {text}");
        for part in parts {
            assert!(text.contains(part), "{name}: {part} in {text}");
        }
        assert_eq!(fake.calls(), 1, "{name}");
        while let Some(message) = server.settled().pop() {
            assert_eq!(message["method"], "notifications/x", "{name}");
        }
    }
}

#[test]
fn an_error_of_json_rpc_passes_with_any_status() {
    for status in [
        "200 OK",
        "400 Bad Request",
        "404 Not Found",
        "500 Internal Server Error",
    ] {
        let fake = Fake::start(move |request, wire, _| {
            if request.is_call() {
                let error = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32099, "message": "why", "data": [1.50] } });
                wire.reply(status, &[JSON], &error.to_string());
            } else {
                // Without a session, so that 404 says nothing about one.
                if request.rpc() == "initialize" {
                    return wire.json(&result(
                        request,
                        json!({ "protocolVersion": "2025-11-25", "capabilities": {} }),
                    ));
                }
                usual(request, wire, "");
            }
        });
        let mut server = bridge(&fake.url);
        open(&mut server);
        let reply = server.ask("tools/call", json!({ "name": "a" }));
        assert_eq!(
            reply["error"],
            json!({ "code": -32099, "message": "why", "data": [1.50] }),
            "{status}"
        );
    }
}

#[test]
fn endless_replies_end_and_take_no_memory() {
    let cases: [(&str, &[u8], &[u8]); 5] = [
        (
            "headers",
            b"HTTP/1.1 200 OK\r\n",
            b"x-more: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n",
        ),
        (
            "a header",
            b"HTTP/1.1 200 OK\r\nx: ",
            b"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
        ),
        (
            "JSON",
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"x\":\"",
            b"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
        ),
        (
            "an event",
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: ",
            b"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
        ),
        (
            "an error",
            b"HTTP/1.1 500 Oh\r\ncontent-type: text/plain\r\n\r\n",
            b"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
        ),
    ];
    for (name, start, more) in cases {
        let fake = Fake::start(move |request, wire, _| {
            if request.is_call() {
                wire.raw(start);
                let more = more.repeat(1000);
                while wire.raw(&more) {}
            } else {
                usual(request, wire, "s");
            }
        });
        let mut server = bridge(&fake.url);
        open(&mut server);
        own_error(&server.ask("tools/call", json!({ "name": "a" })));
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .unwrap();
        let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        // The longest message and the buffer that it grows in.
        assert!(peak < 160 << 10, "{name}: {peak} KiB");
        server.settled();
    }
}

#[test]
fn redirects_are_followed_within_the_origin_only() {
    let elsewhere = Fake::start(|request, wire, _| {
        usual(request, wire, "s");
    });
    let target = elsewhere.url.clone();
    let fake = Fake::start(move |request, wire, _| {
        let to = if request.path == "/away" {
            target.as_str()
        } else {
            "/mcp/"
        };
        match request.path.as_str() {
            "/mcp/" => {
                usual(request, wire, "s");
            }
            "/other" => wire.reply("302 Found", &[("location", "/mcp/")], ""),
            "/round" => wire.reply("308 Permanent Redirect", &[("location", "/round")], ""),
            _ => wire.reply("307 Temporary Redirect", &[("location", to)], ""),
        }
    });
    let token = [("TOKEN", "a-token-for-the-bridge-1")];
    let url = |path: &str| fake.url.replace("/mcp", path);
    let mut server = bridge_with(&fake.url, &["--bearer-env", "TOKEN"], &token);
    open(&mut server);
    server.settled();
    // After the first one nothing goes the long way.
    assert_eq!(fake.state.count(|request| request.path == "/mcp"), 1);
    for (path, part) in [
        ("/away", "another origin"),
        ("/other", "status 302"),
        ("/round", "redirected the request"),
    ] {
        let mut server = bridge_with(&url(path), &["--bearer-env", "TOKEN"], &token);
        let reply = server.ask("initialize", json!({ "protocolVersion": "2025-11-25" }));
        let (_, _, text) = own_error(&reply);
        assert!(text.contains(part), "{path}: {text}");
    }
    assert!(elsewhere.log().is_empty());
}

#[test]
fn a_call_that_is_redirected_is_not_sent_a_second_time() {
    let fake = Fake::start(|request, wire, _| {
        if request.is_call() && request.path == "/mcp" {
            wire.reply("307 Temporary Redirect", &[("location", "/new")], "");
        } else if !usual(request, wire, "s") {
            wire.json(&super::fake::said(request, "well"));
        }
    });
    let mut server = bridge(&fake.url);
    open(&mut server);
    let (kind, sent, text) = own_error(&server.ask("tools/call", json!({ "name": "pay" })));
    assert_eq!((kind.as_str(), sent.as_str()), ("moved", "refused"));
    assert!(text.contains("can be made again now"), "{text}");
    assert_eq!(fake.calls(), 1);
    assert_eq!(super::call(&mut server, "pay", json!({})), "well");
    assert_eq!(fake.calls(), 2);
}

#[test]
fn a_busy_server_is_asked_again_for_what_changes_nothing() {
    let fake = Fake::start(|request, wire, state| {
        let tries = state.count(|one| one.rpc() == request.rpc());
        if matches!(request.rpc().as_str(), "tools/list" | "tools/call") && tries < 3 {
            let status = ["429 Too Many Requests", "503 Service Unavailable"][tries - 1];
            wire.reply(status, &[("retry-after", "0")], "");
        } else {
            usual(request, wire, "s");
        }
    });
    let mut server = bridge(&fake.url);
    open(&mut server);
    assert!(server.ask("tools/list", json!({})).get("result").is_some());
    let (_, sent, text) = own_error(&server.ask("tools/call", json!({ "name": "pay" })));
    assert_eq!(sent, "refused");
    assert!(text.contains("status 429"), "{text}");
    assert_eq!(fake.calls(), 1);
}

#[test]
fn an_access_denied_at_the_start_can_be_mended() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "the-first-token-of-two").unwrap();
    let fake = Fake::start(|request, wire, _| {
        if request.header("authorization") == Some("Bearer the-second-token-of-two!") {
            usual(request, wire, "s");
        } else {
            wire.reply("401 Unauthorized", &[("www-authenticate", "Bearer")], "");
        }
    });
    let mut server = bridge_with(&fake.url, &["--bearer-file", file.to_str().unwrap()], &[]);
    let reply = server.ask("initialize", json!({ "protocolVersion": "2025-11-25" }));
    assert!(own_error(&reply).2.contains("status 401"));
    std::fs::write(&file, "the-second-token-of-two!\n").unwrap();
    open(&mut server);
    server.settled();
}
