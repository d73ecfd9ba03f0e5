//! What the command prints of files of every kind, and how it ends.

use serde_json::{Value, json};

use super::{folder, har, inspect, inspect_bytes, samples};
use crate::support::World;
use glovebox::sandbox::Sandbox;
use glovebox::traffic::{Inspected, InspectionOptions, Mode, Report, Traffic, TrafficConfig};

/// Proper prefixes that are read of one sample, at most.
const CUTS: usize = 150;

/// The members of an object, sorted.
fn members(value: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    names.sort_unstable();
    names
}

#[test]
fn every_sample_is_shown_or_named_for_what_it_is() {
    for name in samples() {
        let (text, json) = (inspect(&name, &[]), inspect(&name, &["--json"]));
        assert_eq!(text.code, json.code, "{name}: {text:?} {json:?}");
        let value = json.json();
        let Some(exchanges) = value["exchanges"].as_array() else {
            // It is no traffic file, and both say so.
            assert_eq!(text.code, Some(1), "{name}: {text:?}");
            assert_eq!(text.out, "", "{name}");
            let error = value["error"].as_str().unwrap();
            assert!(error.contains("this "), "{name}: {error}");
            assert!(
                text.err.contains(error.rsplit(": ").next().unwrap()),
                "{name}: {text:?}"
            );
            continue;
        };
        let report = &value["report"];
        let skipped = exchanges
            .iter()
            .filter(|one| !one["skipped"].is_null())
            .count();
        assert_eq!(report["skipped"], skipped, "{name}");
        assert_eq!(report["taken"], exchanges.len() - skipped, "{name}");
        let code = match (report["complete"].as_bool(), report["error"].is_null()) {
            (Some(true), true) => 0,
            (_, false) => 1,
            _ => 6,
        };
        assert_eq!(text.code, Some(code), "{name}: {text:?}");
        // A line for each item, numbered as in the file.
        for (index, line) in text.out.lines().skip(1).take(exchanges.len()).enumerate() {
            let number = line.split_whitespace().next();
            assert_eq!(number, Some(index.to_string().as_str()), "{name}: {line}");
        }
    }
}

#[test]
fn a_file_that_is_no_traffic_says_what_to_do() {
    for (name, says) in [
        ("burp-issues.xml", "scanner issues"),
        ("burp-project.bin", "open it in Burp"),
        ("report.html", "HTML page"),
        ("logger.csv", "CSV"),
        ("har.zhar", "unpack it first"),
        ("flows.mitm", "mitmdump"),
        ("json-other.json", "without the HAR member"),
    ] {
        let ran = inspect(name, &[]);
        assert_eq!(ran.code, Some(1), "{name}: {ran:?}");
        assert!(ran.err.contains(says) && ran.err.contains(name), "{ran:?}");
    }
    let empty = inspect_bytes(b"", &[]);
    assert!(
        empty.code == Some(1) && empty.err.contains("standard input: the file is empty"),
        "{empty:?}"
    );
    // A HAR by its start, and none by its content.
    let none = inspect("har-no-entries.json", &[]);
    assert!(
        none.code == Some(1) && none.err.contains("entries"),
        "{none:?}"
    );
}

#[test]
fn a_file_that_cannot_be_read_and_wrong_usage_are_named() {
    let world = World::new();
    for (arguments, code, says) in [
        (vec!["missing.har"], 1, "missing.har cannot be read"),
        (vec!["."], 1, ". is a folder"),
        (vec![], 2, "<FILE>"),
        (vec!["a.har", "--redaction", "some"], 2, "balanced"),
        (vec!["a.har", "--exchange", "first"], 2, "--exchange"),
    ] {
        let all = [vec!["traffic", "inspect"], arguments].concat();
        let ran = world.run(&all);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.err.contains(says) && ran.out.is_empty(), "{ran:?}");
    }
}

#[test]
fn the_json_has_its_documented_members() {
    let value = inspect("har-chrome.har", &["--json"]).json();
    assert_eq!(
        members(&value),
        [
            "error",
            "exchanges",
            "failed",
            "file",
            "findings",
            "findings_left_out",
            "kind",
            "redacted",
            "redacted_left_out",
            "redaction",
            "report",
            "unchecked",
        ]
    );
    assert_eq!(
        (&value["kind"], &value["redaction"]),
        (&json!("har"), &json!("balanced"))
    );
    assert_eq!(
        members(&value["exchanges"][0]),
        [
            "colour",
            "duration_ms",
            "error",
            "http_version",
            "index",
            "media_type",
            "method",
            "note",
            "redacted",
            "redacted_left_out",
            "request_bytes",
            "request_provenance",
            "response_bytes",
            "response_provenance",
            "server_address",
            "status",
            "time",
            "time_text",
            "unchecked",
            "url",
            "warnings",
            "websocket_messages",
        ]
    );
    assert_eq!(
        members(&value["exchanges"][0]["redacted"][0]),
        [
            "carrier",
            "end",
            "kind",
            "message",
            "name",
            "part",
            "placeholder",
            "start"
        ]
    );
    assert_eq!(
        members(&value["findings"][0]),
        [
            "code",
            "confidence",
            "count",
            "cwe",
            "evidence",
            "exchange",
            "origin",
            "owasp",
            "part",
            "place",
            "severity",
            "subject",
            "title",
        ]
    );
    assert_eq!(
        members(&value["report"]),
        [
            "complete", "error", "skipped", "skips", "taken", "version", "warnings", "writer"
        ]
    );
    let first = &value["exchanges"][0];
    assert_eq!(first["time"], "2024-05-01T10:00:00.123Z", "{first}");
    assert_eq!(
        (&first["status"], &first["media_type"]),
        (&json!(200), &json!("text/html"))
    );
    let one = inspect("har-chrome.har", &["--json", "--exchange", "3"]).json();
    assert_eq!(members(&one), ["exchange", "file", "kind", "redaction"]);
    assert_eq!(one["exchange"]["index"], 3);
    let sent = &one["exchange"]["websocket"][0];
    assert_eq!(
        members(sent),
        [
            "bytes",
            "direction",
            "opcode",
            "text",
            "text_left_out",
            "time_ms"
        ]
    );
}

