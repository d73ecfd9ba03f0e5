//! The key appears nowhere: not on a stream, not in a log at trace level, not in a file, not at the simulator.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{KEY, Ran, Simulated, World, each};

/// Every scenario that is no vector, and some that are.
const SCENARIOS: [&str; 24] = [
    "auto",
    "citations+gzip",
    "research-3",
    "length",
    "no-answer",
    "reset",
    "stall",
    "huge-line",
    "gzip",
    "error-midstream",
    "error-400-plan",
    "error-402+docs",
    "error-403",
    "error-404",
    "error-422-key",
    "error-422-validation",
    "error-422-option",
    "error-429-rate",
    "error-429-quota",
    "error-500",
    "error-503",
    "html-502",
    "redirect",
    "html-200",
];

fn loudly(command: &mut Command) -> Ran {
    command
        .env("RUST_LOG", "trace")
        .env("RUST_BACKTRACE", "full");
    Ran::of(command.output().unwrap())
}

fn assert_clean(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let hex: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
    // As it is, in hexadecimal, in base64.
    for secret in [KEY, &hex, "QlNBcXRlc3RrZXkw"] {
        assert!(!text.contains(secret), "the key is in {what}");
    }
}

fn assert_files_clean(folder: &Path) -> usize {
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files += assert_files_clean(&path);
        } else if let Ok(bytes) = std::fs::read(&path) {
            assert_clean(&path.display().to_string(), &bytes);
            files += 1;
        }
    }
    files
}

#[test]
fn the_key_appears_nowhere() {
    let world = World::new();
    let simulator = Simulated::start(&world, &["--pace", "0"]);
    let cases: Vec<(&str, &str)> = SCENARIOS
        .iter()
        .flat_map(|scenario| [("ask", *scenario), ("research", *scenario)])
        .collect();
    each(&cases, |(command, scenario)| {
        try_scenario(&simulator, command, scenario)
    });
    for args in [
        &["doctor"][..],
        &["doctor", "--json"],
        &["ask", "--dry-run", "why?"],
        &["ask", "why?"],
        &["jobs", "list", "--all"],
        &["spend"],
    ] {
        let ran = loudly(&mut world.calling(&simulator, args));
        assert_clean(&format!("{args:?}"), format!("{ran:?}").as_bytes());
    }
    let log = simulator.log_text();
    assert!(log.contains("\"key_seen\":true"));
    assert_clean("the simulator's log", log.as_bytes());
    assert_files_clean(world.path());
}

/// In a state folder of its own, so that calls do not wait for each other.
fn try_scenario(simulator: &Simulated, command: &str, scenario: &str) {
    let world = World::new();
    let question = format!("sim:{scenario} why?");
    let ran =
        loudly(&mut world.calling(simulator, &[command, "--timeout-idle", "300ms", &question]));
    assert!(
        ran.code.is_some_and(|code| code < 100),
        "{scenario}: {ran:?}"
    );
    assert!(
        command == "research" || ran.err.contains("TRACE"),
        "no trace: {ran:?}"
    );
    assert_clean(
        &format!("{command} {scenario}: standard output"),
        ran.out.as_bytes(),
    );
    assert_clean(
        &format!("{command} {scenario}: standard error"),
        ran.err.as_bytes(),
    );
    assert!(
        assert_files_clean(world.path()) > 0,
        "{command} {scenario}: nothing was stored"
    );
}

#[test]
fn a_key_that_cannot_be_used_is_not_shown_either() {
    let world = World::new();
    for bad in [
        format!("{KEY} {KEY}"),
        format!("\"{KEY}\""),
        format!("{KEY}\u{e9}"),
        format!("{KEY}\n{KEY}"),
    ] {
        for args in [&["ask", "why?"][..], &["doctor", "--offline"]] {
            let ran = loudly(world.command(args).env("BRAVE_ANSWERS_KEY", &bad));
            assert!(ran.code == Some(3) || ran.code == Some(1), "{ran:?}");
            assert!(format!("{ran:?}").contains("BRAVE_ANSWERS_KEY"));
            assert_clean(&format!("{args:?}"), format!("{ran:?}").as_bytes());
        }
    }
}

/// The same for a server: a call that fails and one that does not, and the status.
#[test]
fn a_server_does_not_show_the_key() {
    let world = World::new();
    let simulator = Simulated::start(&world, &["--pace", "0"]);
    let mut child = world
        .calling(&simulator, &["stdio"])
        .env("RUST_LOG", "trace")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(world.path().join("stderr")).unwrap())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut replies = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut ask = |id: u32, method: &str, params: serde_json::Value| {
        let request =
            serde_json::json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(input, "{request}").unwrap();
        loop {
            let line = replies.next().expect("the server went away").unwrap();
            assert_clean(method, line.as_bytes());
            if line.contains(&format!("\"id\":{id}")) {
                return line;
            }
        }
    };
    let client = serde_json::json!({"name": "test", "version": "1"});
    let hello = serde_json::json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    ask(1, "initialize", hello);
    let call = |name: &str, arguments: serde_json::Value| serde_json::json!({"name": name, "arguments": arguments});
    let good = ask(
        2,
        "tools/call",
        call("answers", serde_json::json!({"query": "why?"})),
    );
    assert!(good.contains("Cost:") || good.contains("cost"), "{good}");
    ask(
        3,
        "tools/call",
        call(
            "answers",
            serde_json::json!({"query": "sim:error-422-key why?"}),
        ),
    );
    ask(4, "tools/call", call("status", serde_json::json!({})));
    drop(input);
    assert!(child.wait().unwrap().success());
    assert!(assert_files_clean(world.path()) > 1);
}
