//! How calls and servers live and end: progress, cancellation, clients that leave or do not read.

use std::io::{Read as _, Write as _};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::server::{Server, Simulator, state, text};
use serde_json::{Value, json};

const LATEST: &str = "2025-11-25";

/// A cancellation must have reached the upstream by then.
const CANCELLED_WITHIN: Duration = Duration::from_millis(500);

fn streaming(record: &Value) -> bool {
    record["bytes_sent"].as_u64() > Some(0) && record["end"].is_null()
}

fn ended(end: &'static str) -> impl Fn(&Value) -> bool {
    move |record| record["end"] == end
}

fn cancel(server: &mut Server, id: i64) -> Instant {
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    Instant::now()
}

#[test]
fn cancelling_an_answer_drops_the_upstream_and_nothing_more_is_sent() {
    let simulator = Simulator::start("1");
    let state = state();
    let mut server = Server::start(state.path(), Some(&simulator), &[]);
    server.initialize(LATEST);
    let call = json!({
        "name": "answers", "arguments": {"query": "sim:stall q"}, "_meta": {"progressToken": "t"},
    });
    let id = server.request("tools/call", call);
    simulator.wait_for(streaming);
    let at = cancel(&mut server, id);
    simulator.wait_for(ended("dropped"));
    assert!(at.elapsed() < CANCELLED_WITHIN, "{:?}", at.elapsed());
    server.settled();
    // Whatever was to come would have come by the time of a second call.
    server.call("status", json!({}));
    assert_eq!(server.settled(), Vec::<Value>::new());
    server.leave();
}

#[test]
fn cancelling_a_research_stops_its_worker() {
    let simulator = Simulator::start("1");
    let state = state();
    let mut server = Server::start(state.path(), Some(&simulator), &[]);
    server.initialize(LATEST);
    let call = json!({"name": "research", "arguments": {"query": "sim:stall q"}});
    let id = server.request("tools/call", call);
    simulator.wait_for(streaming);
    let at = cancel(&mut server, id);
    simulator.wait_for(ended("dropped"));
    assert!(at.elapsed() < CANCELLED_WITHIN, "{:?}", at.elapsed());
    let listed = loop {
        let listed = server.call("research_list", json!({"state": "cancelled"}));
        if listed["structuredContent"]["jobs"] != json!([]) {
            break listed;
        }
    };
    assert_eq!(listed["structuredContent"]["jobs"][0]["state"], "cancelled");
    server.leave();
}

#[test]
fn cancelling_a_wait_ends_the_wait_alone() {
    let simulator = Simulator::start("1");
    let state = state();
    let mut server = Server::start(state.path(), Some(&simulator), &[]);
    server.initialize(LATEST);
    let submitted = server.call("research_submit", json!({"query": "sim:stall q"}));
    let research = submitted["structuredContent"]["research_id"].clone();
    simulator.wait_for(streaming);
    let again = server.call("research_submit", json!({"query": "sim:stall q"}));
    assert_eq!(
        again["structuredContent"]["research_id"], research,
        "the same question is not asked twice"
    );
    assert!(text(&again).contains("not billed, twice"), "{again}");
    let waiting = json!({"name": "research_result", "arguments": {"research_id": research, "wait_seconds": 50}});
    let id = server.request("tools/call", waiting.clone());
    cancel(&mut server, id);
    let status = server.call("research_status", json!({"research_id": research}));
    assert_eq!(status["structuredContent"]["state"], "running");
    // A client that leaves is given the state, at once.
    let id = server.request("tools/call", waiting);
    let at = Instant::now();
    server.close();
    let last: Value = serde_json::from_str(server.rest().last().unwrap()).unwrap();
    assert_eq!(last["id"], id);
    assert_eq!(
        last["result"]["structuredContent"]["state"], "running",
        "{last}"
    );
    assert_eq!(server.wait(), Some(0));
    assert!(at.elapsed() < Duration::from_secs(3), "{:?}", at.elapsed());
    let mut next = Server::start(state.path(), Some(&simulator), &[]);
    next.initialize(LATEST);
    let stopped = next.call("research_cancel", json!({"research_id": research}));
    assert_eq!(
        stopped["structuredContent"]["state"], "cancelled",
        "{stopped}"
    );
    simulator.wait_for(ended("dropped"));
    next.leave();
}

