//! Every scenario and golden vector over real sockets: outcome, exit status, message and retries.

use std::path::{Path, PathBuf};

use crate::support::{Ran, Simulator, World, each};
use serde_json::{Value, json};

fn setup() -> (World, Simulator) {
    let world = World::new();
    let simulator = Simulator::start("0");
    (world, simulator)
}

/// Every refusal and fault, with its exit status and message, for both commands.
#[test]
fn every_fault_has_its_exit_status_and_message() {
    let (_world, simulator) = setup();
    let cases: &[(&str, i32, &str)] = &[
        ("error-400-plan", 3, "plan"),
        ("error-402", 4, "spend cap"),
        ("error-402+docs", 4, "spend cap"),
        ("error-403", 3, "403"),
        ("error-404", 3, "404"),
        ("error-422-key", 3, "key"),
        ("error-422-key+docs", 3, "key"),
        (
            "error-422-validation",
            1,
            "research_maximum_number_of_queries",
        ),
        ("error-422-option", 1, "Research mode does not support"),
        ("error-429-quota", 4, "quota"),
        ("error-500", 5, "HTTP 500"),
        ("error-500+text", 5, "HTTP 500"),
        ("html-502", 5, "HTTP 502"),
        ("redirect", 5, "redirect"),
        ("error-midstream", 5, "overloaded"),
        ("reset", 5, "connection to the upstream broke"),
        ("reset+gzip+split", 5, "connection to the upstream broke"),
        ("stall", 5, "sent nothing for 0.3 s"),
        ("stall+gzip", 5, "sent nothing for 0.3 s"),
        ("huge-line", 1, "longer than"),
    ];
    each(cases, |(scenario, exit, message)| {
        for command in ["ask", "research"] {
            let question = format!("sim:{scenario} why?");
            let ran =
                World::new().call(&simulator, &[command, "--timeout-idle", "300ms", &question]);
            assert_eq!(ran.code, Some(*exit), "{scenario} {command}: {ran:?}");
            assert!(ran.err.contains(message), "{scenario} {command}: {ran:?}");
            assert!(
                !ran.err.contains('<') && !ran.out.contains("<html"),
                "{scenario}: {ran:?}"
            );
        }
    });
}

#[test]
fn the_partial_result_is_printed_and_stored_after_a_fault() {
    let (world, simulator) = setup();
    let ran = world.call(&simulator, &["ask", "sim:reset Are tides predictable?"]);
    assert!(ran.out.contains("Are tides"), "{ran:?}");
    assert!(ran.err.contains("kept: glovebox jobs result "), "{ran:?}");
    let id = ran
        .err
        .split("jobs result ")
        .nth(1)
        .unwrap()
        .split([',', '\n'])
        .next()
        .unwrap()
        .trim();
    let result = world.run(&["jobs", "result", id, "--json"]);
    assert_eq!(result.json()["complete"], false);
    assert!(
        result.json()["answer"]
            .as_str()
            .unwrap()
            .contains("Are tides")
    );
}

/// Invalid options are refused before anything is sent, and never ignored.
#[test]
fn invalid_options_are_refused_before_anything_is_sent() {
    let (world, simulator) = setup();
    let folder = world.path().to_str().unwrap().to_owned();
    let cases: &[(&[&str], i32, &str)] = &[
        (
            &["research", "--detach", "--output", "f", "why?"],
            2,
            "--output",
        ),
        (
            &["research", "--detach", "--markdown", "why?"],
            2,
            "--markdown",
        ),
        (&["ask", "--output", &folder, "why?"], 2, "it is a folder"),
        (&["jobs", "--limit", "0"], 2, "1 or more"),
        (&["simulate", "--listen", "0.0.0.0:0"], 2, "loopback"),
    ];
    for (args, exit, message) in cases {
        let ran = world.call(&simulator, args);
        assert_eq!(ran.code, Some(*exit), "{args:?}: {ran:?}");
        assert!(ran.err.contains(message), "{args:?}: {ran:?}");
    }
    let mut command = world.calling(&simulator, &["ask", "why?"]);
    command
        .env_remove("BRAVE_ANSWERS_KEY")
        .env_remove("BRAVE_API_KEY")
        .env("BRAVE_ANSWERS_KEY_FILE", &folder);
    let ran = Ran::of(command.output().unwrap());
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.err.contains("it is a folder") && !ran.err.contains("chmod"),
        "{ran:?}"
    );
    assert_eq!(simulator.log().len(), 0);
}

