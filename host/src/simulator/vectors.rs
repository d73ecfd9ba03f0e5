//! The golden vectors, embedded: streams that the simulator serves as scenarios.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use rust_embed::{Embed, EmbeddedFile};

use super::steps::Step;

/// The files of the golden vectors of the answers component: `NAME.sse`, `NAME.json` and, for some, `NAME.headers`.
#[derive(Embed)]
#[folder = "../fixtures/answers"]
#[include = "*.sse"]
#[include = "*.json"]
#[include = "*.headers"]
pub struct VectorFiles;

/// From one event of a vector to the next, as measured: an answer of some 100 events takes 10–30 s.
const BETWEEN: Duration = Duration::from_millis(150);

/// A recorded reply.
#[derive(Debug)]
pub struct Vector {
    headers: String,
    body: Bytes,
}

/// Returns a vector by its name.
pub fn find(name: &str) -> Option<Vector> {
    let body = VectorFiles::get(&format!("{name}.sse"))?;
    let headers = VectorFiles::get(&format!("{name}.headers"));
    let headers = headers.map(|file| String::from_utf8_lossy(&file.data).into_owned());
    Some(Vector {
        headers: headers.unwrap_or_default(),
        body: bytes_of(body),
    })
}

fn bytes_of(file: EmbeddedFile) -> Bytes {
    match file.data {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => bytes.into(),
    }
}

/// Returns the names of all vectors, sorted.
pub fn names() -> Vec<String> {
    let streams = VectorFiles::iter();
    let names = streams.filter_map(|file| file.strip_suffix(".sse").map(str::to_owned));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

impl Vector {
    /// Returns the headers, names and values.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        let fields = self.headers.lines().filter_map(|line| line.split_once(':'));
        fields.map(|(name, value)| (name.trim(), value.trim()))
    }

    /// Returns the body, event by event.
    pub fn steps(&self) -> impl Iterator<Item = Step> + Send + use<> {
        events(self.body.clone()).flat_map(|event| [Step::Wait(BETWEEN), Step::Send(event)])
    }
}

/// Cuts after blank lines, whatever the line ends.
fn events(mut rest: Bytes) -> impl Iterator<Item = Bytes> + Send {
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = [&b"\n\n"[..], b"\r\n\r\n", b"\r\r"]
            .into_iter()
            .filter_map(|blank| find_bytes(&rest, blank).map(|at| at + blank.len()))
            .min()
            .unwrap_or(rest.len());
        Some(rest.split_to(end))
    })
}

fn find_bytes(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len())
        .position(|window| window == wanted)
}
