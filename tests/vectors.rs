//! The golden vectors through the component in the sandbox: whole, byte by byte, at every cut, and equal to the
//! library run natively, to the byte of the outcome's JSON. A vector is three trials, so that one that fails is named:
//! `outcome::NAME`, `library::NAME` and `cuts::NAME`. The vectors of the traffic component are in `vectors/traffic.rs`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

#[path = "vectors/traffic.rs"]
mod traffic;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use glovebox::answers::{Answers, AnswersConfig};
use glovebox::answers::{Event, EventKind, Finished, Format, Header, Limits, Mode};
use glovebox::sandbox::Sandbox;
use libtest_mimic::{Arguments, Trial};
use serde_json::Value;

/// A stream and what it must give.
struct Vector {
    name: String,
    bytes: Vec<u8>,
    headers: Vec<Header>,
    mode: Mode,
    expected: Value,
}

/// One component for all. `GLOVEBOX_TEST_COMPONENT` names another component, such as one that was just rebuilt.
fn component() -> &'static Answers {
    static COMPONENT: OnceLock<Answers> = OnceLock::new();
    COMPONENT.get_or_init(|| {
        let config = AnswersConfig {
            component: std::env::var_os("GLOVEBOX_TEST_COMPONENT").map(PathBuf::from),
            ..AnswersConfig::default()
        };
        Answers::start(&Sandbox::default(), config)
    })
}

fn vectors() -> Vec<Vector> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/answers");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sse"))
        .collect();
    paths.sort();
    assert!(paths.len() >= 60, "only {} vectors", paths.len());
    paths.iter().map(|path| vector(path)).collect()
}

fn vector(path: &Path) -> Vector {
    let text = fs::read_to_string(path.with_extension("json")).unwrap();
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

/// All events, adjacent text joined, and what the end brought.
fn read<'a>(vector: &Vector, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Event>, Finished) {
    let mut parser = component().parser(vector.mode, Limits::default()).unwrap();
    parser.head(&vector.headers).unwrap();
    let mut events = Vec::new();
    for piece in pieces {
        events.extend(parser.push(piece).unwrap().events);
    }
    let finished = parser.finish().unwrap();
    events.extend(finished.last.events.iter().cloned());
    (joined(events), finished)
}

fn joined(events: Vec<Event>) -> Vec<Event> {
    let mut all: Vec<Event> = Vec::new();
    for event in events {
        match (all.last_mut().map(|last| &mut last.kind), &event.kind) {
            (Some(EventKind::Text(last)), EventKind::Text(text))
            | (Some(EventKind::Draft(last)), EventKind::Draft(text)) => last.push_str(text),
            _ => all.push(event),
        }
    }
    all
}

/// Takes over from the outcome what the expectation leaves open with `"*"`.
fn open(actual: &mut Value, expected: &Value) {
    if expected == "*" && actual.is_string() {
        *actual = expected.clone();
    }
}

/// What one trial checks of a vector.
type Check = fn(&Vector);

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let checks: [(&str, Check); 3] = [
        ("outcome", gives_its_outcome),
        ("library", equals_the_library),
        ("cuts", holds_at_every_cut),
    ];
    let mut trials = vec![Trial::test("committed_components", || {
        committed_components();
        Ok(())
    })];
    for vector in vectors().into_iter().map(Arc::new) {
        for (name, check) in checks {
            let vector = Arc::clone(&vector);
            trials.push(Trial::test(format!("{name}::{}", vector.name), move || {
                check(&vector);
                Ok(())
            }));
        }
    }
    trials.extend(traffic::trials());
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The outcome is the expected one.
fn gives_its_outcome(vector: &Vector) {
    let (_, finished) = read(vector, [&vector.bytes[..]]);
    let json = component().render(&finished.outcome, Format::Json).unwrap();
    let mut actual: Value = serde_json::from_str(&json).unwrap();
    let expected = &vector.expected;
    if !actual["error"].is_null() {
        open(
            &mut actual["error"]["message"],
            &expected["error"]["message"],
        );
    }
    let warnings = actual["warnings"].as_array_mut().unwrap();
    for (index, warning) in warnings.iter_mut().enumerate() {
        open(
            &mut warning["detail"],
            &expected["warnings"][index]["detail"],
        );
    }
    assert_eq!(&actual, expected);
}

/// The component and the library run natively give the same bytes in every format.
fn equals_the_library(vector: &Vector) {
    let mode = match vector.mode {
        Mode::Answer => answers::Mode::Answer,
        Mode::Research => answers::Mode::Research,
    };
    let headers: Vec<answers::Header> = vector
        .headers
        .iter()
        .map(|header| answers::Header {
            name: header.name.clone(),
            value: header.value.clone(),
        })
        .collect();
    let native = answers::parse_all(mode, &headers, &vector.bytes);
    let sandboxed = component()
        .parse_all(vector.mode, &vector.headers, &vector.bytes)
        .unwrap();
    for (native_format, format) in [
        (answers::Format::Json, Format::Json),
        (answers::Format::Markdown, Format::Markdown),
        (answers::Format::Plain, Format::Plain),
    ] {
        let sandboxed = component().render(&sandboxed, format).unwrap();
        assert_eq!(sandboxed, answers::render(&native, native_format));
    }
    let inferred = component().infer_mode(&vector.bytes).unwrap();
    let native = answers::infer_mode(&vector.bytes);
    assert_eq!(inferred.name(), format!("{native:?}").to_lowercase());
}

/// Byte by byte and cut in two, the events and the outcome are those of the whole.
fn holds_at_every_cut(vector: &Vector) {
    let whole = read(vector, [&vector.bytes[..]]);
    same(
        &read(vector, vector.bytes.chunks(1)),
        &whole,
        "byte by byte",
    );
    // The library is tested at every cut of all vectors. What is new here is the crossing, so the few long streams
    // are cut at a thousand places.
    let step = (vector.bytes.len() / 1000).max(1);
    for cut in (0..=vector.bytes.len()).step_by(step) {
        let (left, right) = vector.bytes.split_at(cut);
        same(
            &read(vector, [left, right]),
            &whole,
            &format!("cut at {cut}"),
        );
    }
}

fn same(parts: &(Vec<Event>, Finished), whole: &(Vec<Event>, Finished), how: &str) {
    assert_eq!(parts.0, whole.0, "events {how}");
    assert_eq!(parts.1.outcome, whole.1.outcome, "outcome {how}");
    assert_eq!(parts.1.last.error, whole.1.last.error, "error {how}");
}

/// The committed components were built from the sources of this checkout.
fn committed_components() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for component in glovebox_build::COMPONENTS {
        component.check(&root).unwrap();
    }
}
