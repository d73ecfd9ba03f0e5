//! The audit log as processes write it: at once, over rotations, with crashes, and on a full disk.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use glovebox::jobs::clock::WallClock;
use glovebox::policy::audit::{
    AuditConfig, AuditDir, AuditError, AuditLog, ChainKey, Event, Finding, Kind, Verified, verify,
};
use serde_json::{Value, json};

use super::client::{Place, Session};
use crate::http::client::exchange;
use crate::support::server::{Simulator, text};

pub fn open(
    state: &Path,
    key_file: Option<&Path>,
    rotate_bytes: u64,
) -> Result<AuditLog, AuditError> {
    AuditLog::open(AuditConfig {
        dir: AuditDir::of_state(state),
        key_file: key_file.map(Path::to_owned),
        rotate_bytes,
        clock: Arc::new(WallClock),
    })
}

/// An event of the usual size.
pub fn event(number: u64) -> Event {
    Event {
        transport: Some("http"),
        session: Some("0123456789abcdef".to_owned()),
        client: Some("a client".to_owned()),
        tool: Some("answers"),
        call: Some(number),
        decision: Some("allowed"),
        arguments_hmac: Some("ab".repeat(32)),
        arguments_bytes: Some(100),
        ..Event::new(Kind::ToolStart)
    }
}

fn whole(state: &Path, key: Option<&ChainKey>) -> Verified {
    verify(&AuditDir::of_state(state), key, None)
        .unwrap()
        .unwrap_or_else(|fault| panic!("{fault}"))
}

const PROCESSES: u64 = 20;
const EVENTS_EACH: u64 = 1000;
/// Small enough that the log is rotated many times, and large enough that no file is removed.
const ROTATE_BYTES: u64 = 1 << 20;

/// What the processes of the next test do. On its own it does nothing.
#[test]
fn a_writer_process() {
    let Some(state) = std::env::var_os("GLOVEBOX_TEST_AUDIT") else {
        return;
    };
    let log = open(Path::new(&state), None, ROTATE_BYTES).unwrap();
    // All begin at once: each waits for the end of its input.
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
    for number in 0..EVENTS_EACH {
        log.append(&event(number)).unwrap();
    }
}

#[test]
fn twenty_processes_write_one_chain_over_rotations() {
    let state = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let mut children: Vec<_> = (0..PROCESSES)
        .map(|_| {
            Command::new(&program)
                .args(["--exact", "policy::audit::a_writer_process"])
                .env("GLOVEBOX_TEST_AUDIT", state.path())
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    let inputs: Vec<_> = children
        .iter_mut()
        .map(|child| child.stdin.take())
        .collect();
    drop(inputs);
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let verified = whole(state.path(), None);
    assert_eq!(
        (verified.first, verified.last),
        (1, PROCESSES * EVENTS_EACH)
    );
    assert_eq!(verified.events, PROCESSES * EVENTS_EACH);
    let files: Vec<_> = std::fs::read_dir(state.path().join("audit"))
        .unwrap()
        .flatten()
        .collect();
    let logs = files
        .iter()
        .filter(|file| file.file_name().to_string_lossy().ends_with(".jsonl"));
    assert!(logs.clone().count() > 5, "{files:?}");
    let mut pids = BTreeSet::new();
    for log in logs {
        assert!(log.metadata().unwrap().len() <= ROTATE_BYTES);
        for line in std::fs::read_to_string(log.path()).unwrap().lines() {
            pids.insert(
                serde_json::from_str::<Value>(line).unwrap()["pid"]
                    .as_u64()
                    .unwrap(),
            );
        }
    }
    assert_eq!(pids.len() as u64, PROCESSES);
}

#[test]
fn eight_older_files_are_kept_and_the_chain_goes_on() {
    let state = tempfile::tempdir().unwrap();
    let log = open(state.path(), None, 4 << 10).unwrap();
    for number in 0..300 {
        log.append(&event(number)).unwrap();
    }
    let verified = whole(state.path(), None);
    assert_eq!(verified.last, 300);
    assert!(
        verified.first > 1 && verified.events == 301 - verified.first,
        "{verified:?}"
    );
    let names = std::fs::read_dir(state.path().join("audit"))
        .unwrap()
        .flatten();
    let older = names.filter(|file| file.file_name().to_string_lossy().starts_with("audit-"));
    assert_eq!(older.count(), 8);
    // Another process goes on where this one was.
    let other = open(state.path(), None, 4 << 10).unwrap();
    assert_eq!(other.append(&event(0)).unwrap(), 301);
    assert_eq!(log.append(&event(0)).unwrap(), 302);
    assert_eq!(whole(state.path(), None).last, 302);
}

#[cfg(unix)]
#[test]
fn the_files_can_be_read_by_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let state = tempfile::tempdir().unwrap();
    open(state.path(), None, 4 << 10)
        .unwrap()
        .append(&event(0))
        .unwrap();
    let audit = state.path().join("audit");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&audit), 0o700);
    for file in std::fs::read_dir(&audit).unwrap().flatten() {
        assert_eq!(mode(&file.path()), 0o600, "{file:?}");
    }
}

