//! No crate of the repository has unsafe code but in its generated bindings.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};

use toml_edit::DocumentMut;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files of a name's ending below a folder, without what was built or downloaded.
fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" && name != "node_modules" {
                files(&path, ending, found);
            }
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
}

fn all(ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(&root(), ending, &mut found);
    assert!(!found.is_empty());
    found
}

#[test]
fn every_crate_denies_unsafe_code() {
    let denies = |item: Option<&toml_edit::Item>| {
        let level = item.and_then(|item| item.get("unsafe_code"));
        level.and_then(|level| level.as_str()) == Some("deny")
    };
    for path in all("Cargo.toml") {
        let manifest: DocumentMut = fs::read_to_string(&path).unwrap().parse().unwrap();
        let lints = manifest.get("lints");
        let inherited = lints
            .and_then(|lints| lints.get("workspace"))
            .and_then(|value| value.as_bool());
        if manifest.get("package").is_none() {
            let workspace = &manifest["workspace"]["lints"];
            assert!(denies(workspace.get("rust")), "{}", path.display());
        } else if inherited != Some(true) {
            let own = lints.and_then(|lints| lints.get("rust"));
            assert!(denies(own), "{} does not deny unsafe code", path.display());
        }
    }
}

#[test]
fn only_generated_bindings_allow_it() {
    // Put together, so that this file does not have the words itself.
    let lint = ["unsafe", "code"].join("_");
    for path in all(".rs") {
        let text = fs::read_to_string(&path).unwrap();
        let lines = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let allowed = lines.filter(|line| line.contains(&lint)).count();
        if path.ends_with("guest/build/tests/unsafe_code.rs") || allowed == 0 {
            continue;
        }
        let generated = text.contains("bindgen!") || text.contains("wit_bindgen::generate!");
        let bindings = path.file_name().is_some_and(|name| name == "bindings.rs");
        assert!(generated && bindings && allowed == 1, "{}", path.display());
        let own = text
            .lines()
            .filter(|line| line.contains("fn ") || line.contains("impl "));
        assert_eq!(own.count(), 0, "{} has more than bindings", path.display());
    }
}
