//! Every tool under every condition over every transport: the result, the list and the audit event.

use serde_json::{Value, json};

use super::client::{Place, Session, TRANSPORTS};
use crate::http::program::Serve;
use crate::support::server::{Simulator, text};

/// Every tool, and a call that has a result.
fn calls() -> Vec<(&'static str, Value)> {
    let id = json!({ "research_id": "01990000-1111-7222-8333-444455556666" });
    vec![
        ("answers", json!({ "query": "sim:plain what" })),
        (
            "research_submit",
            json!({ "query": "sim:research-1 submitted" }),
        ),
        ("research_status", id.clone()),
        ("research_result", id.clone()),
        ("research", json!({ "query": "sim:research-1 waited for" })),
        ("research_cancel", id),
        ("research_list", json!({})),
        ("status", json!({})),
        ("ai_audit_query", json!({ "n": 3 })),
    ]
}

const SPENDING: [&str; 3] = ["answers", "research_submit", "research"];
const FOREGROUND: [&str; 2] = ["answers", "research"];

/// A condition: the flags that make it, the tools it is about, and the reason of the denials it causes.
struct Condition {
    name: &'static str,
    flags: Vec<&'static str>,
    about: fn(&str) -> bool,
    denied: fn(&str) -> bool,
    reason: &'static str,
    setting: &'static str,
    /// Whether a denied tool is listed.
    listed: bool,
}

fn conditions() -> Vec<Condition> {
    let mut disable = vec!["--tools", "all"];
    for (tool, _) in calls() {
        disable.extend(["--disable-tool", tool]);
    }
    let condition = |name, flags, about, denied, reason, setting, listed| Condition {
        name,
        flags,
        about,
        denied,
        reason,
        setting,
        listed,
    };
    let spends: fn(&str) -> bool = |tool| SPENDING.contains(&tool);
    let foreground: fn(&str) -> bool = |tool| FOREGROUND.contains(&tool);
    vec![
        condition(
            "allowed",
            vec!["--tools", "all"],
            |_| true,
            |_| false,
            "",
            "",
            true,
        ),
        condition(
            "deselected",
            vec!["--tools", "status"],
            |tool| tool != "status",
            |_| true,
            "not_selected",
            "tools.select",
            false,
        ),
        condition(
            "status deselected",
            vec!["--tools", "research_list"],
            |tool| tool == "status",
            |_| true,
            "not_selected",
            "tools.select",
            false,
        ),
        condition(
            "toggled off",
            disable,
            |_| true,
            |_| true,
            "disabled",
            "tools.disable",
            false,
        ),
        condition(
            "over price",
            vec!["--tools", "all", "--confirm-over-usd", "0.01"],
            |_| true,
            spends,
            "approval_unavailable",
            "confirm_over_usd",
            true,
        ),
        condition(
            "too many at once",
            vec!["--tools", "all", "--max-concurrent", "1"],
            |_| true,
            foreground,
            "busy",
            "max_concurrent",
            true,
        ),
    ]
}

/// The server of a condition, and a client of a transport.
enum Running {
    Stdio,
    Serve(Serve),
}

impl Running {
    fn start(place: &Place, transport: &str, flags: &[&str]) -> (Self, Session) {
        if transport == "stdio" {
            let server = place.stdio(flags);
            return (Self::Stdio, Session::stdio(server, json!({})));
        }
        let serve = place.serve(flags);
        let session = match transport {
            "http" => Session::http(serve.port, json!({})),
            _ => Session::sse(serve.port, json!({})),
        };
        (Self::Serve(serve), session)
    }

    /// A second client of the same process; over stdio there is one.
    fn another(&self, transport: &str) -> Option<Session> {
        match self {
            Self::Stdio => None,
            Self::Serve(serve) if transport == "http" => Some(Session::http(serve.port, json!({}))),
            Self::Serve(serve) => Some(Session::sse(serve.port, json!({}))),
        }
    }
}

#[test]
fn every_tool_under_every_condition_over_every_transport() {
    let mut cases = Vec::new();
    for condition in conditions() {
        for transport in TRANSPORTS {
            cases.push((condition.name, transport));
        }
    }
    crate::support::each(&cases, |(name, transport)| {
        let condition = conditions()
            .into_iter()
            .find(|one| one.name == *name)
            .unwrap();
        check(&condition, transport);
    });
}