#[test]
fn an_unfinished_last_line_is_closed_by_the_next_writer() {
    let whole_line = serde_json::to_string(&json!({ "seq": 4, "event": "tool_end" })).unwrap();
    for torn in ["{\"seq\":4,\"time\":\"20", "x", &whole_line] {
        let state = tempfile::tempdir().unwrap();
        let log = open(state.path(), None, 1 << 20).unwrap();
        for number in 0..3 {
            log.append(&event(number)).unwrap();
        }
        let path = state.path().join("audit/audit.jsonl");
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap();
        file.write_all(torn.as_bytes()).unwrap();
        // As long as nobody writes, the log is what it was before the crash.
        assert_eq!(whole(state.path(), None).last, 3);
        let other = open(state.path(), None, 1 << 20).unwrap();
        assert_eq!(other.append(&event(3)).unwrap(), 5, "{torn}");
        log.append(&event(4)).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 7, "{text}");
        let recovered: Value = serde_json::from_str(lines[4]).unwrap();
        assert_eq!(
            (&recovered["event"], &recovered["torn_bytes"]),
            (&json!("recovered"), &json!(torn.len()))
        );
        let verified = whole(state.path(), None);
        assert_eq!((verified.events, verified.last), (6, 6), "{torn}");
        // What was left unfinished is protected like any other line.
        let changed = text.replacen(torn, &"y".repeat(torn.len()), 1);
        std::fs::write(&path, changed).unwrap();
        let fault = verify(&AuditDir::of_state(state.path()), None, None)
            .unwrap()
            .unwrap_err();
        assert_eq!((fault.line, fault.finding), (4, Finding::Changed), "{torn}");
    }
}

#[test]
fn a_last_line_that_lacks_nothing_but_its_end_is_closed_too() {
    let state = tempfile::tempdir().unwrap();
    let log = open(state.path(), None, 1 << 20).unwrap();
    let audit = AuditDir::of_state(state.path());
    for number in 0..3 {
        log.append(&event(number)).unwrap();
    }
    let head = std::fs::read(audit.head()).unwrap();
    log.append(&event(3)).unwrap();
    // As a process leaves it that dies within the write, before it writes the head.
    let text = std::fs::read_to_string(audit.current()).unwrap();
    std::fs::write(audit.current(), text.trim_end()).unwrap();
    std::fs::write(audit.head(), head).unwrap();
    let other = open(state.path(), None, 1 << 20).unwrap();
    assert_eq!(other.append(&event(4)).unwrap(), 5);
    let verified = whole(state.path(), None);
    assert_eq!((verified.events, verified.last), (5, 5));
}

