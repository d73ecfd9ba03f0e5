//! The golden vectors, embedded.

use std::time::Duration;

use bytes::Bytes;

use super::steps::Step;

/// Name, headers (`Name: value` a line) and the bytes of the body.
type Vector = (&'static str, &'static str, &'static [u8]);

static VECTORS: &[Vector] = include!(concat!(env!("OUT_DIR"), "/vectors.rs"));

/// From one event of a vector to the next, as measured: an answer of some 100 events takes 10–30 s.
const BETWEEN: Duration = Duration::from_millis(150);

/// A vector by its name.
pub fn find(name: &str) -> Option<&'static Vector> {
    VECTORS.iter().find(|vector| vector.0 == name)
}

/// The names of all.
pub fn names() -> impl Iterator<Item = &'static str> {
    VECTORS.iter().map(|vector| vector.0)
}

/// A vector's headers.
pub fn headers(vector: &'static Vector) -> impl Iterator<Item = (&'static str, &'static str)> {
    vector
        .1
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim(), value.trim()))
}

/// A vector's bytes, event by event.
pub fn steps(vector: &'static Vector) -> impl Iterator<Item = Step> + Send {
    events(vector.2).flat_map(|event| [Step::Wait(BETWEEN), Step::Send(Bytes::from_static(event))])
}

/// Cuts after blank lines, whatever the line ends.
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
