//! Workers that survive the process that started them, and the jobs of workers that are killed.

use std::time::Duration;

use glovebox::answers::Mode;
use glovebox::answers::{Answers, AnswersConfig};
use glovebox::sandbox::Sandbox;
use serde_json::Value;

use crate::support::machine::{Machine, Simulator, json, kill, own_group, until, words};

/// The reservation of a research with 20 queries, the default.
const RESERVED: f64 = 1.6;

#[test]
fn a_worker_survives_its_parent_session_and_executable() {
    let simulator = Simulator::start("0.01");
    let machine = Machine::new(&simulator.url);
    let mut command = machine.command(&["research", "--detach", "what outlives a parent"]);
    let mut parent = own_group(&mut command).spawn().unwrap();
    // The parent may still be waiting for the worker to start.
    let (_, id) = until("a worker", || machine.workers().pop());
    kill(-i32::try_from(parent.id()).unwrap(), "KILL");
    parent.wait().unwrap();

    let output = machine.run(&["jobs", "result", &id, "--wait", "100", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let outcome = json(&output);
    assert_eq!(outcome["complete"], true);
    assert!(outcome["answer"].as_str().unwrap().len() > 20);
    let job = machine.ended(&id);
    assert_eq!(job["state"], "done");
    assert_eq!(
        job["cost_usd"],
        rounded(&outcome["usage"]["cost_usd"]["total"])
    );
    assert!(job["progress"]["iteration"].as_u64().unwrap() >= 1);
    until("the worker's end", || {
        machine.workers().is_empty().then_some(())
    });
}

/// Rounds dollars to micro-dollars, as in the ledger.
fn rounded(usd: &Value) -> f64 {
    (usd.as_f64().unwrap() * 1e6).round() / 1e6
}

#[test]
fn a_worker_shares_nothing_with_its_parent() {
    let simulator = Simulator::start("1");
    let machine = Machine::new(&simulator.url);
    // `output` waits until all pipes are closed. If the worker held one, this would take minutes.
    let id = machine.detach("who holds a pipe");
    let (pid, _) = until("the worker", || machine.workers().pop());
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .collect();
    let (group, session) = (fields[2], fields[3]);
    assert_eq!(
        session,
        pid.to_string(),
        "the worker is not the leader of a session"
    );
    assert_eq!(group, pid.to_string());
    // Some clients kill all descendants of their servers when they exit.
    let mut ancestor = fields[1].to_owned();
    while !["0", "1"].contains(&ancestor.as_str()) {
        let command = std::fs::read_to_string(format!("/proc/{ancestor}/cmdline")).unwrap();
        assert!(!command.contains("glovebox"), "a descendant of {command}");
        let stat = std::fs::read_to_string(format!("/proc/{ancestor}/stat")).unwrap();
        let rest = stat.rsplit_once(')').unwrap().1;
        ancestor = rest.split_whitespace().nth(1).unwrap().to_owned();
    }
    let args = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
    assert!(args.starts_with("glovebox\0worker\0"), "{args:?}");
    until("the name in a list of processes", || {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
        (name == "glovebox\n").then_some(())
    });
    assert!(!args.contains("a-key-for-tests"));
    let job = machine.json(&["jobs", "cancel", &id, "--json"]);
    assert_eq!(job["state"], "cancelled");
}

#[test]
fn a_worker_killed_at_any_time_is_settled() {
    let simulator = Simulator::start("0.004");
    let machine = Machine::new(&simulator.url);
    let answers = Answers::start(&Sandbox::default(), AnswersConfig::default());
    let mut random = fastrand::Rng::with_seed(20);
    let (mut known, mut unknown, mut seen) = (0.0, 0, Vec::new());
    for number in 0..20 {
        let query = format!("question {number} about worn brakes");
        let id = machine.detach(&query);
        let moment = Duration::from_millis(random.u64(0..1500));
        // The time is what is tested, so there is no event to wait for.
        std::thread::sleep(moment);
        for (pid, _) in machine.workers() {
            kill(pid, "KILL");
        }
        let job = machine.ended(&id);
        let output = machine.run(&["jobs", "result", &id, "--json"]);
        let state = job["state"].as_str().unwrap().to_owned();
        let capture =
            std::fs::read(job["capture"].as_str().unwrap_or_default()).unwrap_or_default();
        let held = answers.parse_all(Mode::Research, &[], &capture).unwrap();
        let asked = simulator.asked(&query).is_some();
        if held.complete {
            assert_eq!(state, "done", "{job:#}");
            let cost = (held.cost_usd().unwrap() * 1e6).round() / 1e6;
            assert_eq!(job["cost_usd"], cost, "{job:#}");
            assert_eq!(json(&output)["answer"], held.answer);
            assert_eq!(output.status.code(), Some(0));
            known += cost;
        } else {
            assert_eq!(state, "interrupted", "{job:#}");
            assert_eq!(output.status.code(), Some(6), "{}", words(&output));
            if asked {
                assert!(job["cost_usd"].is_null(), "{job:#}");
            }
            if job["cost_usd"].is_null() {
                assert!(job["note"].as_str().unwrap().contains("billed"));
                let outcome = json(&output);
                assert_eq!(outcome["draft"], held.draft);
                assert_eq!(outcome["complete"], false);
                assert_eq!(outcome["error"]["kind"], "interrupted");
                unknown += 1;
            } else {
                assert_eq!(job["cost_usd"], 0.0);
            }
        }
        seen.push(state);
    }
    // There is no second settlement and no open reservation.
    let spend = machine.json(&["spend", "--json"]);
    let total = &spend["total"];
    assert_eq!(total["calls"], 20);
    assert_eq!(total["reserved_usd"], 0.0);
    assert_eq!(total["unknown_calls"], unknown);
    assert!((total["cost_usd"].as_f64().unwrap() - known).abs() < 1e-9);
    let counted = f64::from(unknown) * RESERVED;
    assert!((total["unknown_counted_usd"].as_f64().unwrap() - counted).abs() < 1e-9);
    assert!(
        seen.iter().any(|state| state == "interrupted"),
        "no worker was alive when it was killed: {seen:?}"
    );
    // Each request was sent at most once: recovery sends nothing again.
    let mut queries: Vec<String> = simulator
        .log()
        .iter()
        .map(|record| record["body"]["messages"][0]["content"].to_string())
        .collect();
    let all = queries.len();
    queries.sort();
    queries.dedup();
    assert_eq!(queries.len(), all);
}

#[test]
fn a_terminated_worker_stores_the_partial_result() {
    let simulator = Simulator::start("0.02");
    let machine = Machine::new(&simulator.url);
    let id = machine.detach("sigterm and the rest");
    until("bytes of the reply", || {
        let capture = machine.state().join(format!("captures/{id}.sse"));
        (std::fs::metadata(capture).ok()?.len() > 2000).then_some(())
    });
    for (pid, _) in machine.workers() {
        kill(pid, "TERM");
    }
    let job = machine.ended(&id);
    assert_eq!(job["state"], "interrupted", "{job:#}");
    assert!(job["cost_usd"].is_null());
    let outcome = json(&machine.run(&["jobs", "result", &id, "--json"]));
    assert!(!outcome["queries"].as_array().unwrap().is_empty());
}

#[test]
fn a_cancellation_reaches_the_upstream_within_a_second() {
    let simulator = Simulator::start("1");
    let machine = Machine::new(&simulator.url);
    let query = "cancel me from elsewhere";
    let id = machine.detach(query);
    until("the request", || simulator.asked(query));
    let begun = std::time::Instant::now();
    let cancelled = machine.run(&["jobs", "cancel", &id, "--json"]);
    let end = until("the drop", || {
        let record = simulator.asked(query)?;
        record["end"].as_str().map(str::to_owned)
    });
    let took = begun.elapsed();
    assert_eq!(end, "dropped");
    assert!(took < Duration::from_secs(1), "{took:?}");
    let job = json(&cancelled);
    assert_eq!(job["state"], "cancelled", "{job:#}");
    assert!(job["cost_usd"].is_null(), "the cost is not unknown");
    // End states are final. A second cancellation is not an error.
    let again = machine.json(&["jobs", "cancel", &id, "--json"]);
    assert_eq!(again["state"], "cancelled");
    assert_eq!(again["ended_at"], job["ended_at"]);
    let result = machine.run(&["jobs", "result", &id, "--json"]);
    assert_eq!(result.status.code(), Some(130), "{}", words(&result));
}

#[test]
fn the_same_research_runs_once() {
    let simulator = Simulator::start("1");
    let machine = Machine::new(&simulator.url);
    let first = machine.detach("asked twice by a client that retries");
    let second = machine.detach("asked twice by a client that retries");
    assert_eq!(first, second);
    let other = machine.detach("asked twice by a client that retries?");
    assert_ne!(first, other);
    for id in [&first, &other] {
        machine.json(&["jobs", "cancel", id, "--json"]);
    }
    let third = machine.detach("asked twice by a client that retries");
    assert_ne!(first, third, "an ended job was returned as running");
    machine.json(&["jobs", "cancel", &third, "--json"]);
}

#[test]
fn a_detached_worker_starts_its_own_simulator() {
    let machine = Machine::new("https://upstream.invalid");
    let job = machine.json(&[
        "research",
        "--detach",
        "--json",
        "--simulate",
        "--pace",
        "0",
        "solid-state batteries",
    ]);
    let id = job["research_id"].as_str().unwrap();
    assert_ne!(
        job["state"], "queued",
        "the command returned before the worker owned the job"
    );
    assert_eq!(machine.ended(id)["state"], "done");
}
