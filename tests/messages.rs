//! What the program says where something is wrong or odd, in one set of snapshots: it must read as plain English and say
//! what to do.

use crate::support::{KEY, Ran, World};

/// What is run, and in which environment.
struct Case {
    name: &'static str,
    words: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
}

const fn case(name: &'static str, words: &'static [&'static str]) -> Case {
    Case {
        name,
        words,
        env: &[],
    }
}

const fn with(
    name: &'static str,
    words: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
) -> Case {
    Case { name, words, env }
}

/// The beginning of an id that no job has.
const NO_JOB: &str = "0192f0c1-7a3e-7c55-9f4e-0d2b6a1e8c11";
const KEYED: &[(&str, &str)] = &[("BRAVE_ANSWERS_KEY", KEY)];

fn cases() -> Vec<Case> {
    vec![
        case("no-key-ask", &["ask", "why?"]),
        case("no-key-research", &["research", "why?"]),
        case("no-key-run", &["run", "component.wasm"]),
        case("no-key-dry-run", &["ask", "--dry-run", "why?"]),
        with(
            "key-of-the-search-api",
            &["doctor", "--offline"],
            &[("BRAVE_SEARCH_API_KEY", KEY)],
        ),
        case("empty-question", &["ask", " "]),
        case("unknown-job", &["jobs", "status", NO_JOB]),
        case("no-id", &["jobs", "status", "x"]),
        case("latest-of-none", &["jobs", "result", "latest"]),
        case("no-jobs", &["jobs"]),
        case("no-calls", &["jobs", "list", "--all"]),
        case("nothing-spent", &["spend"]),
        case(
            "negative-budget",
            &["ask", "--budget-usd-per-day", "-1", "why?"],
        ),
        case("bad-time", &["ask", "--keep", "soon", "why?"]),
        with(
            "over-max-usd-research",
            &["research", "--max-usd", "1", "why?"],
            KEYED,
        ),
        with(
            "over-max-usd-ask",
            &["ask", "--max-usd", "0.01", "why?"],
            KEYED,
        ),
        with(
            "over-budget",
            &["ask", "--budget-usd-per-day", "0.01", "why?"],
            KEYED,
        ),
        case("replay-missing-file", &["replay", "none.sse"]),
        case("replay-no-stream", &["replay", "notes.txt"]),
        case("web-not-loopback", &["web", "--listen", "0.0.0.0:0"]),
        case("web-unknown-job", &["web", NO_JOB]),
        case("connect-list", &["connect"]),
        case(
            "connect-nothing-to-remove",
            &["connect", "cursor", "--remove"],
        ),
        case("connect-skill", &["connect", "--skill"]),
        case(
            "connect-key-as-name",
            &["connect", "codex", "--key-env", "a b"],
        ),
        case(
            "no-answer",
            &["ask", "--simulate", "--pace", "0", "sim:no-answer why?"],
        ),
        case(
            "no-answer-markdown",
            &[
                "ask",
                "--simulate",
                "--pace",
                "0",
                "--markdown",
                "sim:no-answer why?",
            ],
        ),
        case(
            "broken-stream",
            &["ask", "--simulate", "--pace", "0", "sim:reset why?"],
        ),
        case(
            "error-event",
            &[
                "ask",
                "--simulate",
                "--pace",
                "0",
                "sim:error-midstream why?",
            ],
        ),
        case(
            "output-says-what-it-wrote",
            &[
                "ask",
                "--simulate",
                "--pace",
                "0",
                "-o",
                "answer.txt",
                "sim:plain why?",
            ],
        ),
        case(
            "simulated-cost",
            &["ask", "--simulate", "--pace", "0", "sim:citations why?"],
        ),
        case(
            "simulated-cost-markdown",
            &[
                "ask",
                "--simulate",
                "--pace",
                "0",
                "--markdown",
                "sim:citations why?",
            ],
        ),
        with("live-without-a-terminal", &["doctor", "--live"], KEYED),
    ]
}

/// The output with what differs between two runs replaced.
fn shown(world: &World, ran: &Ran) -> String {
    let text = format!(
        "exit status {}\n--- standard output\n{}--- standard error\n{}",
        ran.code.unwrap_or(-1),
        ran.out,
        ran.err
    );
    let text = text.replace(&world.path().display().to_string(), "[folder]");
    let program = env!("CARGO_BIN_EXE_glovebox");
    masked_ids(&text.replace(program, "[program]"))
}

/// Replaces ids, times and ports.
fn masked_ids(text: &str) -> String {
    let mut out = String::new();
    for word in
        text.split_inclusive(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '-'))
    {
        let body = word
            .trim_end_matches(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '-'));
        let is_id = body.len() == 36 && body.matches('-').count() == 4 && body != NO_JOB;
        out.push_str(&if is_id {
            word.replace(body, "[id]")
        } else {
            word.to_owned()
        });
    }
    out.lines()
        .filter(|line| !line.contains("compiled in") && !line.contains("cache"))
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

#[test]
fn every_message() {
    for case in cases() {
        let world = World::new();
        std::fs::write(world.path().join("notes.txt"), "Dear diary\n").unwrap();
        let mut command = world.command(case.words);
        command.envs(case.env.iter().copied());
        // Nothing may leave this machine: with a key, calls would.
        command.env("GLOVEBOX_UPSTREAM", "http://127.0.0.1:9");
        let ran = Ran::of(command.output().unwrap());
        insta::assert_snapshot!(format!("message-{}", case.name), shown(&world, &ran));
    }
}

#[test]
fn a_job_is_found_by_the_beginning_of_its_id_and_as_the_latest() {
    let world = World::new();
    let simulate = ["research", "--simulate", "--pace", "0", "--json"];
    let first = world.run(&[&simulate[..], &["one"]].concat());
    assert_eq!(first.code, Some(0), "{first:?}");
    let second = world.run(&[&simulate[..], &["two"]].concat());
    assert_eq!(second.code, Some(0), "{second:?}");
    let jobs = world.run(&["jobs", "list", "--json"]).json();
    let id = |at: usize| jobs[at]["research_id"].as_str().unwrap().to_owned();
    assert_eq!(jobs[0]["query"], "two");
    for (words, query) in [
        (["jobs", "show", "latest"], "two"),
        (["jobs", "status", &id(1)[..18]], "one"),
        (["jobs", "show", &id(0).to_uppercase()], "two"),
    ] {
        let ran = world.run(&[&words[..], &["--json"]].concat());
        assert_eq!(ran.json()["query"], query, "{words:?}");
    }
    let both = world.run(&["jobs", "status", &id(0)[..6]]);
    assert_eq!(both.code, Some(1), "{both:?}");
    assert!(both.err.contains("more than one job"), "{both:?}");
    let removed = world.run(&["jobs", "rm", "latest"]);
    assert_eq!(removed.code, Some(0), "{removed:?}");
    let gone = world.run(&["jobs", "status", &id(0)]);
    assert!(gone.err.contains("were removed"), "{gone:?}");
    let waited = world.run(&["jobs", "wait", "latest", "--json"]);
    assert_eq!(waited.code, Some(0), "{waited:?}");
}
