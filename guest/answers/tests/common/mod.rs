//! What the tests share: the golden vectors, and events in a form that does not depend on the cuts.

use answers::{Event, EventKind, Finished, Header, Limits, Mode, Parser};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A stream and the outcome it must give.
pub struct Vector {
    pub name: String,
    pub bytes: Vec<u8>,
    pub headers: Vec<Header>,
    pub mode: Mode,
    pub expected: Value,
    pub json: PathBuf,
}

/// Every vector of the repository, in order of name.
pub fn vectors() -> Vec<Vector> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
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

/// Reads a reply cut into chunks; all events joined, and what the end brought.
pub fn read<'a>(
    mode: Mode,
    headers: &[Header],
    limits: Limits,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Event>, Finished) {
    let mut parser = Parser::new(mode, limits);
    parser.head(headers);
    let mut events = Vec::new();
    for chunk in chunks {
        events.extend(parser.push(chunk).events);
    }
    let finished = parser.finish();
    events.extend(finished.last.events.iter().cloned());
    (joined(events), finished)
}

/// Adjacent events of text or draft as one, at the first's place.
pub fn joined(events: Vec<Event>) -> Vec<Event> {
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