#[test]
fn progress_rises_and_comes_only_where_it_is_asked_for() {
    let simulator = Simulator::start("0.02");
    let state = state();
    let mut server = Server::start(state.path(), Some(&simulator), &[]);
    server.initialize(LATEST);
    for (tool, token) in [("answers", json!("a")), ("research", json!(7))] {
        let call =
            json!({"name": tool, "arguments": {"query": "q"}, "_meta": {"progressToken": token}});
        let id = server.request("tools/call", call);
        let mut last = 0.0;
        let mut reports = 0;
        loop {
            let message = server.message();
            if message["id"] == id {
                break;
            }
            if message["method"] != "notifications/progress" {
                continue;
            }
            let params = &message["params"];
            assert_eq!(params["progressToken"], token);
            assert!(params.get("total").is_none());
            assert!(!params["message"].as_str().unwrap().is_empty());
            let progress = params["progress"].as_f64().unwrap();
            assert!(progress > last, "{progress} after {last}");
            last = progress;
            reports += 1;
        }
        assert!(reports > 0, "{tool} said nothing");
    }
    server.call("answers", json!({"query": "q"}));
    let methods: Vec<Value> = server
        .settled()
        .into_iter()
        .map(|message| message["method"].clone())
        .collect();
    assert!(
        !methods.contains(&json!("notifications/progress")),
        "{methods:?}"
    );
    server.leave();
}

#[test]
fn an_answer_in_flight_is_delivered_after_the_end_of_the_input() {
    let simulator = Simulator::start("0.05");
    let state = state();
    let mut server = Server::start(state.path(), Some(&simulator), &[]);
    server.initialize(LATEST);
    let id = server.request(
        "tools/call",
        json!({"name": "answers", "arguments": {"query": "q"}}),
    );
    simulator.wait_for(streaming);
    server.close();
    let rest = server.rest();
    assert_eq!(rest.len(), 1, "{rest:?}");
    let reply: Value = serde_json::from_str(&rest[0]).unwrap();
    assert_eq!(
        (&reply["id"], &reply["result"]["isError"]),
        (&json!(id), &json!(false))
    );
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn a_call_that_outlasts_the_drain_is_dropped_and_the_process_ends() {
    let simulator = Simulator::start("1");
    let state = state();
    let mut server = Server::start(state.path(), Some(&simulator), &[]);
    server.initialize(LATEST);
    server.request(
        "tools/call",
        json!({"name": "answers", "arguments": {"query": "sim:stall q"}}),
    );
    simulator.wait_for(streaming);
    let at = Instant::now();
    server.close();
    assert_eq!(server.rest(), Vec::<String>::new());
    assert_eq!(server.wait(), Some(0));
    let lived = at.elapsed();
    assert!(
        lived > Duration::from_secs(4) && lived < Duration::from_secs(9),
        "{lived:?}"
    );
    simulator.wait_for(ended("dropped"));
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_process_at_once() {
    let simulator = Simulator::start("1");
    let state = state();
    let mut server = Server::start(state.path(), Some(&simulator), &[]);
    server.initialize(LATEST);
    server.request(
        "tools/call",
        json!({"name": "answers", "arguments": {"query": "sim:stall q"}}),
    );
    simulator.wait_for(streaming);
    let at = Instant::now();
    let killed = Command::new("kill")
        .args(["-TERM", &server.pid().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    assert_eq!(server.wait(), Some(130));
    assert!(at.elapsed() < Duration::from_secs(2), "{:?}", at.elapsed());
    simulator.wait_for(ended("dropped"));
}

#[test]
fn a_client_that_stops_reading_stalls_nothing_and_loses_nothing() {
    let simulator = Simulator::start("0.02");
    let state = state();
    let mut server = Server::unread(state.path(), Some(&simulator), &[], &[]);
    server.send(&json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
    }));
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    // Some megabytes, where a pipe holds 64 KB.
    let lists: Vec<i64> = (0..500)
        .map(|_| server.request("tools/list", json!({})))
        .collect();
    let call = |tool: &str, token: &str| json!({"name": tool, "arguments": {"query": "q"}, "_meta": {"progressToken": token}});
    let answer = server.request("tools/call", call("answers", "a"));
    let research = server.request("tools/call", call("research", "r"));
    simulator.wait_for(|record| {
        record["end"] == "complete" && record["body"].get("enable_research").is_some()
    });
    simulator.wait_for(|record| {
        record["end"] == "complete" && record["body"].get("enable_research").is_none()
    });
    server.read();
    for id in lists {
        assert!(server.reply(id)["result"]["tools"].is_array());
    }
    for id in [answer, research] {
        let reply = server.reply(id);
        assert_eq!(
            reply["result"]["structuredContent"]["state"], "done",
            "{reply}"
        );
    }
    server.leave();
}

#[test]
fn nothing_but_messages_is_ever_on_the_output() {
    let simulator = Simulator::start("0");
    let state = state();
    let mut server = Server::unread(
        state.path(),
        Some(&simulator),
        &[],
        &[("RUST_LOG", "trace")],
    );
    server.read();
    server.initialize(LATEST);
    server.send_raw(b"garbage\n{\n\xff\xfe\n");
    // Each line that comes is checked to be a message.
    for scenario in [
        "plain",
        "html-502",
        "reset",
        "huge-line",
        "error-500",
        "error-422-key",
        "redirect",
        "no-answer",
    ] {
        let answer = server.call("answers", json!({"query": format!("sim:{scenario} q")}));
        assert!(!text(&answer).is_empty(), "{scenario}: {answer}");
        assert!(!text(&answer).contains("a-key-for-tests"));
    }
    server.call("research", json!({"query": "q"}));
    server.settled();
    server.close();
    assert_eq!(server.wait(), Some(0));
    let said = server.said();
    assert!(said.contains("TRACE"), "the log is on standard error");
    assert!(!said.contains("a-key-for-tests"), "the key is in the log");
}

#[test]
fn a_client_that_leaves_without_reading_does_not_keep_the_process() {
    let state = state();
    let mut server = Server::unread(state.path(), None, &[], &[]);
    server.send(&json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
    }));
    for _ in 0..500 {
        server.request("tools/list", json!({}));
    }
    let at = Instant::now();
    server.close();
    assert_eq!(server.wait(), Some(0));
    assert!(at.elapsed() < Duration::from_secs(9), "{:?}", at.elapsed());
}

