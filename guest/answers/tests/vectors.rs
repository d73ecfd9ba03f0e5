//! The golden vectors: every stream gives its outcome, however it is cut.
//!
//! `BLESS=1` rewrites the expectations that differ and prints the differences.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    missing_docs
)]

mod common;

use answers::{Format, Header, Limits, Mode, Outcome, infer_mode, parse_all, render};
use common::read;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A stream and the outcome it must give.
struct Vector {
    name: String,
    bytes: Vec<u8>,
    headers: Vec<Header>,
    mode: Mode,
    expected: Value,
    json: PathBuf,
}

/// Every vector of the repository, in order of name.
fn vectors() -> Vec<Vector> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/answers");
    let mut streams: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sse"))
        .collect();
    streams.sort();
    streams.iter().map(|path| vector(path)).collect()
}

fn vector(path: &Path) -> Vector {
    let json = path.with_extension("json");
    let text =
        fs::read_to_string(&json).unwrap_or_else(|error| panic!("{}: {error}", json.display()));
    let expected: Value = serde_json::from_str(&text).unwrap();
    Vector {
        name: path.file_stem().unwrap().to_string_lossy().into_owned(),
        bytes: fs::read(path).unwrap(),
        headers: headers(&path.with_extension("headers")),
        mode: match expected["mode"].as_str() {
            Some("research") => Mode::Research,
            _ => Mode::Answer,
        },
        expected,
        json,
    }
}

fn headers(path: &Path) -> Vec<Header> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| Header {
            name: name.to_owned(),
            value: value.trim().to_owned(),
        })
        .collect()
}

/// `"*"` in an expectation stands for any text.
const ANY: &str = "*";

/// The outcome as a value, with what the expectation leaves open taken from it.
fn actual(outcome: &Outcome, expected: &Value) -> Value {
    let mut actual: Value = serde_json::from_str(&render(outcome, Format::Json)).unwrap();
    open(
        &mut actual["error"]["message"],
        &expected["error"]["message"],
    );
    if actual["error"]["kind"].is_null() {
        actual["error"] = Value::Null;
    }
    if let Some(warnings) = actual["warnings"].as_array_mut() {
        for (index, warning) in warnings.iter_mut().enumerate() {
            open(
                &mut warning["detail"],
                &expected["warnings"][index]["detail"],
            );
        }
    }
    actual
}

fn open(actual: &mut Value, expected: &Value) {
    if expected == ANY && actual.is_string() {
        *actual = expected.clone();
    }
}

fn differences(actual: &Value, expected: &Value) -> String {
    let mut lines = String::new();
    let members = actual.as_object().unwrap();
    for (name, value) in members {
        if *value != expected[name] {
            lines += &format!(
                "  {name}\n    expected {}\n    got      {value}\n",
                expected[name]
            );
        }
    }
    for name in expected.as_object().unwrap().keys() {
        if !members.contains_key(name) {
            lines += &format!("  {name} is missing\n");
        }
    }
    lines
}

fn bless(vector: &Vector, actual: &Value) {
    // Through the outcome's own type, which knows the order of the members.
    let ordered: Outcome = serde_json::from_value(actual.clone()).unwrap();
    let text = serde_json::to_string_pretty(&ordered).unwrap();
    fs::write(&vector.json, text + "\n").unwrap();
}

#[test]
fn every_vector_gives_its_outcome() {
    let mut wrong = String::new();
    let vectors = vectors();
    assert!(vectors.len() >= 60, "only {} vectors", vectors.len());
    for vector in &vectors {
        let outcome = parse_all(vector.mode, &vector.headers, &vector.bytes);
        let actual = actual(&outcome, &vector.expected);
        let differences = differences(&actual, &vector.expected);
        if differences.is_empty() {
            continue;
        }
        wrong += &format!("{}\n{differences}", vector.name);
        if std::env::var_os("BLESS").is_some() {
            bless(vector, &actual);
        }
    }
    if std::env::var_os("BLESS").is_some() {
        println!("{wrong}");
    } else {
        assert!(wrong.is_empty(), "\n{wrong}");
    }
}

#[test]
fn every_cut_gives_the_same_events_and_outcome() {
    for vector in vectors() {
        let whole = read(
            vector.mode,
            &vector.headers,
            Limits::default(),
            [&vector.bytes[..]],
        );
        for cut in 0..=vector.bytes.len() {
            let (left, right) = vector.bytes.split_at(cut);
            let parts = read(
                vector.mode,
                &vector.headers,
                Limits::default(),
                [left, right],
            );
            same(&vector, &parts, &whole, &format!("cut at {cut}"));
        }
        let single = read(
            vector.mode,
            &vector.headers,
            Limits::default(),
            vector.bytes.chunks(1),
        );
        same(&vector, &single, &whole, "byte by byte");
    }
}

type Reading = (Vec<answers::Event>, answers::Finished);

fn same(vector: &Vector, parts: &Reading, whole: &Reading, how: &str) {
    assert_eq!(parts.0, whole.0, "events of {} {how}", vector.name);
    assert_eq!(parts.1.outcome, whole.1.outcome, "{} {how}", vector.name);
    assert_eq!(
        parts.1.last.error, whole.1.last.error,
        "{} {how}",
        vector.name
    );
}

#[test]
fn the_json_is_the_outcome_in_order() {
    for vector in vectors() {
        let outcome = parse_all(vector.mode, &vector.headers, &vector.bytes);
        let text = render(&outcome, Format::Json);
        let back: Outcome = serde_json::from_str(&text).unwrap();
        assert_eq!(back, outcome, "{}", vector.name);
        let derived = serde_json::to_value(&outcome).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&text).unwrap(),
            derived,
            "{}",
            vector.name
        );
        assert!(!text.contains('\n'), "{}", vector.name);
    }
}

#[test]
fn the_mode_is_told_by_the_tags() {
    // Streams whose tags tell nothing, or the other mode.
    let open = ["tag-in-", "bare-answer", "answer-cut-", "usage"];
    for vector in vectors() {
        if !open.iter().any(|part| vector.name.contains(part)) {
            assert_eq!(infer_mode(&vector.bytes), vector.mode, "{}", vector.name);
        }
    }
}
