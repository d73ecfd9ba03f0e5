//! Golden vectors: a call with its input and options, and the JSON that must come of it, the same in every runtime.
//!
//! A vector is `fixtures/traffic/vectors/NAME.json`: `{ "call", "file"? , "text"?, "options"?, "expect" }`. `file` is a sample beside
//! the folder, `text` an input that is given as it is. `BLESS=1` writes what comes out as what must come out.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

mod calls;
mod common;

use serde_json::Value;

#[test]
fn every_vector_gives_what_it_says() {
    let bless = std::env::var_os("BLESS").is_some_and(|value| !value.is_empty());
    let mut count = 0;
    let mut wrong = Vec::new();
    let mut paths: Vec<_> = std::fs::read_dir(common::folder().join("vectors"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let mut vector: Value = serde_json::from_slice(&std::fs::read(&path).unwrap())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let input = match (vector.get("file"), vector.get("text")) {
            (Some(file), _) => common::sample(file.as_str().unwrap()),
            (None, Some(text)) => text.as_str().unwrap().as_bytes().to_vec(),
            (None, None) => Vec::new(),
        };
        let call = vector["call"].as_str().unwrap().to_owned();
        let options = vector.get("options").cloned().unwrap_or(Value::Null);
        let came = calls::run(&call, &input, &options);
        count += 1;
        if bless {
            vector["expect"] = came;
            let text = serde_json::to_string_pretty(&vector).unwrap();
            std::fs::write(&path, text + "\n").unwrap();
        } else if vector.get("expect") != Some(&came) {
            wrong.push(format!(
                "{name}: {}",
                serde_json::to_string_pretty(&came).unwrap()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 20, "only {count} vectors");
}