#[test]
fn one_exchange_is_shown_in_full() {
    let ran = inspect("burp-base64.xml", &["--exchange", "0"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for part in [
        "URL: https://shop.example/cart?id=7",
        "Response (",
        "Request (",
        "GET /cart?id=7",
        "Findings: ",
    ] {
        assert!(ran.out.contains(part), "{part}: {ran:?}");
    }
    let ran = inspect("burp-base64.xml", &["--exchange", "3"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.err
            .contains("no exchange 3; they are numbered from 0 to 2"),
        "{ran:?}"
    );
    let ran = inspect("har-odd.har", &["--exchange", "3"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.err.contains("exchange 3 of ")
            && ran.err.contains("was skipped: the entry has no request"),
        "{ran:?}"
    );
}

#[test]
fn what_is_captured_commands_no_terminal() {
    let url = "https://a.example/\u{1b}]0;title\u{7}\u{1b}[31mx\u{202e}y";
    let file = har(&[json!({
        "request": { "method": "GET\u{1b}[2J", "url": url, "headers": [] },
        "response": { "status": 200, "headers": [], "content": { "text": "a\u{1b}[31mb", "mimeType": "text/plain" } },
    })]);
    for more in [&[][..], &["--exchange", "0"]] {
        let ran = inspect_bytes(&file, more);
        assert!(
            ran.code == Some(0) && !ran.out.contains(['\u{1b}', '\u{7}', '\u{202e}']),
            "{ran:?}"
        );
    }
    let json = inspect_bytes(&file, &["--json"]);
    assert!(
        json.json()["exchanges"][0]["url"]
            .as_str()
            .unwrap()
            .contains("a.example")
    );
}

/// Reads bytes in the sandbox. The report, unless they are no traffic file.
fn report(traffic: &Traffic, bytes: &[u8]) -> Option<(u64, Report)> {
    let options = InspectionOptions {
        mode: Mode::Balanced,
        key: b"key".to_vec(),
        now_ms: 0,
        only: None,
    };
    let (_, inspection) = traffic.inspection(bytes, options).unwrap();
    let mut inspection = inspection?;
    let mut items = inspection.push(bytes).unwrap();
    let finished = inspection.finish().unwrap();
    items.extend(finished.last);
    for item in &items {
        assert!(!matches!(item, Inspected::Failed { .. }), "{item:?}");
    }
    Some((items.len() as u64, finished.report))
}

#[test]
fn every_prefix_of_every_sample_gives_a_report() {
    let traffic = Traffic::new(&Sandbox::default(), TrafficConfig::default());
    let mut reports = 0;
    for name in samples() {
        let bytes = std::fs::read(folder().join(&name)).unwrap();
        let step = bytes.len().div_ceil(CUTS).max(1);
        for cut in (0..bytes.len()).step_by(step) {
            let Some((items, report)) = report(&traffic, &bytes[..cut]) else {
                continue;
            };
            reports += 1;
            assert_eq!(items, report.taken + report.skipped, "{name} cut at {cut}");
        }
    }
    assert!(reports > 500, "{reports}");
}

/// The files of compiled code in a cache.
fn compiled(cache: &std::path::Path) -> usize {
    let mut count = 0;
    let mut folders = vec![cache.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_none() {
                count += 1;
            }
        }
    }
    count
}

#[test]
fn a_component_is_compiled_where_it_is_used_alone() {
    let world = World::new();
    let cache = world.path().join("compiled");
    let run = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        command.env("XDG_CACHE_HOME", &cache);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        compiled(&cache)
    };
    let stream = folder().join("../answers/plain.sse");
    let file = folder().join("har-chrome.har");
    // One component each: the second use of a command compiles nothing.
    assert_eq!(run(&["replay", stream.to_str().unwrap()]), 1);
    assert_eq!(run(&["traffic", "inspect", file.to_str().unwrap()]), 2);
    assert_eq!(run(&["replay", stream.to_str().unwrap()]), 2);
    // A server of the answers family compiles no more than a replay does.
    let other = world.path().join("other");
    let mut command = world.command(&["stdio"]);
    command.env("XDG_CACHE_HOME", &other);
    let hello = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
"#;
    let ran = super::fed(command, hello);
    assert!(ran.out.contains("serverInfo"), "{ran:?}");
    assert!(compiled(&other) <= 1, "{}", compiled(&other));
}
