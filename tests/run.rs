//! `glovebox run`: what a component can access, and what stops it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::command::{self, QuestionOptions};
use crate::support::{KEY, Ran, Served, Simulator, World, finish, http, read_request};

/// The value of the key variable in the environment of the guest.
const PLACEHOLDER: &str = "glovebox-puts-the-key-here";

/// Returns the path of the component that asks a question.
pub fn ask() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guest/dist/ask.wasm");
    path.display().to_string()
}

/// Encodes a text module as a command component.
fn component(world: &World, module: &str) -> String {
    let text = format!(
        r#"(component
             (core module $m {module})
             (core instance $i (instantiate $m))
             (func $run (result (result)) (canon lift (core func $i "run")))
             (instance $run-instance (export "run" (func $run)))
             (export "wasi:cli/run@0.2.0" (instance $run-instance)))"#
    );
    let path: PathBuf = world.path().join("bad.wasm");
    std::fs::write(&path, wat::parse_str(text).unwrap()).unwrap();
    path.display().to_string()
}

#[test]
fn an_answer_through_the_sandbox() {
    let world = World::new();
    let simulator = Simulator::start("0");
    let ran = world.call(
        &simulator,
        &["run", &ask(), "sim:citations", "iron", "bridges"],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.out.contains("[1]") && ran.out.ends_with('\n'),
        "{ran:?}"
    );
    assert!(
        ran.err.contains("[1] http") && ran.err.contains("cost: $0.0"),
        "{ran:?}"
    );
    let log = simulator.log();
    assert_eq!(log.len(), 1, "{log:?}");
}