/// The most memory that a process has used, in bytes.
fn peak_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    let kilobytes = line.split_whitespace().nth(1).unwrap();
    kilobytes.parse::<u64>().unwrap() * 1024
}

#[test]
fn bad_lines_that_are_not_read_from_do_not_fill_the_memory() {
    const LINES: usize = 2_000_000;
    const MOST: u64 = 150 << 20;
    let state = state();
    let mut server = Server::unread(state.path(), None, &[], &[]);
    let pid = server.pid();
    let mut input = server.take_input();
    let sent = Arc::new(AtomicUsize::new(0));
    let progress = Arc::clone(&sent);
    let sending = std::thread::spawn(move || {
        for _ in 0..LINES / 1000 {
            input.write_all(&b"{\n".repeat(1000)).unwrap();
            progress.fetch_add(1000, Ordering::SeqCst);
        }
    });
    // Until the server stops reading, or has read everything: then nothing moves for a second.
    let mut moved = (0, Instant::now());
    while moved.1.elapsed() < Duration::from_secs(1) && !sending.is_finished() {
        let now = sent.load(Ordering::SeqCst);
        if now != moved.0 {
            moved = (now, Instant::now());
        }
        assert!(
            peak_memory(pid) < MOST,
            "{} bytes after {now} lines",
            peak_memory(pid)
        );
        std::thread::yield_now();
    }
    assert!(!sending.is_finished(), "the server read on");
    let mut replies = server.take_output();
    let mut left = LINES;
    let mut buffer = vec![0; 1 << 16];
    while left > 0 {
        let count = replies.read(&mut buffer).unwrap();
        assert!(count > 0, "{left} lines were not answered");
        left -= buffer[..count]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
    }
    sending.join().unwrap();
    assert!(peak_memory(pid) < MOST, "{} bytes", peak_memory(pid));
    assert_eq!(server.wait(), Some(0));
}