#[test]
fn a_chain_with_a_key_needs_that_key() {
    let state = tempfile::tempdir().unwrap();
    let (key, other) = (state.path().join("key"), state.path().join("other"));
    std::fs::write(&key, "a key of more than sixteen bytes\n").unwrap();
    std::fs::write(&other, "another key of sixteen bytes").unwrap();
    // Begun without a key, the log goes on with one in a new file.
    let unkeyed = open(state.path(), None, 1 << 20).unwrap();
    unkeyed.append(&event(0)).unwrap();
    let log = open(state.path(), Some(&key), 1 << 20).unwrap();
    assert_eq!(log.append(&event(1)).unwrap(), 2);
    assert_eq!(log.append(&event(2)).unwrap(), 3);
    for key in [None, Some(&other)] {
        let refused = open(state.path(), key.map(std::path::PathBuf::as_path), 1 << 20);
        assert!(
            matches!(refused, Err(AuditError::Key { .. })),
            "{refused:?}"
        );
    }
    let refused = unkeyed.append(&event(3));
    assert!(
        matches!(refused, Err(AuditError::Key { .. })),
        "{refused:?}"
    );
    let key = ChainKey::read(&key).unwrap();
    assert_eq!(whole(state.path(), Some(&key)).last, 3);
    let fault = verify(&AuditDir::of_state(state.path()), None, None)
        .unwrap()
        .unwrap_err();
    assert_eq!(fault.finding, Finding::Key(key.id().to_owned()));
    let short = state.path().join("short");
    std::fs::write(&short, "short").unwrap();
    assert!(matches!(
        open(state.path(), Some(&short), 1 << 20),
        Err(AuditError::KeyFile { .. })
    ));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_refuses_calls_where_the_log_was_asked_for_and_is_said_where_not() {
    for (flags, refused) in [(&["--audit"][..], true), (&[], false)] {
        let place = Place::new();
        std::fs::create_dir_all(place.audit()).unwrap();
        std::os::unix::fs::symlink("/dev/full", place.audit().join("audit.jsonl")).unwrap();
        let serve = place.serve(flags);
        let mut session = Session::http(serve.port, json!({}));
        let result = session.call("answers", json!({ "query": "sim:plain q" }));
        let said = text(&result).to_owned();
        assert_eq!(result["isError"] == true, refused, "{result}");
        if refused {
            assert!(
                said.starts_with("Denied: ")
                    && said.contains("audit log")
                    && said.contains("No space left"),
                "{said}"
            );
            assert!(!said.contains("/audit"), "{said}");
        } else {
            let status = session.call("status", json!({}));
            assert!(text(&status).contains("could not be written"), "{status}");
        }
        serve.signal("TERM");
        let ran = serve.wait();
        assert!(
            ran.err.contains("an audit event cannot be written"),
            "{ran:?}"
        );
    }
}

#[test]
fn gate_denials_of_one_reason_are_one_event() {
    let place = Place::new();
    let serve = place.serve(&[]);
    for _ in 0..50 {
        let origin = [("origin", "https://evil.example")];
        assert_eq!(
            exchange(serve.port, "POST", "/mcp", &origin, "{}").0.status,
            403
        );
    }
    let denied = |event: &Value| event["event"] == "gate_denied";
    place.wait_for_events(1, denied);
    serve.signal("TERM");
    serve.wait();
    let events: Vec<Value> = place.events().into_iter().filter(denied).collect();
    assert_eq!(events.len(), 2, "{events:#?}");
    assert_eq!(events[0]["reason"], "origin_not_allowed");
    assert_eq!(
        (&events[0]["count"], &events[1]["count"]),
        (&json!(1), &json!(49))
    );
}

/// What must be in no file of the log.
const SECRETS: [&str; 5] = [
    crate::support::KEY,
    "my-pin-is-9041",
    "evil-client-token",
    "the simulator answers",
    "hunter2",
];

#[test]
fn nothing_of_a_calls_contents_is_in_the_log() {
    let simulator = Simulator::start("0");
    let place = Place::with_upstream(&simulator.url);
    let serve = place.serve(&["--tools", "all", "--require-token"]);
    let token = std::fs::read_to_string(place.path().join("state/token")).unwrap();
    let bearer = format!("Bearer {}", token.trim());
    let call = |tool: &str, arguments: Value, bearer: &str| {
        let mut meta = crate::support::server::modern(json!({}));
        meta["io.modelcontextprotocol/clientInfo"]["name"] = json!("\u{1b}[31mred\nname");
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let body = crate::http::client::request(1, "tools/call", params);
        let mut headers = crate::http::client::modern("tools/call", tool).to_vec();
        headers.push(("authorization", bearer));
        exchange(serve.port, "POST", "/mcp", &headers, &body).1
    };
    call(
        "answers",
        json!({ "query": "sim:plain my-pin-is-9041 hunter2" }),
        &bearer,
    );
    call(
        "answers",
        json!({ "query": "sim:error-402 hunter2" }),
        &bearer,
    );
    call(
        "answers",
        json!({ "query": "q", "hunter2": crate::support::KEY }),
        &bearer,
    );
    call(
        "research_status",
        json!({ "research_id": "hunter2" }),
        &bearer,
    );
    call(
        "answers",
        json!({ "query": "q" }),
        "Bearer evil-client-token",
    );
    let queried = call("ai_audit_query", json!({ "n": 200 }), &bearer);
    assert!(queried.contains("tool_denied"), "{queried}");
    serve.signal("TERM");
    serve.wait();
    let ends = place
        .events()
        .into_iter()
        .filter(|event| event["event"] == "tool_end")
        .count();
    assert_eq!(ends, 4);
    for file in std::fs::read_dir(place.audit()).unwrap().flatten() {
        let content = String::from_utf8_lossy(&std::fs::read(file.path()).unwrap()).into_owned();
        for secret in SECRETS.iter().chain([&token.trim()]) {
            assert!(!content.contains(secret), "{secret} is in {file:?}");
        }
        assert!(
            !content.contains("\\u001b") && !content.contains("\\nname"),
            "{content}"
        );
    }
}
