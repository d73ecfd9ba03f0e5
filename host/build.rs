//! Embeds the golden vectors, which the simulator serves as scenarios.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut table = String::from("&[\n");
    for path in vectors(&folder)? {
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let headers = path.with_extension("headers");
        let headers = if headers.is_file() {
            format!("include_str!({headers:?})")
        } else {
            "\"\"".to_owned()
        };
        let _ = writeln!(
            table,
            "    ({name:?}, {headers}, include_bytes!({path:?})),"
        );
    }
    table.push_str("]\n");
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("OUT_DIR is not set"))?;
    fs::write(Path::new(&out).join("vectors.rs"), table)
}

/// The streams in the folder, sorted; none where there is no folder.
fn vectors(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder.canonicalize()?)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "sse") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