/// The answer was paid for, so the message says where it is stored.
#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_printed_is_stored() {
    let (world, simulator) = setup();
    let mut command = world.calling(&simulator, &["ask", "why?"]);
    command.stdout(std::fs::File::create("/dev/full").unwrap());
    let ran = Ran::of(command.output().unwrap());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.err.contains("cannot write to standard output")
            && ran.err.contains("kept: glovebox jobs result "),
        "{ran:?}"
    );
}

#[test]
fn an_endless_reply_ends_at_its_deadline() {
    let world = World::new();
    // At pace 0 the reply would reach the size limit first.
    let simulator = Simulator::start("0.05");
    let ran = world.call(
        &simulator,
        &["ask", "--timeout-answer", "2s", "sim:endless why?"],
    );
    assert_eq!(ran.code, Some(5), "{}", ran.err);
    assert!(ran.err.contains("not complete within 2 s"), "{}", ran.err);
    simulator.wait_for_log("the drop", |log| log[0]["end"] == "dropped");
}

#[test]
fn an_endless_reply_ends_at_its_size_limit() {
    let (world, simulator) = setup();
    let ran = world.call(&simulator, &["ask", "sim:endless why?"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(
        ran.err.contains("larger than 67108864 bytes"),
        "{}",
        ran.err
    );
    simulator.wait_for_log("the drop", |log| log[0]["end"] == "dropped");
}

/// Requests are retried only if nothing can have been billed.
#[test]
fn only_free_requests_are_retried() {
    let (_world, simulator) = setup();
    let count = |question: &str| {
        let log = simulator.log();
        log.iter()
            .filter(|record| record["body"]["messages"][0]["content"] == question)
            .count()
    };
    let cases: &[(&str, &str, i32, usize)] = &[
        ("ask", "error-429-rate", 0, 2),
        ("research", "error-429-rate", 0, 2),
        ("ask", "error-429-rate+always", 4, 4),
        ("ask", "error-500+once", 0, 2),
        ("ask", "error-503", 5, 4),
        ("research", "error-500+once", 5, 1),
        ("ask", "error-429-quota", 4, 1),
        ("ask", "error-402", 4, 1),
        ("ask", "reset", 5, 1),
        ("ask", "redirect", 5, 1),
    ];
    each(cases, |(command, scenario, exit, requests)| {
        let question = format!("sim:{scenario} {command}?");
        let ran = World::new().call(&simulator, &[command, &question]);
        assert_eq!(ran.code, Some(*exit), "{command} {scenario}: {ran:?}");
        assert_eq!(count(&question), *requests, "{command} {scenario}");
    });
}

/// Every golden vector over a real socket, unchanged, compressed, and split at random positions.
#[test]
fn every_vector_has_its_outcome() {
    let (_world, simulator) = setup();
    let mut vectors: Vec<PathBuf> =
        std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/answers"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "sse"))
            .collect();
    vectors.sort();
    assert!(vectors.len() > 100);
    each(&vectors, |path| {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let expected: Value =
            serde_json::from_slice(&std::fs::read(path.with_extension("json")).unwrap()).unwrap();
        let command = if expected["mode"] == "research" {
            "research"
        } else {
            "ask"
        };
        for variant in ["", "+gzip+split"] {
            let question = format!("sim:fixture/{name}{variant} why?");
            let ran = World::new().call(&simulator, &[command, "--json", &question]);
            let outcome = ran.json();
            assert_eq!(
                comparable(outcome, &expected),
                comparable(expected.clone(), &expected),
                "{name}{variant}"
            );
            assert_eq!(
                ran.code,
                Some(exit_of(&expected)),
                "{name}{variant}: {}",
                ran.err
            );
        }
    });
}

/// Removes messages that the vector does not specify, and reduces warnings to their codes.
fn comparable(mut outcome: Value, expected: &Value) -> Value {
    if expected["error"]["message"] == "*" {
        outcome["error"]["message"] = json!("*");
    }
    let codes = outcome["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|warning| warning["code"].clone())
        .collect();
    outcome["warnings"] = Value::Array(codes);
    outcome
}

fn exit_of(outcome: &Value) -> i32 {
    if outcome["error"].is_object() {
        5
    } else if outcome["complete"] == true && outcome["truncated"] == false {
        0
    } else {
        6
    }
}
