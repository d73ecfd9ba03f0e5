//! Many processes use one store concurrently: they submit, read, cancel and kill jobs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use glovebox::jobs::Filter;
use glovebox::jobs::clock::WallClock;
use rusqlite::Connection;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::store::{call, jobs};
use crate::support::machine::{Machine, Simulator, is_end, kill, words};

/// The number of concurrent clients.
const CLIENTS: u64 = 10;
/// The number of concurrent servers.
const SERVERS: u64 = 4;
/// The most concurrent workers.
const WORKERS: usize = 20;
/// The most research jobs. At two requests per second, more would only take longer.
const SUBMITS: usize = 60;

/// Returns the duration of the test. `GLOVEBOX_STORM_SECONDS` sets it.
fn duration() -> Duration {
    let seconds = std::env::var("GLOVEBOX_STORM_SECONDS").ok();
    Duration::from_secs(seconds.and_then(|text| text.parse().ok()).unwrap_or(20))
}

#[derive(Default)]
struct Seen {
    ids: BTreeSet<String>,
    submits: usize,
    reads: usize,
    killed: usize,
}

#[test]
fn nothing_is_lost_under_concurrent_load() {
    let simulator = Simulator::start("0.01");
    let machine = Machine::new(&simulator.url);
    machine.run(&["jobs"]);
    let seen = Mutex::new(Seen::default());
    let end = Instant::now() + duration();
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (machine, seen) = (&machine, &seen);
            scope.spawn(move || run_client(machine, seen, client, end));
        }
        for server in 0..SERVERS {
            let (machine, seen) = (&machine, &seen);
            scope.spawn(move || run_server(machine, seen, server, end));
        }
    });
    let seen = seen.into_inner().unwrap();
    assert!(seen.submits >= 10 && seen.reads >= 20 && seen.killed >= 1);
    check(&machine, &seen);
}

/// Runs random commands until `end`.
fn run_client(machine: &Machine, seen: &Mutex<Seen>, number: u64, end: Instant) {
    let mut random = fastrand::Rng::with_seed(number);
    while Instant::now() < end {
        let known: Vec<String> = seen.lock().unwrap().ids.iter().cloned().collect();
        let some = known.get(random.usize(0..known.len().max(1))).cloned();
        match (random.u32(0..100), some) {
            (0..35, _) | (_, None) => submit(machine, seen, &mut random),
            (35..55, Some(id)) => read(machine, seen, &["jobs", "status", &id, "--json"]),
            (55..65, _) => read(machine, seen, &["jobs", "list", "--all", "--json"]),
            (65..75, _) => read(machine, seen, &["spend", "--json"]),
            (75..85, Some(id)) => read(machine, seen, &["jobs", "cancel", &id, "--json"]),
            (_, _) => {
                if let Some((pid, _)) = random.choice(machine.workers()) {
                    kill(pid, "KILL");
                    seen.lock().unwrap().killed += 1;
                }
            }
        }
    }
}

/// Runs a server in this process that makes calls until `end` and cancels some of them.
fn run_server(machine: &Machine, seen: &Mutex<Seen>, number: u64, end: Instant) {
    let mut random = fastrand::Rng::with_seed(100 + number);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (jobs, _simulator) = jobs(&machine.state(), Arc::new(WallClock), None).await;
        while Instant::now() < end {
            let submitted = jobs.submit(call("asked of a server")).await.unwrap();
            let id = submitted.job.id;
            assert!(seen.lock().unwrap().ids.insert(id.to_string()));
            let cancel = CancellationToken::new();
            if random.bool() {
                cancel.cancel();
            }
            let (updates, _) = tokio::sync::mpsc::unbounded_channel();
            let ended = jobs.run(&id, cancel, updates).await.unwrap();
            assert!(ended.job.state.ended());
            let all = Filter {
                all: true,
                state: None,
            };
            assert!(!jobs.list(all, 50).await.unwrap().is_empty());
            seen.lock().unwrap().reads += 1;
        }
    });
}

fn submit(machine: &Machine, seen: &Mutex<Seen>, random: &mut fastrand::Rng) {
    if machine.workers().len() >= WORKERS {
        return;
    }
    let number = {
        let mut seen = seen.lock().unwrap();
        if seen.submits >= SUBMITS {
            return;
        }
        seen.submits += 1;
        seen.submits
    };
    let query = format!("stormy question {number} {}", random.u32(..));
    let output = machine.run(&["research", "--detach", "--json", "--queries", "1", &query]);
    let text = words(&output);
    assert_no_lock_error(&text);
    // The only accepted failure is a worker that was killed before it started.
    if output.status.success() {
        let job: Value = serde_json::from_slice(&output.stdout).unwrap();
        let id = job["research_id"].as_str().unwrap().to_owned();
        assert!(seen.lock().unwrap().ids.insert(id), "an id was used twice");
    } else {
        assert!(text.contains("did not start"), "{text}");
    }
}

fn read(machine: &Machine, seen: &Mutex<Seen>, args: &[&str]) {
    let output = machine.run(args);
    let text = words(&output);
    assert_no_lock_error(&text);
    assert!(output.status.success(), "{args:?}: {text}");
    serde_json::from_slice::<Value>(&output.stdout).unwrap();
    seen.lock().unwrap().reads += 1;
}

fn assert_no_lock_error(text: &str) {
    for word in ["busy", "locked", "panicked", "held by another process"] {
        assert!(!text.contains(word), "{text}");
    }
}

fn check(machine: &Machine, seen: &Seen) {
    let mut costs = 0.0;
    for id in &seen.ids {
        let job = machine.ended(id);
        costs += job["cost_usd"].as_f64().unwrap_or(0.0);
    }
    let all = machine.json(&["jobs", "--all", "--limit", "10000", "--json"]);
    let all = all.as_array().unwrap();
    assert!(all.iter().all(is_end), "a job was not settled");
    let stored: BTreeSet<String> = all
        .iter()
        .map(|job| job["research_id"].as_str().unwrap().to_owned())
        .collect();
    assert!(stored.is_superset(&seen.ids), "a job was lost");

    let spend = machine.json(&["spend", "--json"]);
    let total = &spend["total"];
    assert_eq!(total["calls"], all.len(), "not one ledger entry per call");
    assert_eq!(total["reserved_usd"], 0.0);
    assert!((total["cost_usd"].as_f64().unwrap() - costs).abs() < 1e-6);
    let unknown = all.iter().filter(|job| job["cost_usd"].is_null()).count();
    assert_eq!(total["unknown_calls"], unknown);

    let database = Connection::open(machine.state().join("jobs.db")).unwrap();
    let whole: String = database
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(whole, "ok");
    let same: bool = database
        .query_row(
            "SELECT (SELECT count(*) FROM ledger) = (SELECT sum(calls) FROM spend)
                AND (SELECT coalesce(sum(cost), 0) FROM ledger) = (SELECT sum(settled) FROM spend)
                AND NOT EXISTS (SELECT 1 FROM ledger WHERE status = 'open')",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert!(same, "the sums differ from the entries");
}