#[test]
fn research_as_json_equals_that_of_the_host() {
    let world = World::new();
    let simulator = Simulator::start("0");
    let ran = world.call(
        &simulator,
        &["run", &ask(), "--research", "--json", "sim:research-3 heat"],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let expected = include_str!("../fixtures/answers/research-3.json");
    let expected: serde_json::Value = serde_json::from_str(expected).unwrap();
    assert_eq!(ran.json(), expected);
}

#[test]
fn the_simulator_can_be_its_upstream() {
    let ran = World::new().run(&["--simulate", "--pace", "0", "run", &ask(), "tides"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn the_guest_never_holds_the_key() {
    let world = World::new();
    // An origin that returns the request.
    let echo = Served::with(|mut stream| {
        let request = read_request(&mut stream).to_lowercase();
        let line = |name: &str| {
            request
                .lines()
                .find(|line| line.starts_with(name))
                .unwrap_or_default()
                .to_owned()
        };
        let token = line("x-subscription-token");
        let real = request.contains(&KEY.to_lowercase());
        // Split the key between two writes and change its case, as an echo may do.
        let (first, second) = KEY.split_at(7);
        let body = format!("{token} {real} {first}");
        let reply = http(&format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{body}{second} end\"}}}}]}}\n\ndata: [DONE]\n\n"
        ));
        let text = String::from_utf8(reply).unwrap();
        let at = text.find(first).unwrap() + first.len();
        for part in [&text[..at], &text[at..]] {
            stream.write_all(part.as_bytes()).unwrap();
            stream.flush().unwrap();
        }
    });
    let mut command = world.command(&["run", &ask(), "x"]);
    command
        .env("GLOVEBOX_UPSTREAM", &echo.url)
        .env("BRAVE_ANSWERS_KEY", KEY);
    let ran = Ran::of(command.output().unwrap());
    assert!(
        ran.out.contains(" true "),
        "the origin did not get the key: {ran:?}"
    );
    assert!(ran.out.contains(&format!("{PLACEHOLDER} end")), "{ran:?}");
    assert!(!ran.out.contains(KEY) && !ran.err.contains(KEY), "{ran:?}");
}

#[test]
fn another_origin_is_named_and_never_connected_to() {
    let world = World::new();
    let simulator = Simulator::start("0");
    let other = Served::start(http("data: [DONE]\n\n"));
    let ran = world.call(&simulator, &["run", &ask(), "--upstream", &other.url, "x"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.err.contains(&other.url)
            && ran.err.contains("GLOVEBOX_UPSTREAM")
            && ran.err.contains("--upstream"),
        "{ran:?}"
    );
    assert_eq!(other.connections(), 0);
    assert_eq!(simulator.log().len(), 0);
}

#[test]
fn requests_beyond_the_limit_are_refused() {
    let world = World::new();
    let simulator = Simulator::start("0");
    let ran = world.call(&simulator, &["run", "--max-requests", "0", &ask(), "x"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("--max-requests"), "{ran:?}");
    assert_eq!(simulator.log().len(), 0);
}

#[test]
fn a_redirect_is_returned_and_not_followed() {
    let world = World::new();
    let simulator = Simulator::start("0");
    let ran = world.call(&simulator, &["run", &ask(), "sim:redirect", "x"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("redirect"), "{ran:?}");
    assert_eq!(simulator.log().len(), 1);
}

#[test]
fn an_invalid_key_and_a_broken_stream_are_reported() {
    let world = World::new();
    let simulator = Simulator::start("0");
    for (scenario, words) in [
        ("sim:error-422-key", "key"),
        ("sim:error-midstream", "error"),
        ("sim:reset", "broke off"),
        ("sim:length", "length"),
    ] {
        let ran = world.call(&simulator, &["run", &ask(), scenario, "x"]);
        assert_eq!(ran.code, Some(1), "{scenario}: {ran:?}");
        assert!(ran.err.contains(words), "{scenario}: {ran:?}");
    }
}

#[test]
fn a_gzipped_reply_is_read() {
    let world = World::new();
    let simulator = Simulator::start("0");
    let ran = world.call(&simulator, &["run", &ask(), "sim:gzip", "x"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn it_has_no_other_environment_and_reports_a_missing_key() {
    let world = World::new();
    let mut command = world.command(&["run", &ask(), "x"]);
    command.env("GLOVEBOX_UPSTREAM", "http://127.0.0.1:1");
    let ran = Ran::of(command.output().unwrap());
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.err.contains("no API key is set"), "{ran:?}");
}

#[test]
fn an_endless_loop_reaches_the_cpu_limit() {
    let world = World::new();
    let bad = component(
        &world,
        r#"(func (export "run") (result i32) (loop $l (br $l)) (i32.const 0))"#,
    );
    let start = Instant::now();
    let ran = world.run(&["run", &bad]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("own time"), "{ran:?}");
    assert!(
        start.elapsed() > Duration::from_secs(9),
        "{:?}",
        start.elapsed()
    );
}

/// The total time limit is enforced while the guest runs.
#[test]
fn an_endless_loop_ends_with_the_total_time() {
    let world = World::new();
    let bad = component(
        &world,
        r#"(func (export "run") (result i32) (loop $l (br $l)) (i32.const 0))"#,
    );
    let ran = world.run(&["run", "--max-seconds", "1", &bad]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.err.contains("within 1 s; --max-seconds allows more"),
        "{ran:?}"
    );
}

#[test]
fn a_giant_table_is_refused() {
    let world = World::new();
    let bad = component(
        &world,
        r#"(table 1000001 funcref) (func (export "run") (result i32) (i32.const 0))"#,
    );
    let ran = world.run(&["run", &bad]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.err
            .contains("asked for more than 1000000 table elements"),
        "{ran:?}"
    );
}

#[test]
fn waiting_does_not_count_as_cpu_time() {
    let world = World::new();
    // At this pace the reply takes longer than the CPU limit of the guest.
    let simulator = Simulator::start("1.5");
    let start = Instant::now();
    let ran = world.call(&simulator, &["run", &ask(), "tides"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        start.elapsed() > Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_stalled_upstream_ends_with_the_total_time() {
    let world = World::new();
    let simulator = Simulator::start("0");
    let ran = world.call(
        &simulator,
        &["run", "--max-seconds", "2", &ask(), "sim:stall", "x"],
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("--max-seconds"), "{ran:?}");
    simulator.wait_for_log("the connection gone", |log| {
        log.iter()
            .all(|entry| !entry["end"].is_null() || !entry["ended"].is_null())
    });
}

#[test]
fn the_memory_limit_is_enforced_and_named() {
    let world = World::new();
    let bad = component(
        &world,
        r#"(memory 1)
           (func (export "run") (result i32)
             (loop $more (br_if $more (i32.ne (memory.grow (i32.const 256)) (i32.const -1))))
             unreachable)"#,
    );
    let ran = world.run(&["run", &bad]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("256 MiB of memory"), "{ran:?}");
}

#[test]
fn a_trap_differs_from_a_reported_failure() {
    let world = World::new();
    let trap = world.run(&[
        "run",
        &component(&world, r#"(func (export "run") (result i32) unreachable)"#),
    ]);
    assert_eq!(trap.code, Some(1), "{trap:?}");
    assert!(
        trap.err
            .contains("the component wasi:cli/command failed (unreachable)"),
        "{trap:?}"
    );
    let fails = world.run(&[
        "run",
        &component(
            &world,
            r#"(func (export "run") (result i32) (i32.const 1))"#,
        ),
    ]);
    assert_eq!((fails.code, fails.err.as_str()), (Some(1), ""), "{fails:?}");
    let works = world.run(&[
        "run",
        &component(
            &world,
            r#"(func (export "run") (result i32) (i32.const 0))"#,
        ),
    ]);
    assert_eq!((works.code, works.err.as_str()), (Some(0), ""), "{works:?}");
}

#[test]
fn a_file_that_is_not_a_command_is_refused_with_the_reason() {
    let world = World::new();
    let parser = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guest/dist/answers.wasm");
    let ran = world.run(&["run", &parser.display().to_string()]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.err
            .contains("cannot be used as a component of the world wasi:cli/command")
            && ran.err.contains("wasm32-wasip2"),
        "{ran:?}"
    );
    let gone = world.run(&["run", "not-there.wasm"]);
    assert!(
        gone.code == Some(1) && gone.err.contains("it cannot be read"),
        "{gone:?}"
    );
}

#[test]
fn a_request_counts_and_one_beyond_the_budget_is_refused_with_the_sum() {
    let world = World::new();
    let simulator = Simulator::start("0");
    let budget = ["--budget-usd-per-day", "0.10", "run"];
    let first = world.call(&simulator, &[&budget[..], &[&ask(), "x"]].concat());
    assert_eq!(first.code, Some(0), "{first:?}");
    // The host does not read the cost of a stream that a component gets, so the reservation of $0.06 remains.
    let second = world.call(&simulator, &[&budget[..], &[&ask(), "x"]].concat());
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(
        second.err.contains("0.06") && second.err.contains("--budget-usd-per-day"),
        "{second:?}"
    );
    let research = world.call(
        &simulator,
        &[&budget[..], &[&ask(), "--research", "x"]].concat(),
    );
    assert!(
        research.code == Some(1) && research.err.contains("1.6"),
        "{research:?}"
    );
    assert_eq!(simulator.log().len(), 1);
    let refused = world.call(&simulator, &["run", &ask(), "sim:error-402", "x"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let spend = world.run(&["spend", "--json"]);
    let tools = spend.json()["tools"].clone();
    let run = tools
        .as_array()
        .unwrap()
        .iter()
        .find(|tool| tool["tool"] == "run")
        .unwrap();
    assert_eq!(
        (run["calls"].as_i64(), run["unknown_calls"].as_i64()),
        (Some(2), Some(1)),
        "{tools}"
    );
    let jobs = world.run(&["jobs", "list", "--all", "--json"]);
    assert_eq!(jobs.code, Some(0), "{jobs:?}");
}

/// Starts a server that answers every request and records the heads of all requests.
fn record_heads() -> (Served, Arc<Mutex<Vec<String>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&seen);
    let served = Served::with(move |mut stream| {
        let head = read_request(&mut stream);
        keep.lock().unwrap().push(head);
        let _ = stream.write_all(&http("data: [DONE]\n\n"));
    });
    (served, seen)
}

fn run_against(world: &World, upstream: &str, args: &[&str]) -> Ran {
    let mut command = world.command(args);
    command
        .env("GLOVEBOX_UPSTREAM", upstream)
        .env("BRAVE_ANSWERS_KEY", KEY);
    Ran::of(command.output().unwrap())
}

#[test]
fn the_host_header_is_the_origin_s_and_no_user_name_passes() {
    let world = World::new();
    let (served, seen) = record_heads();
    let authority = served.url.strip_prefix("http://").unwrap();
    let asking = |authority: &str| {
        command::asking(
            world.path(),
            &QuestionOptions {
                method: 0,
                authority,
                requests: 1,
                body_kib: 0,
            },
        )
    };
    let honest = run_against(&world, &served.url, &["run", &asking(authority)]);
    assert_eq!(honest.code, Some(0), "{honest:?}");
    let head = seen.lock().unwrap().pop().unwrap().to_lowercase();
    assert!(head.contains(&format!("host: {authority}\r\n")), "{head}");
    for user in ["evil.example@", "evil.example:80@", "a:b@", "@"] {
        let hostile = format!("{user}{authority}");
        let ran = run_against(&world, &served.url, &["run", &asking(&hostile)]);
        assert!(ran.err.contains("a user name in its address"), "{ran:?}");
    }
    assert!(seen.lock().unwrap().is_empty(), "{seen:?}");
}

#[test]
fn only_get_head_and_post_are_allowed() {
    let world = World::new();
    let (served, seen) = record_heads();
    let authority = served.url.strip_prefix("http://").unwrap();
    for (method, name) in [
        (0, "GET"),
        (1, "HEAD"),
        (2, "POST"),
        (3, "PUT"),
        (4, "DELETE"),
        (5, "CONNECT"),
        (6, "OPTIONS"),
        (7, "TRACE"),
        (8, "PATCH"),
    ] {
        let guest = command::asking(
            world.path(),
            &QuestionOptions {
                method,
                authority,
                requests: 1,
                body_kib: 0,
            },
        );
        let ran = run_against(&world, &served.url, &["run", &guest]);
        let head = seen.lock().unwrap().pop();
        if method <= 2 {
            assert!(head.unwrap().starts_with(&format!("{name} / ")), "{ran:?}");
        } else {
            assert_eq!(head, None, "{name}");
            assert!(
                ran.err.contains(&format!("the method {name}")) && ran.err.contains("POST"),
                "{ran:?}"
            );
        }
    }
}

#[test]
fn the_bodies_of_open_requests_are_bounded_together() {
    let world = World::new();
    let (served, seen) = record_heads();
    let guest = command::asking(
        world.path(),
        &QuestionOptions {
            method: 2,
            authority: served.url.strip_prefix("http://").unwrap(),
            requests: 40,
            body_kib: 1024,
        },
    );
    let args = ["run", "--max-requests", "1000", &guest];
    let ran = run_against(&world, &served.url, &args);
    let refused = ran.err.matches("the bodies of all open requests").count();
    // Eight bodies of the largest size fit. None of the others is read.
    assert_eq!(refused, 32, "{ran:?}");
    assert!(seen.lock().unwrap().is_empty());
    // A single body is limited as well, and its request is not counted.
    let guest = command::asking(
        world.path(),
        &QuestionOptions {
            method: 2,
            authority: served.url.strip_prefix("http://").unwrap(),
            requests: 3,
            body_kib: 2048,
        },
    );
    let ran = run_against(&world, &served.url, &["run", &guest]);
    let refused = ran.err.matches("a request body of more than").count();
    assert_eq!(refused, 3, "{ran:?}");
}

#[test]
fn a_time_limit_that_overflows_is_invalid_usage() {
    let world = World::new();
    for seconds in ["18446744073709551615", "86401", "0", "-1", "1e3", "soon"] {
        let limit = format!("--max-seconds={seconds}");
        let ran = world.run(&["run", &limit, &ask(), "x"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains("--max-seconds"), "{ran:?}");
    }
}

#[cfg(unix)]
#[test]
fn only_a_regular_file_is_read_as_a_component() {
    let world = World::new();
    let pipe = world.path().join("pipe.wasm");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    for path in [pipe.as_path(), world.path(), Path::new("/dev/zero")] {
        let child = world
            .command(&["run", &path.display().to_string()])
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let ran = finish(child);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains("not a regular file"), "{ran:?}");
    }
}

#[test]
fn the_time_to_compile_counts() {
    let world = World::new();
    // A module that takes seconds to compile and does nothing.
    let mut module = String::from("(func (export \"run\") (result i32) (i32.const 0))");
    let adds =
        "(local.set 0 (i32.add (local.get 0) (i32.mul (local.get 0) (local.get 1))))".repeat(2000);
    for _ in 0..300 {
        module.push_str(&format!(
            "(func (param i32 i32) (result i32) {adds} (local.get 0))"
        ));
    }
    let slow = component(&world, &module);
    let ran = world.run(&["run", "--max-seconds", "1", &slow]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("within 1 s"), "{ran:?}");
}

#[test]
fn the_configured_rate_is_enforced() {
    let world = World::new();
    let simulator = Simulator::start("0");
    let children: Vec<_> = (0..4)
        .map(|_| {
            let args = ["--requests-per-second", "1", "run", &ask(), "x"];
            world.calling(&simulator, &args).spawn().unwrap()
        })
        .collect();
    for child in children {
        assert_eq!(finish(child).code, Some(0));
    }
    let mut times: Vec<u64> = simulator
        .log()
        .iter()
        .map(|record| record["at_ms"].as_u64().unwrap())
        .collect();
    times.sort_unstable();
    assert_eq!(times.len(), 4);
    for pair in times.windows(2) {
        assert!(pair[1] - pair[0] >= 1000, "two within a second: {times:?}");
    }
}

#[test]
fn simulated_requests_cost_no_money() {
    let world = World::new();
    let ran = world.run(&[
        "--simulate",
        "--pace",
        "0",
        "--budget-usd-per-day",
        "0.01",
        "run",
        &ask(),
        "x",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let spend = world.run(&["spend", "--json"]).json();
    assert_eq!(spend["total"]["calls"], 0, "{spend:#}");
    assert_eq!(spend["simulated"]["calls"], 1);
}