fn check(condition: &Condition, transport: &str) {
    let simulator = Simulator::start("0");
    let place = Place::with_upstream(&simulator.url);
    let mut flags = condition.flags.clone();
    flags.push("--audit");
    let (running, mut session) = Running::start(&place, transport, &flags);
    let occupied = condition.reason == "busy";
    // Another call that takes the only place for as long as the test lasts.
    let blocker = occupied.then(|| occupy(&running, &mut session, transport, &simulator));
    let listed = session.listed();
    let mut expected = Vec::new();
    for (tool, arguments) in calls() {
        if !(condition.about)(tool) {
            continue;
        }
        let case = format!("{} over {transport}: {tool}", condition.name);
        let denied = (condition.denied)(tool);
        assert_eq!(
            listed.iter().any(|name| name == tool),
            !denied || condition.listed,
            "{case}: {listed:?}"
        );
        let result = session.call(tool, arguments);
        let said = text(&result);
        if denied {
            assert_eq!(result["isError"], true, "{case}: {result}");
            assert!(
                said.starts_with("Denied: ") && said.contains(condition.setting),
                "{case}: {said}"
            );
            assert_eq!(said.lines().count(), 1, "{case}: {said}");
            assert!(result.get("structuredContent").is_none(), "{case}");
        } else {
            assert!(!said.starts_with("Denied"), "{case}: {said}");
        }
        expected.push((tool, denied));
    }
    drop(blocker);
    for (tool, denied) in expected {
        let case = format!("{} over {transport}: {tool}", condition.name);
        let of_tool = |event: &Value| event["tool"] == tool && event["transport"] == transport;
        let events = place.events();
        let events: Vec<&Value> = events.iter().filter(|event| of_tool(event)).collect();
        let named = |kind: &str| {
            events
                .iter()
                .filter(|event| event["event"] == kind)
                .collect::<Vec<_>>()
        };
        if denied {
            let event = named("tool_denied");
            assert_eq!(event.len(), 1, "{case}: {events:#?}");
            assert_eq!(event[0]["decision"], "denied");
            assert_eq!(event[0]["reason"], condition.reason, "{case}");
            assert_eq!(event[0]["client"], "policy-test");
            assert_eq!(event[0]["client_version"], "7");
        } else {
            assert!(named("tool_denied").is_empty(), "{case}: {events:#?}");
            let (start, end) = (named("tool_start"), named("tool_end"));
            assert!(!start.is_empty() && !end.is_empty(), "{case}: {events:#?}");
            assert_eq!(start[0]["decision"], "allowed");
            assert_eq!(start[0]["call"], end[0]["call"], "{case}");
            assert!(
                end[0]["duration_ms"].is_u64() && end[0]["result_hmac"].is_string(),
                "{case}"
            );
            assert_eq!(
                end[0]["cost_usd"].is_f64(),
                tool == "answers" || tool == "research",
                "{case}: {}",
                end[0]
            );
        }
        assert!(
            events.iter().all(|event| event["session"].is_string()),
            "{case}"
        );
        assert!(
            events
                .iter()
                .all(|event| event["arguments_hmac"].is_string()),
            "{case}"
        );
    }
}

/// Takes the only place by a call that does not end.
fn occupy(
    running: &Running,
    session: &mut Session,
    transport: &str,
    simulator: &Simulator,
) -> Option<std::thread::JoinHandle<()>> {
    let arguments = json!({ "query": "sim:stall in the way" });
    let params = json!({ "name": "answers", "arguments": arguments });
    let thread = match (running.another(transport), session) {
        (Some(mut other), _) => Some(std::thread::spawn(move || {
            // It ends with the server.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                other.ask("tools/call", params)
            }));
        })),
        (None, Session::Stdio(server)) => {
            server.request("tools/call", params);
            None
        }
        _ => unreachable!(),
    };
    simulator.wait_for(|record| record["body"]["messages"][0]["content"] == "sim:stall in the way");
    thread
}
