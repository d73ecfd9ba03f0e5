//! `glovebox replay` and `glovebox component` as a person or a script runs them.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

/// The program, with a home of its own and none of this machine's settings.
fn glovebox() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_glovebox"));
    command
        .env_clear()
        .env("HOME", home())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stdin(Stdio::null());
    command
}

/// One home for all tests of this process, so that the component is compiled once.
fn home() -> &'static Path {
    static HOME: OnceLock<tempfile::TempDir> = OnceLock::new();
    HOME.get_or_init(|| tempfile::tempdir().unwrap()).path()
}

fn run(arguments: &[&str]) -> Output {
    glovebox().args(arguments).output().unwrap()
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fixtures/answers")
        .join(name)
}

fn replay(name: &str, more: &[&str]) -> Output {
    let path = fixture(name);
    let mut arguments = vec!["replay", path.to_str().unwrap()];
    arguments.extend(more);
    run(&arguments)
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_stream_becomes_a_cited_answer() {
    let output = replay("citations.sse", &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    for part in ["[1]", "Sources:", "  [4] http", "Cost: $0.047875"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(text.ends_with('\n') && !text.ends_with("\n\n"));
    assert_eq!(stderr(&output), "");
}

#[test]
fn the_exit_status_tells_how_it_ended() {
    for (name, status, says) in [
        ("plain.sse", 0, ""),
        ("research-3.sse", 0, ""),
        ("cut-clean.sse", 6, "Incomplete"),
        ("no-answer.sse", 6, "No answer came"),
        ("length.sse", 6, "token limit"),
        ("error-midstream.sse", 5, "error"),
        ("html-200.sse", 1, ""),
    ] {
        let output = replay(name, &[]);
        assert_eq!(
            output.status.code(),
            Some(status),
            "{name}: {}",
            stderr(&output)
        );
        assert!(
            stdout(&output).contains(says),
            "{name}: {}",
            stdout(&output)
        );
    }
}

#[test]
fn json_is_the_outcome_however_it_is_pushed() {
    for name in ["citations", "research-3", "unicode"] {
        let file = format!("{name}.sse");
        let whole = stdout(&replay(&file, &["--json"]));
        assert_eq!(stdout(&replay(&file, &["--json", "--chunk", "1"])), whole);
        assert_eq!(whole.lines().count(), 1);
        let actual: Value = serde_json::from_str(&whole).unwrap();
        let expected = std::fs::read_to_string(fixture(&format!("{name}.json"))).unwrap();
        let expected: Value = serde_json::from_str(&expected).unwrap();
        assert_eq!(actual["answer"], expected["answer"]);
        assert_eq!(actual["sources"], expected["sources"]);
        assert_eq!(actual["usage"], expected["usage"]);
        assert_eq!(actual["mode"], expected["mode"], "inferred");
    }
}

#[test]
fn the_mode_can_be_given() {
    let output = replay("plain.sse", &["--json", "--mode", "research"]);
    let outcome: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(outcome["mode"], "research");
    assert_eq!(
        output.status.code(),
        Some(6),
        "a research without an answer"
    );
}

#[test]
fn a_stream_can_come_from_standard_input() {
    let mut child = glovebox()
        .args(["replay", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let stream = std::fs::read(fixture("citations.sse")).unwrap();
    child.stdin.take().unwrap().write_all(&stream).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stdout(&output), stdout(&replay("citations.sse", &[])));
}

#[test]
fn what_cannot_be_used_is_told_in_one_sentence() {
    let missing = run(&["replay", "missing.sse"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("missing.sse cannot be read"));
    assert_eq!(stderr(&missing).lines().count(), 1, "{}", stderr(&missing));

    let none = replay("plain.sse", &["--chunk", "0"]);
    assert_eq!(none.status.code(), Some(2));

    let path = fixture("plain.json");
    let component = replay("plain.sse", &["--component", path.to_str().unwrap()]);
    assert_eq!(component.status.code(), Some(1));
    assert!(stderr(&component).contains("sandbox-component"));
    assert_eq!(
        stderr(&component).lines().count(),
        1,
        "{}",
        stderr(&component)
    );
}

#[test]
fn control_characters_do_not_reach_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("escape.sse");
    let chunk = r#"data: {"choices":[{"delta":{"content":"a\u001b[2Jb\u009bc\n\td"}}]}"#;
    std::fs::write(&path, format!("{chunk}\n\ndata: [DONE]\n")).unwrap();
    let output = run(&["replay", path.to_str().unwrap(), "--mode", "answer"]);
    let text = stdout(&output);
    let harmful = |char: char| char.is_control() && char != '\n' && char != '\t';
    assert!(!text.contains(harmful), "{text:?}");
    assert!(
        text.starts_with('a') && text.ends_with("c\n\td\n"),
        "{text:?}"
    );
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let mut child = glovebox()
        .args(["replay", fixture("plain.sse").to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stderr(&output), "");
}

#[test]
fn the_component_can_be_taken_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("answers.wasm");
    let written = run(&["component", "--out", path.to_str().unwrap()]);
    assert_eq!(written.status.code(), Some(0), "{}", stderr(&written));
    let bytes = std::fs::read(&path).unwrap();
    let hash = stdout(&run(&["component", "--hash"]));
    assert_eq!(hash.trim(), glovebox_build::hex(&bytes));

    let replayed = replay("citations.sse", &["--component", path.to_str().unwrap()]);
    assert_eq!(stdout(&replayed), stdout(&replay("citations.sse", &[])));

    let about = stdout(&run(&["component"]));
    assert!(about.contains("no imports"), "{about}");
    let json: Value = serde_json::from_str(&stdout(&run(&["component", "--json"]))).unwrap();
    assert_eq!(json["bytes"], bytes.len());
}

#[test]
fn the_contract_is_one_valid_file() {
    let wit = stdout(&run(&["component", "--wit"]));
    let mut resolve = wit_parser::Resolve::default();
    let package = resolve.push_str("answers.wit", &wit).unwrap();
    resolve.select_world(&[package], Some("answers")).unwrap();
}
