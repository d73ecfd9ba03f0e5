//! The embedded golden vectors.

use std::time::Duration;

use bytes::Bytes;

use super::steps::Step;

/// Name, headers (`Name: value` per line) and body.
type Vector = (&'static str, &'static str, &'static [u8]);

static VECTORS: &[Vector] = include!(concat!(env!("OUT_DIR"), "/vectors.rs"));

/// The measured delay between events: an answer of about 100 events takes 10 to 30 s.
const EVENT_DELAY: Duration = Duration::from_millis(150);

/// Returns a vector by name.
pub fn find(name: &str) -> Option<&'static Vector> {
    VECTORS.iter().find(|vector| vector.0 == name)
}

/// Returns the names of all vectors.
pub fn names() -> impl Iterator<Item = &'static str> {
    VECTORS.iter().map(|vector| vector.0)
}

/// Returns the headers of a vector.
pub fn headers(vector: &'static Vector) -> impl Iterator<Item = (&'static str, &'static str)> {
    vector
        .1
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim(), value.trim()))
}

/// Returns the body of a vector as one step per event.
pub fn steps(vector: &'static Vector) -> impl Iterator<Item = Step> + Send {
    events(vector.2).flat_map(|event| {
        [
            Step::Wait(EVENT_DELAY),
            Step::Send(Bytes::from_static(event)),
        ]
    })
}

/// Splits a stream after blank lines, with any line terminator.
fn events(mut rest: &'static [u8]) -> impl Iterator<Item = &'static [u8]> + Send {
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = [&b"\n\n"[..], b"\r\n\r\n", b"\r\r"]
            .into_iter()
            .filter_map(|blank| find_bytes(rest, blank).map(|at| at + blank.len()))
            .min()
            .unwrap_or(rest.len());
        let (event, after) = rest.split_at_checked(end)?;
        rest = after;
        Some(event)
    })
}

fn find_bytes(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len())
        .position(|window| window == wanted)
}
