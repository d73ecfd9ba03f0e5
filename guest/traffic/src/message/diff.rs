//! The difference of two messages by structure: start line, headers by name, JSON by pointer, other text by line.

use std::collections::BTreeMap;

use serde::Serialize;
use similar::DiffOp;
use similar::algorithms::{Capture, myers};

use super::{body, head, json, media};
use crate::types::Message;

/// Lines of a body that are compared one by one. The algorithm's time grows with the product of lines and changes.
const LINES: usize = 2000;

/// Changes that are listed.
const CHANGES: usize = 2000;

/// Characters of a value in a change.
const VALUE: usize = 2000;

/// What a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// Method, target, version, status or reason.
    Start,
    /// A header.
    Header,
    /// A JSON value of the body, by its pointer.
    Json,
    /// A line of the body, by its number in the message that has it.
    Line,
    /// The body as a whole.
    Body,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// What it is about.
    pub place: Place,
    /// The name, the pointer or the number of the line.
    pub name: String,
    /// What the first message has; absent where it has nothing.
    pub before: Option<String>,
    /// What the second message has; absent where it has nothing.
    pub after: Option<String>,
}

/// The difference of two messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The changes, at most 2000.
    pub changes: Vec<Change>,
    /// Whether there are more, or the bodies were too long to compare line by line.
    pub cut: bool,
}

/// Compares two requests or two responses.
#[must_use]
pub fn diff(first: &Message, second: &Message, request: bool) -> Difference {
    let read = |message: &Message| {
        let head = if request {
            head::request(&message.bytes)
        } else {
            head::response(&message.bytes)
        };
        let body = body::decode_with(message, &head, &body::BodyLimits::default());
        (head, body)
    };
    let ((left, left_body), (right, right_body)) = (read(first), read(second));
    let mut difference = Difference::default();
    let status = |head: &head::Head| {
        head.status
            .map_or(String::new(), |status| status.to_string())
    };
    for (name, before, after) in [
        ("method", left.method.clone(), right.method.clone()),
        ("target", left.target.clone(), right.target.clone()),
        ("version", left.version.clone(), right.version.clone()),
        ("status", status(&left), status(&right)),
        ("reason", left.reason.clone(), right.reason.clone()),
    ] {
        difference.change(Place::Start, name, Some(before), Some(after));
    }
    headers(&left, &right, &mut difference);
    bodies(&left_body, &right_body, &mut difference);
    difference
}

impl Difference {
    fn change(&mut self, place: Place, name: &str, before: Option<String>, after: Option<String>) {
        if before == after {
            return;
        }
        if self.changes.len() >= CHANGES {
            self.cut = true;
            return;
        }
        let short = |text: Option<String>| text.map(|text| text.chars().take(VALUE).collect());
        self.changes.push(Change {
            place,
            name: name.to_owned(),
            before: short(before),
            after: short(after),
        });
    }
}

fn headers(left: &head::Head, right: &head::Head, difference: &mut Difference) {
    let collect = |head: &head::Head| {
        let mut map: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for header in &head.headers {
            map.entry(header.name.to_ascii_lowercase())
                .or_default()
                .push(header.value.clone());
        }
        map
    };
    let (left, right) = (collect(left), collect(right));
    compare_maps(&left, &right, |name, before, after| {
        let join = |values: Option<&Vec<String>>| values.map(|values| values.join("\n"));
        difference.change(Place::Header, name, join(before), join(after));
    });
}

fn compare_maps<V: PartialEq>(
    left: &BTreeMap<String, V>,
    right: &BTreeMap<String, V>,
    mut each: impl FnMut(&str, Option<&V>, Option<&V>),
) {
    let added = right.keys().filter(|name| !left.contains_key(*name));
    for name in left.keys().chain(added) {
        let (before, after) = (left.get(name), right.get(name));
        if before != after {
            each(name, before, after);
        }
    }
}

fn leaves(bytes: &[u8]) -> Option<BTreeMap<String, String>> {
    /// Values that are compared.
    const LEAVES: usize = 20_000;
    let mut map = BTreeMap::new();
    let end = json::walk(bytes, &mut |frames, leaf| {
        if map.len() < LEAVES {
            let value = String::from_utf8_lossy(leaf.span.of(bytes)).into_owned();
            map.insert(json::pointer(bytes, frames), value);
        }
    });
    let whole = bytes.get(end..).unwrap_or_default().trim_ascii().is_empty();
    (whole && map.len() < LEAVES).then_some(map)
}

fn bodies(left: &body::Decoded, right: &body::Decoded, difference: &mut Difference) {
    if left.bytes == right.bytes {
        return;
    }
    if media::is_json(&left.media_type)
        && media::is_json(&right.media_type)
        && let (Some(before), Some(after)) = (leaves(&left.bytes), leaves(&right.bytes))
    {
        compare_maps(&before, &after, |name, before, after| {
            difference.change(Place::Json, name, before.cloned(), after.cloned());
        });
        return;
    }
    let texts = (str::from_utf8(&left.bytes), str::from_utf8(&right.bytes));
    let (Ok(before), Ok(after)) = texts else {
        sizes(left, right, difference);
        return;
    };
    let (before, after): (Vec<&str>, Vec<&str>) =
        (before.lines().collect(), after.lines().collect());
    if before.len() > LINES || after.len() > LINES {
        difference.cut = true;
        sizes(left, right, difference);
        return;
    }
    lines(&before, &after, difference);
}

fn lines(before: &[&str], after: &[&str], difference: &mut Difference) {
    let mut capture = Capture::new();
    // The capture cannot fail.
    let _ = myers::diff(&mut capture, before, 0..before.len(), after, 0..after.len());
    let removed = |from: usize, count: usize, difference: &mut Difference| {
        for (at, line) in before.iter().enumerate().skip(from).take(count) {
            difference.change(
                Place::Line,
                &(at + 1).to_string(),
                Some((*line).to_owned()),
                None,
            );
        }
    };
    let added = |from: usize, count: usize, difference: &mut Difference| {
        for (at, line) in after.iter().enumerate().skip(from).take(count) {
            difference.change(
                Place::Line,
                &(at + 1).to_string(),
                None,
                Some((*line).to_owned()),
            );
        }
    };
    for op in capture.into_ops() {
        match op {
            DiffOp::Equal { .. } => {}
            DiffOp::Delete {
                old_index, old_len, ..
            } => removed(old_index, old_len, difference),
            DiffOp::Insert {
                new_index, new_len, ..
            } => added(new_index, new_len, difference),
            DiffOp::Replace {
                old_index,
                old_len,
                new_index,
                new_len,
            } => {
                removed(old_index, old_len, difference);
                added(new_index, new_len, difference);
            }
        }
    }
}

fn sizes(left: &body::Decoded, right: &body::Decoded, difference: &mut Difference) {
    let size = |body: &body::Decoded| {
        Some(format!(
            "{} bytes, SHA-256 {}",
            body.bytes.len(),
            crate::codec::sha256(&body.bytes)
        ))
    };
    difference.change(Place::Body, "body", size(left), size(right));
}
