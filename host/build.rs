//! Embeds the golden vectors, which the simulator serves as scenarios, and the page that `glovebox web` serves.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let manifest = manifest.ok_or_else(|| io::Error::other("CARGO_MANIFEST_DIR is not set"))?;
    let folder = manifest.join("../fixtures/answers");
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
    fs::write(Path::new(&out).join("vectors.rs"), table)?;
    fs::write(Path::new(&out).join("page.rs"), page(&manifest, &folder)?)
}

/// What the page consists of, as a table of paths and contents: `web/`, the vectors, and their list.
fn page(manifest: &Path, vectors_folder: &Path) -> io::Result<String> {
    let web = manifest.join("../web");
    println!("cargo::rerun-if-changed={}", web.display());
    let mut table = String::from("&[\n");
    let mut add = |name: &str, path: &Path| {
        let _ = writeln!(table, "    ({name:?}, include_bytes!({path:?})),");
    };
    let mut folders = vec![(String::new(), web.canonicalize()?)];
    while let Some((prefix, folder)) = folders.pop() {
        for path in sorted(&folder)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let served = path.extension().and_then(|extension| extension.to_str());
            if path.is_dir() {
                folders.push((format!("{prefix}{name}/"), path));
            } else if served.is_some_and(|kind| PAGE_KINDS.contains(&kind)) {
                add(&format!("{prefix}{name}"), &path);
            }
        }
    }
    let mut list = Vec::new();
    for stream in vectors(vectors_folder)? {
        let name = stream.file_stem().unwrap_or_default().to_string_lossy();
        let head = stream.with_extension("headers");
        list.push(format!(
            "{{\"name\":\"{name}\",\"headers\":{}}}",
            head.is_file()
        ));
        for path in [stream.clone(), stream.with_extension("json"), head] {
            if path.is_file() {
                let kind = path.extension().unwrap_or_default().to_string_lossy();
                add(&format!("vectors/{name}.{kind}"), &path);
            }
        }
    }
    let list = format!("[{}]", list.join(","));
    let _ = writeln!(table, "    (\"vectors/index.json\", {list:?}.as_bytes()),");
    table.push_str(&traffic_vectors(&manifest.join("../fixtures/traffic"))?);
    table.push_str("]\n");
    Ok(table)
}

/// Returns rows of the page's table for the vectors of the traffic component, the samples that they name, and their list.
fn traffic_vectors(folder: &Path) -> io::Result<String> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let (mut table, mut list) = (String::new(), Vec::new());
    let mut add = |name: String, path: &Path| {
        let _ = writeln!(table, "    ({name:?}, include_bytes!({path:?})),");
    };
    if folder.is_dir() {
        for path in sorted(&folder.canonicalize()?)? {
            if path.is_file() {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                add(format!("vectors/traffic/samples/{name}"), &path);
            }
        }
        for path in sorted(&folder.join("vectors").canonicalize()?)? {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            add(format!("vectors/traffic/{name}.json"), &path);
            list.push(format!("{name:?}"));
        }
    }
    let list = format!("[{}]", list.join(","));
    let _ = writeln!(
        table,
        "    (\"vectors/traffic/index.json\", {list:?}.as_bytes()),"
    );
    Ok(table)
}

/// Files of `web/` that a browser asks for; types and manifests stay behind.
const PAGE_KINDS: [&str; 5] = ["html", "css", "js", "wasm", "svg"];

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
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
