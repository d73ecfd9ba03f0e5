//! The commands: `glovebox audit`, and the question at the shell.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use super::client::{Place, Session};
use crate::support::server::Simulator;
use crate::support::{Ran, finish};

fn ran(place: &Place, args: &[&str]) -> Ran {
    Ran::of(place.command(args).output().unwrap())
}

#[test]
fn a_log_is_verified_and_read_from_the_shell() {
    let place = Place::new();
    let nothing = ran(&place, &["audit", "verify"]);
    assert_eq!(nothing.code, Some(0), "{nothing:?}");
    let mut session = Session::stdio(place.stdio(&["--audit"]), json!({}));
    session.call("status", json!({}));
    session.call("answers", json!({ "query": "sim:plain q" }));
    let verified = ran(&place, &["audit", "verify", "--json"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let verified = verified.json();
    assert_eq!(verified["last"], 5, "{verified}");
    let noted = format!("5:{}", verified["hash"].as_str().unwrap());
    let text = ran(&place, &["audit", "verify", "--expect", &noted]);
    assert!(
        text.code == Some(0) && text.out.contains(&noted),
        "{text:?}"
    );
    let wrong = format!("5:{}", "0".repeat(64));
    let other = ran(&place, &["audit", "verify", "--expect", &wrong]);
    assert!(
        other.code == Some(1) && other.err.contains("event 5"),
        "{other:?}"
    );
    assert_eq!(
        ran(&place, &["audit", "verify", "--expect", "5"]).code,
        Some(2)
    );

    let tail = ran(&place, &["audit", "tail", "--tool", "answers"]);
    let lines: Vec<&str> = tail.out.lines().collect();
    assert_eq!(lines.len(), 2, "{tail:?}");
    assert!(
        lines[0].contains("tool_start")
            && lines[1].contains("tool_end")
            && lines[1].contains("USD")
    );
    let tail = ran(&place, &["audit", "tail", "-n", "1", "--json"]);
    let last: Value = serde_json::from_str(tail.out.trim()).unwrap();
    assert_eq!(
        (&last["seq"], &last["event"]),
        (&json!(5), &json!("tool_end"))
    );

    let path = place.audit().join("audit.jsonl");
    let log = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        log.replacen("\"tool\":\"status\"", "\"tool\":\"answer\"", 1),
    )
    .unwrap();
    let found = ran(&place, &["audit", "verify"]);
    assert_eq!(found.code, Some(1), "{found:?}");
    assert!(
        found
            .err
            .contains("audit.jsonl:2 (event 2): this line was changed"),
        "{found:?}"
    );
}

#[test]
fn a_followed_log_gives_new_events_as_they_come() {
    let place = Place::new();
    let mut session = Session::stdio(place.stdio(&["--audit"]), json!({}));
    session.call("status", json!({}));
    let mut child = place
        .command(&["audit", "tail", "-f", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    for seq in 1..=3 {
        assert_eq!(next()["seq"], seq);
    }
    session.call("research_list", json!({}));
    assert_eq!(
        (&next()["event"], &next()["tool"]),
        (&json!("tool_start"), &json!("research_list"))
    );
    let status = std::process::Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(status.unwrap().success());
    assert_eq!(finish(child).code, Some(130));
}

#[test]
fn without_a_terminal_a_costly_call_needs_a_yes() {
    let simulator = Simulator::start("0");
    let place = Place::with_upstream(&simulator.url);
    let limit = ["--confirm-over-usd", "0.01"];
    for command in [
        &["ask", "sim:plain q"][..],
        &["research", "sim:research-1 q"],
    ] {
        let refused = ran(&place, &[command, &limit].concat());
        assert_eq!(refused.code, Some(4), "{refused:?}");
        assert!(
            refused.err.contains("--yes") && refused.err.contains("nothing was sent"),
            "{refused:?}"
        );
    }
    assert!(simulator.log().is_empty());
    let confirmed = ran(
        &place,
        &[&["ask", "sim:plain q", "--yes"], &limit[..]].concat(),
    );
    assert_eq!(confirmed.code, Some(0), "{confirmed:?}");
    let cheap = ran(&place, &["ask", "sim:plain q", "--confirm-over-usd", "5"]);
    assert_eq!(cheap.code, Some(0), "{cheap:?}");
    assert_eq!(simulator.log().len(), 2);
}
