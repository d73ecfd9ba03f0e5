//! `ARCHITECTURE.md`: the files and folders that it names exist.

use std::path::Path;

/// Returns the parts of a text in backticks that are paths of files or folders.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    let is_path = |code: &&str| {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || b"0123456789_./-".contains(&byte);
        (code.contains('/') || code.ends_with(".rs")) && code.bytes().all(allowed)
    };
    text.split('`').skip(1).step_by(2).filter(is_path)
}

#[test]
fn all_named_files_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let missing: Vec<&str> = paths(&text)
        .filter(|path| !root.join(path).exists() && !root.join("host/src").join(path).exists())
        .collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names {missing:?}");
    assert!(paths(&text).count() > 50, "the paths were not found");
}
