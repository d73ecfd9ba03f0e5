//! Jobs of dead workers with captures that the sandbox cannot read. They are settled at their reservations.

use serde_json::Value;

use crate::support::guest::{BODY, Guest};
use crate::support::machine::{Machine, Simulator, kill, stderr, until, words};

/// Starts research jobs and kills their workers in the middle of the replies.
fn start_and_kill<const COUNT: usize>(
    machine: &Machine,
    queries: [&str; COUNT],
) -> [String; COUNT] {
    let ids = queries.map(|query| machine.detach(query));
    for id in &ids {
        let capture = machine.state().join(format!("captures/{id}.sse"));
        until("a capture", || {
            (std::fs::metadata(&capture).ok()?.len() > 500).then_some(())
        });
    }
    for (pid, _) in machine.workers() {
        kill(pid, "KILL");
    }
    ids
}

#[test]
fn a_capture_that_the_sandbox_cannot_read_does_not_keep_its_job_alive() {
    let simulator = Simulator::start("0.1");
    let machine = Machine::new(&simulator.url);
    let queries = ["what cannot be read", "what cannot be read either"];
    let [first, second] = start_and_kill(&machine, queries);
    let bad = Guest::default().asking(BODY).write(machine.dir.path());
    let flags = ["--component", bad.to_str().unwrap()];
    let run = |args: &[&str]| machine.run(&[&flags[..], args].concat());

    let status = run(&["jobs", "status", &first, "--json"]);
    assert_eq!(status.status.code(), Some(0), "{}", words(&status));
    let job: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(job["state"], "interrupted", "{job:#}");
    assert!(job["cost_usd"].is_null(), "{job:#}");
    let error = job["error"]["message"].as_str().unwrap();
    assert!(
        error.contains("cannot read") && error.contains("capture is kept"),
        "{error}"
    );
    assert!(
        std::fs::exists(job["capture"].as_str().unwrap()).unwrap(),
        "the capture was removed"
    );
    let result = run(&["jobs", "result", &first]);
    assert_eq!(result.status.code(), Some(6), "{}", words(&result));
    assert!(
        stderr(&result).contains("cannot read"),
        "{}",
        words(&result)
    );
    let cancelled = run(&["jobs", "cancel", &second, "--json"]);
    assert_eq!(cancelled.status.code(), Some(0), "{}", words(&cancelled));
    let spend = machine.json(&["spend", "--json"]);
    assert_eq!(spend["total"]["reserved_usd"], 0.0, "{spend:#}");
    assert_eq!(spend["total"]["unknown_calls"], 2);
    assert_eq!(spend["total"]["unknown_counted_usd"], 3.2);
    let deleted = run(&["jobs", "delete", &first]);
    assert_eq!(deleted.status.code(), Some(0), "{}", words(&deleted));

    let again = machine.detach("what cannot be read either");
    assert_ne!(again, second, "the same question did not start a new job");
    machine.json(&["jobs", "cancel", &again, "--json"]);
}

#[test]
fn a_job_is_left_as_it_is_while_there_is_no_sandbox() {
    let simulator = Simulator::start("0.1");
    let machine = Machine::new(&simulator.url);
    let [id] = start_and_kill(&machine, ["what is read later"]);
    let none = machine.dir.path().join("none.wasm");
    std::fs::write(&none, "no component").unwrap();
    let none = none.to_str().unwrap();
    let status = machine.run(&["--component", none, "jobs", "status", &id]);
    assert_eq!(status.status.code(), Some(1), "{}", words(&status));
    assert!(
        stderr(&status).contains("cannot be used as a component"),
        "{}",
        words(&status)
    );
    // With a working sandbox, the capture becomes the result.
    let job = machine.json(&["jobs", "status", &id, "--json"]);
    assert_eq!(job["state"], "interrupted", "{job:#}");
    let outcome = machine.run(&["jobs", "result", &id, "--json"]);
    let outcome: Value = serde_json::from_slice(&outcome.stdout).unwrap();
    assert!(!outcome["queries"].as_array().unwrap().is_empty());
}
