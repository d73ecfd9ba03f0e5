//! What the page consists of: `web/`, the golden vectors and their list.

use std::borrow::Cow;

use rust_embed::Embed;

use crate::simulator::vectors::{VectorFiles, names};

/// The folder of the vectors on the page's server.
const VECTORS: &str = "vectors/";
/// The vectors of the traffic component, in that folder, and the samples that they name, in theirs.
const TRAFFIC: &str = "traffic/";
const SAMPLES: &str = "samples/";
/// The list of the vectors of a component.
const INDEX: &str = "index.json";

/// The vectors of the traffic component.
#[derive(Embed)]
#[folder = "../fixtures/traffic/vectors"]
struct TrafficVectors;

/// The files that these vectors read.
#[derive(Embed)]
#[folder = "../fixtures/traffic"]
#[exclude = "vectors/*"]
struct TrafficSamples;

/// The files of `web/` that a browser asks for. Types, manifests and the picture of the README stay behind.
#[derive(Embed)]
#[folder = "../web"]
#[include = "*.html"]
#[include = "*.css"]
#[include = "*.js"]
#[include = "*.wasm"]
#[include = "*.svg"]
struct PageFiles;

/// Returns a file of the page by its path.
pub fn find(path: &str) -> Option<Cow<'static, [u8]>> {
    if let Some(path) = path
        .strip_prefix(VECTORS)
        .and_then(|path| path.strip_prefix(TRAFFIC))
    {
        return match (path, path.strip_prefix(SAMPLES)) {
            (INDEX, _) => Some(Cow::Owned(traffic_index().into_bytes())),
            (_, Some(sample)) => Some(TrafficSamples::get(sample)?.data),
            (vector, None) => Some(TrafficVectors::get(vector)?.data),
        };
    }
    match path.strip_prefix(VECTORS) {
        Some(INDEX) => Some(Cow::Owned(index().into_bytes())),
        Some(vector) => Some(VectorFiles::get(vector)?.data),
        None => Some(PageFiles::get(path)?.data),
    }
}

/// Returns the list of the vectors as JSON.
fn index() -> String {
    let entry = |name: String| {
        let headers = VectorFiles::get(&format!("{name}.headers")).is_some();
        serde_json::json!({ "name": name, "headers": headers })
    };
    serde_json::Value::Array(names().into_iter().map(entry).collect()).to_string()
}

/// Returns the list of the traffic component's vectors as JSON.
fn traffic_index() -> String {
    let mut names: Vec<String> = TrafficVectors::iter()
        .filter_map(|file| file.strip_suffix(".json").map(str::to_owned))
        .collect();
    names.sort();
    serde_json::Value::from(names).to_string()
}

/// Returns the media type of a file.
pub fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, kind)| kind) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("json") => "application/json",
        // Streams are shown by the page, never by the browser itself.
        _ => "application/octet-stream",
    }
}
