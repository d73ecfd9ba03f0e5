//! What `/__mcp/metrics` tells.

use std::collections::BTreeMap;

use serde_json::json;

use super::client::{answer_of, exchange, modern, modern_call};
use super::program::Serve;
use crate::support::World;

fn metrics(port: u16) -> BTreeMap<String, f64> {
    let (head, text) = exchange(port, "GET", "/__mcp/metrics", &[], "");
    assert_eq!(head.status, 200);
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (name.to_owned(), value.parse().unwrap())
        })
        .collect()
}

#[test]
fn jobs_are_counted_by_state_and_waits_for_the_limiter_too() {
    let world = World::new();
    let server = Serve::start(&world, &[]);
    let before = metrics(server.port);
    for state in [
        "queued",
        "running",
        "done",
        "failed",
        "cancelled",
        "interrupted",
    ] {
        assert_eq!(before[&format!("glovebox_jobs{{state=\"{state}\"}}")], 0.0);
    }
    assert_eq!(before["glovebox_limiter_waits_total"], 0.0);
    let ask = |scenario: &str| {
        let body = modern_call(
            1,
            "answers",
            json!({ "query": format!("sim:{scenario} What?") }),
        );
        let headers = modern("tools/call", "answers");
        answer_of(&exchange(server.port, "POST", "/mcp", &headers, &body).1)
    };
    // Two requests may leave at once, so that the third one waits.
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert!(ask("plain")["result"].is_object()));
        }
    });
    assert_eq!(ask("error-403")["result"]["isError"], true);
    let after = metrics(server.port);
    assert_eq!(after["glovebox_jobs{state=\"done\"}"], 3.0);
    assert_eq!(after["glovebox_jobs{state=\"failed\"}"], 1.0);
    assert!(after["glovebox_limiter_waits_total"] >= 1.0);
    assert!(after["glovebox_limiter_wait_seconds_total"] > 0.0);
    assert_eq!(after["glovebox_limiter_refusals_total"], 0.0);
    assert_eq!(
        after["glovebox_tool_calls_total{tool=\"answers\",result=\"ok\"}"],
        3.0
    );
}
