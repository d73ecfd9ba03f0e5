//! Both eras of the protocol on the wire: with a handshake, without one, and what comes before either.

use crate::support::server::{Server, modern, state};
use serde_json::json;

const LATEST: &str = "2025-11-25";

#[test]
fn what_comes_before_the_conversation_is_answered_or_ignored() {
    let state = state();
    let mut server = Server::start(state.path(), None, &[]);
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    server.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
    );
    server.send(&json!({"jsonrpc": "2.0", "id": 9, "result": {}}));
    server.send_raw(b"garbage\n");
    assert_eq!(server.message()["error"]["code"], -32700);
    let early = server.ask("tools/list", json!({}));
    assert_eq!(early["error"]["code"], -32602, "{early}");
    assert!(server.ask("ping", json!({})).get("result").is_some());
    let bad = server.ask("initialize", json!({"protocolVersion": 3}));
    assert_eq!(bad["error"]["code"], -32602, "{bad}");
    let unknown = server.ask("no/such", json!({}));
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    let opened = server.initialize(LATEST);
    assert_eq!(opened["result"]["protocolVersion"], LATEST);
    assert!(server.ask("tools/list", json!({}))["result"]["tools"].is_array());
    server.leave();
}

#[test]
fn every_version_with_a_handshake_is_spoken() {
    let state = state();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut server = Server::start(state.path(), None, &[]);
        let opened = server.initialize(version);
        assert_eq!(opened["result"]["protocolVersion"], version);
        let listed = server.ask("tools/list", json!({}));
        assert!(
            listed["result"].get("resultType").is_none(),
            "{version}: {listed}"
        );
        assert!(server.ask("ping", json!({})).get("result").is_some());
        server.leave();
    }
    let mut server = Server::start(state.path(), None, &[]);
    assert_eq!(
        server.initialize("2031-01-01")["result"]["protocolVersion"],
        "2025-11-25"
    );
    server.leave();
}

#[test]
fn the_newer_era_needs_no_handshake() {
    let state = state();
    let mut server = Server::start(state.path(), None, &[]);
    let discovered = server.ask("server/discover", json!({"_meta": modern(json!({}))}));
    let result = &discovered["result"];
    assert_eq!(result["resultType"], "complete", "{discovered}");
    assert!(
        result["supportedVersions"]
            .as_array()
            .unwrap()
            .contains(&json!("2026-07-28"))
    );
    assert!(result["ttlMs"].is_u64() && result["cacheScope"].is_string());
    assert!(
        result["instructions"]
            .as_str()
            .unwrap()
            .contains("research_submit")
    );
    for (method, key) in [
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("prompts/list", "prompts"),
    ] {
        let listed = server.ask(method, json!({"_meta": modern(json!({}))}));
        let result = &listed["result"];
        assert!(result[key].is_array(), "{listed}");
        assert_eq!(result["resultType"], "complete");
        assert!(
            result["ttlMs"].is_u64() && result["cacheScope"].is_string(),
            "{listed}"
        );
    }
    let called = server.ask(
        "tools/call",
        json!({"name": "answers", "arguments": {"query": "sim:plain q"}, "_meta": modern(json!({}))}),
    );
    assert_eq!(called["result"]["resultType"], "complete", "{called}");
    let mut wrong = modern(json!({}));
    wrong["io.modelcontextprotocol/protocolVersion"] = json!("1999-01-01");
    let refused = server.ask("tools/list", json!({"_meta": wrong}));
    assert_eq!(refused["error"]["code"], -32022, "{refused}");
    assert!(refused["error"]["data"]["supported"].is_array());
    let bare = server.ask("tools/list", json!({}));
    assert_eq!(bare["error"]["code"], -32602, "{bare}");
    let gone = server.ask("ping", json!({"_meta": modern(json!({}))}));
    assert_eq!(gone["error"]["code"], -32601, "{gone}");
    let missing = server.ask(
        "resources/read",
        json!({"uri": "research://nothing", "_meta": modern(json!({}))}),
    );
    assert_eq!(missing["error"]["code"], -32602, "{missing}");
    server.leave();
}

/// Messages as they should be, to be spoilt.
fn whole_messages() -> Vec<String> {
    let initialize = json!({"protocolVersion": LATEST, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    [
        ("initialize", initialize),
        ("ping", json!({})),
        ("server/discover", json!({"_meta": modern(json!({}))})),
        ("tools/list", json!({"_meta": modern(json!({}))})),
        (
            "tools/call",
            json!({"name": "status", "arguments": {}, "_meta": {"progressToken": "p"}}),
        ),
        ("resources/read", json!({"uri": "research://none"})),
        (
            "prompts/get",
            json!({"name": "deep_research", "arguments": {"question": "q"}}),
        ),
        (
            "subscriptions/listen",
            json!({"notifications": {"resourcesListChanged": true}, "_meta": modern(json!({}))}),
        ),
        ("notifications/cancelled", json!({"requestId": 5})),
    ]
    .into_iter()
    .map(|(method, params)| {
        let mut message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        if !method.starts_with("notifications/") {
            message["id"] = json!(5);
        }
        message.to_string()
    })
    .collect()
}

#[test]
fn spoilt_messages_never_end_the_server() {
    const SPOILT: usize = 5000;
    const SCRAPS: [&[u8]; 9] = [
        b"{",
        b"}",
        b"\"",
        b"null",
        b"1e999",
        b"\\u0000",
        b",",
        b"[",
        b"\xf0\x9f",
    ];
    let state = state();
    let whole = whole_messages();
    // The same each time, before and after a handshake.
    for (seed, handshake) in [(1, false), (2, true)] {
        let mut chance = fastrand::Rng::with_seed(seed);
        let mut server = Server::start(state.path(), None, &[]);
        if handshake {
            server.initialize(LATEST);
        }
        let mut lines = Vec::new();
        for _ in 0..SPOILT {
            let mut line = whole[chance.usize(..whole.len())].clone().into_bytes();
            for _ in 0..chance.usize(..4) {
                let at = chance.usize(..line.len());
                match chance.u8(..3) {
                    0 => line[at] = chance.u8(..),
                    1 => {
                        drop(line.drain(at..(at + chance.usize(1..8)).min(line.len() - 1).max(at)))
                    }
                    _ => drop(
                        line.splice(at..at, SCRAPS[chance.usize(..SCRAPS.len())].iter().copied()),
                    ),
                }
            }
            lines.extend(line);
            lines.push(b'\n');
        }
        server.send_raw(&lines);
        // Each line that comes meanwhile is checked to be a message.
        server.initialize(LATEST);
        let listed = server.ask("tools/list", json!({"_meta": modern(json!({}))}));
        assert!(listed["result"]["tools"].is_array(), "{listed}");
        server.leave();
    }
}
