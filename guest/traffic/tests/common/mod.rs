//! What the tests share: samples and ways to read them.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

use std::path::PathBuf;

use traffic::Exchange;
use traffic::intake::{Batch, Format, Item, Limits, Reader, Report, detect};

/// The folder of the samples.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traffic")
}

/// One sample.
pub fn sample(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The names of all samples.
pub fn samples() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The format to read a file as: what it is, else what its name says.
pub fn format(name: &str, bytes: &[u8]) -> Format {
    detect(bytes).format.unwrap_or(if name.contains("xml") {
        Format::BurpXml
    } else {
        Format::Har
    })
}

/// All items and the report, with the bytes pushed in chunks of the size.
pub fn read(format: Format, bytes: &[u8], chunk: usize, limits: Limits) -> (Vec<Item>, Report) {
    let mut reader = Reader::new(format, limits);
    let mut items = Vec::new();
    for part in bytes.chunks(chunk.max(1)) {
        items.extend(reader.push(part).items);
    }
    let (last, report): (Batch, Report) = reader.finish();
    items.extend(last.items);
    (items, report)
}

/// The exchanges of a file.
pub fn exchanges(format: Format, bytes: &[u8]) -> Vec<Exchange> {
    read(format, bytes, usize::MAX, Limits::default())
        .0
        .into_iter()
        .filter_map(|item| match item {
            Item::Exchange(exchange) => Some(*exchange),
            Item::Skip(_) => None,
        })
        .collect()
}
