//! `ask` and `research` from outside, against the simulator: outcomes, exit statuses, messages.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::{KEY, Ran, Served, Simulated, World, finish, stream};
use serde_json::{Value, json};

fn at_once() -> (World, Simulated) {
    let world = World::new();
    let simulator = Simulated::start(&world, &["--pace", "0"]);
    (world, simulator)
}

#[test]
fn an_answer_with_its_sources_and_cost() {
    let world = World::new();
    let ran = world.run(&["ask", "--simulate", "--pace", "0", "Are tides predictable?"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for part in [
        "Are tides predictable",
        "[1]",
        "https://encyclopedia.example.org/wiki/",
        "Cost: $0.0",
    ] {
        assert!(ran.out.contains(part), "{part} is not in {ran:?}");
    }
    assert_eq!(ran.err, "");
    let json = world
        .run(&[
            "ask",
            "--simulate",
            "--pace",
            "0",
            "--json",
            "Are tides predictable?",
        ])
        .json();
    assert_eq!(json["mode"], "answer");
    assert_eq!(json["complete"], true);
    assert_eq!(json["sources"].as_array().unwrap().len(), 5);
    let plain = world.run(&[
        "ask",
        "--simulate",
        "--pace",
        "0",
        "--no-citations",
        "--markdown",
        "why?",
    ]);
    assert!(
        plain.code == Some(0) && !plain.out.contains("[1]"),
        "{plain:?}"
    );
}

#[test]
fn a_research_with_its_sources_and_cost() {
    let world = World::new();
    let ran = world.run(&["research", "--simulate", "--pace", "0", "tides"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for part in [
        "# tides",
        "https://journal.example.com/",
        "tides overview",
        "Cost: $0.3",
    ] {
        assert!(ran.out.contains(part), "{part} is not in {ran:?}");
    }
    let ran = world.run(&[
        "research",
        "--simulate",
        "--pace",
        "0",
        "--json",
        "--iterations",
        "1",
        "tides",
    ]);
    assert_eq!(ran.json()["progress"].as_array().unwrap().len(), 1);
    let spend = world.run(&["spend", "--json"]).json();
    assert_eq!(spend["total"]["calls"], 2, "{spend}");
}

/// What the options become on the wire, and defaults as documented.
#[test]
fn options_reach_the_request() {
    let (world, simulator) = at_once();
    let ran = world.call(
        &simulator,
        &[
            "ask",
            "--country",
            "DE",
            "--language",
            "de",
            "--no-citations",
            "warum",
            "so?",
        ],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = world.call(
        &simulator,
        &[
            "research",
            "--iterations",
            "2",
            "--seconds",
            "60",
            "--queries",
            "3",
            "--tokens-per-query",
            "2048",
            "--results-per-query",
            "10",
            "--no-thinking",
            "why?",
        ],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = world.call(&simulator, &["research", "why?"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let log = simulator.log();
    let names = log[0]["header_names"].as_array().unwrap();
    for name in [
        "x-subscription-token",
        "accept-encoding",
        "accept",
        "content-type",
    ] {
        assert_eq!(
            names.iter().filter(|sent| *sent == name).count(),
            1,
            "{name} in {names:?}"
        );
    }
    let message = |text: &str| json!([{"role": "user", "content": text}]);
    assert_eq!(
        log[0]["body"],
        json!({"messages": message("warum so?"), "model": "brave", "stream": true, "country": "DE", "language": "de",
               "enable_citations": false})
    );
    assert_eq!(
        log[1]["body"],
        json!({"messages": message("why?"), "model": "brave", "stream": true, "enable_research": true,
               "research_allow_thinking": false, "research_maximum_number_of_iterations": 2,
               "research_maximum_number_of_seconds": 60, "research_maximum_number_of_queries": 3,
               "research_maximum_number_of_tokens_per_query": 2048,
               "research_maximum_number_of_results_per_query": 10})
    );
    for (name, default) in [
        ("iterations", 4),
        ("seconds", 180),
        ("queries", 20),
        ("tokens_per_query", 8192),
        ("results_per_query", 60),
    ] {
        assert_eq!(
            log[2]["body"][format!("research_maximum_number_of_{name}")],
            default
        );
    }
    assert_eq!(log[2]["body"]["research_allow_thinking"], true);
}

/// Each wrong input: one sentence that says what to do, and its exit status. Nothing is sent.
#[test]
fn bad_input_is_explained() {
    let (world, simulator) = at_once();
    let url = simulator.url.as_str();
    let cases: &[(&[&str], &[(&str, &str)], i32, &str)] = &[
        (&["ask"], &[], 2, "QUESTION"),
        (&["ask", ""], &[], 2, "the question is empty"),
        (&["ask", "  ", " "], &[], 2, "the question is empty"),
        (&["ask", "-"], &[], 2, "the question is empty"),
        (&["ask", "why?"], &[], 3, "no API key"),
        (&["research", "why?"], &[], 3, "BRAVE_ANSWERS_KEY_FILE"),
        (
            &["ask", "why?"],
            &[("BRAVE_ANSWERS_KEY", "${BRAVE_KEY}")],
            3,
            "placeholder",
        ),
        (
            &["ask", "why?"],
            &[("BRAVE_ANSWERS_KEY", "{env:BRAVE_KEY}")],
            3,
            "placeholder",
        ),
        (&["ask", "why?"], &[("BRAVE_ANSWERS_KEY", "  ")], 3, "blank"),
        (
            &["ask", "why?"],
            &[("BRAVE_ANSWERS_KEY_FILE", "/nowhere")],
            3,
            "cannot read the key file",
        ),
        (
            &["ask", "--country", "germany", "why?"],
            &[("BRAVE_API_KEY", KEY)],
            2,
            "country",
        ),
        (
            &["research", "--queries", "51", "why?"],
            &[("BRAVE_API_KEY", KEY)],
            2,
            "--queries must be from 1 to 50",
        ),
        (
            &["research", "--iterations", "0", "why?"],
            &[("BRAVE_API_KEY", KEY)],
            2,
            "1",
        ),
        (
            &["research", "--seconds", "-1", "why?"],
            &[("BRAVE_API_KEY", KEY)],
            2,
            "--seconds must be from 1 to 300",
        ),
        (&["ask", "--max-usd", "much", "why?"], &[], 2, "amount"),
        (&["ask", "--max-usd", "-1", "why?"], &[], 2, "amount"),
        (
            &["ask", "--max-usd", "0.01", "why?"],
            &[("BRAVE_API_KEY", KEY)],
            4,
            "--max-usd",
        ),
        (
            &["research", "--budget-usd-per-day", "1", "why?"],
            &[("BRAVE_API_KEY", KEY)],
            4,
            "budget",
        ),
        (
            &["ask", "why?"],
            &[("GLOVEBOX_UPSTREAM", "http://api.search.brave.com")],
            2,
            "plain http",
        ),
        (
            &[
                "ask",
                "--upstream",
                "https://api.search.brave.com/res/v1",
                "why?",
            ],
            &[],
            2,
            "origin",
        ),
        (
            &["ask", "--output", "/nowhere/answer", "why?"],
            &[("BRAVE_API_KEY", KEY)],
            2,
            "no folder /nowhere; nothing was sent",
        ),
        (
            &["ask", "--component", "/nowhere.wasm", "why?"],
            &[],
            2,
            "is not a file",
        ),
    ];
    for (args, environment, exit, message) in cases {
        let mut command = world.command(args);
        command
            .env("GLOVEBOX_UPSTREAM", url)
            .envs(environment.iter().copied());
        let ran = Ran::of(command.output().unwrap());
        assert_eq!(ran.code, Some(*exit), "{args:?}: {ran:?}");
        assert!(ran.err.contains(message), "{args:?}: {ran:?}");
        assert_eq!(ran.out, "", "{args:?}");
    }
    assert_eq!(simulator.log().len(), 0);
}

#[test]
fn standard_input_and_an_output_file() {
    let (world, simulator) = at_once();
    let mut child = world
        .calling(
            &simulator,
            &["ask", "-", "--json", "--output", "answer.json"],
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all("Woher kommt\nEbbe?\n".as_bytes())
        .unwrap();
    let ran = finish(child);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{ran:?}");
    let text = std::fs::read_to_string(world.path().join("answer.json")).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&text).unwrap()["complete"],
        true
    );
    assert_eq!(
        simulator.log()[0]["body"]["messages"][0]["content"],
        "Woher kommt\nEbbe?"
    );
}

#[test]
fn a_dry_run_shows_all_but_the_key_and_sends_nothing() {
    let (world, simulator) = at_once();
    let ran = world.call(
        &simulator,
        &["research", "--dry-run", "--queries", "5", "why?"],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for part in [
        "POST http://127.0.0.1:",
        "/res/v1/chat/completions",
        "x-subscription-token: (from BRAVE_ANSWERS_KEY)",
        "$0.40",
    ] {
        assert!(ran.out.contains(part), "{part} is not in {ran:?}");
    }
    let json = world.call(&simulator, &["ask", "--dry-run", "--json", "why?"]);
    assert_eq!(json.json()["worst_cost_usd"], 0.06);
    assert!(!format!("{ran:?}{json:?}").contains(KEY));
    assert_eq!(simulator.log().len(), 0);
    let bad = world.call(
        &simulator,
        &["research", "--dry-run", "--queries", "99", "why?"],
    );
    assert_eq!(bad.code, Some(2), "{bad:?}");
}

#[cfg(unix)]
fn interrupt(child: &Child) {
    let status = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

#[cfg(unix)]
#[test]
fn an_interrupt_reaches_the_upstream_and_what_had_come_is_printed() {
    let (world, simulator) = at_once();
    for (replies, command, shown) in [(1, "ask", "Are tides"), (2, "research", "")] {
        let question = format!("sim:stall Are tides predictable, {command}?");
        let child = world
            .calling(&simulator, &[command, &question])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mine = |log: &[Value]| {
            log.iter()
                .find(|record| record["body"]["messages"][0]["content"] == question)
                .cloned()
        };
        simulator.wait_for("the call", |log| {
            mine(log).is_some_and(|record| record["bytes_sent"].as_u64() > Some(1000))
        });
        // The reader is a moment behind the sender.
        world.wait_for_captures(replies, 1000);
        interrupt(&child);
        let asked = Instant::now();
        simulator.wait_for("the drop", |log| {
            mine(log).is_some_and(|record| record["end"] == "dropped")
        });
        let limit = if command == "ask" { 500 } else { 1000 };
        assert!(
            asked.elapsed() < Duration::from_millis(limit),
            "{command}: {:?}",
            asked.elapsed()
        );
        let ran = finish(child);
        assert_eq!(ran.code, Some(130), "{ran:?}");
        assert!(
            ran.out.contains(shown) && ran.err.contains("kept"),
            "{ran:?}"
        );
    }
}

#[test]
fn nothing_that_commands_a_terminal_is_printed() {
    let evil = "\\u001b]0;title\\u0007\\u001b[2Jtext\\u009b31m\\u0008\\rline\\nnext\\ttab";
    let served = Served::start(stream(&[evil]));
    let world = World::new();
    for format in ["--markdown", "--output=plain.txt"] {
        let mut command = world.command(&["ask", format, "why?"]);
        command
            .env("GLOVEBOX_UPSTREAM", &served.url)
            .env("BRAVE_API_KEY", KEY);
        let ran = Ran::of(command.output().unwrap());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let text = if format == "--markdown" {
            ran.out
        } else {
            std::fs::read_to_string(world.path().join("plain.txt")).unwrap()
        };
        assert!(text.contains("text31mline\nnext\ttab"), "{text:?}");
        assert!(
            !text.contains(|letter: char| letter.is_control() && !matches!(letter, '\n' | '\t')),
            "{text:?}"
        );
    }
}

/// A worker that is detached goes on by itself; asking the same again finds it.
#[test]
fn a_detached_research_is_one_job() {
    let world = World::new();
    let simulator = Simulated::start(&world, &["--pace", "0.01"]);
    let first = world.call(&simulator, &["research", "--detach", "--json", "tides"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    let id = first.json()["research_id"].as_str().unwrap().to_owned();
    let second = world.call(&simulator, &["research", "--detach", "tides"]);
    assert_eq!(second.out.trim(), id, "{second:?}");
    let result = world.call(
        &simulator,
        &["jobs", "result", &id, "--wait", "60", "--json"],
    );
    assert_eq!(result.code, Some(0), "{result:?}");
    assert_eq!(simulator.log().len(), 1);
}

/// Who asks for what runs already only waits for it: an interrupt ends the wait, not the work.
#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_wait_for_another_ones_research_alone() {
    let (world, simulator) = at_once();
    let question = "sim:stall tides";
    let first = world.call(&simulator, &["research", "--detach", question]);
    assert_eq!(first.code, Some(0), "{first:?}");
    let id = first.out.trim();
    simulator.wait_for("the call", |log| log.len() == 1);
    let mut second = world
        .calling(&simulator, &["research", question])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = String::new();
    let mut errors = BufReader::new(second.stderr.take().unwrap());
    errors.read_line(&mut told).unwrap();
    assert!(
        told.contains("running already") && told.contains(id),
        "{told}"
    );
    interrupt(&second);
    errors.read_to_string(&mut told).unwrap();
    let ran = finish(second);
    assert_eq!(ran.code, Some(130), "{ran:?} {told}");
    assert!(told.contains("goes on under the id"), "{told}");
    assert_eq!(simulator.log()[0]["end"], Value::Null);
    let cancelled = world.call(&simulator, &["jobs", "cancel", id]);
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    simulator.wait_for("the drop", |log| log[0]["end"] == "dropped");
}
