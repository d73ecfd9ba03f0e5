//! `cargo components [NAME…]`: builds the components and writes them to `guest/dist`.
//!
//! `--check` compares the committed ones with the sources and builds nothing; `--check --rebuild` builds
//! each twice in different folders and compares the bytes too; `--out DIR` writes elsewhere.

mod build;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use glovebox_build::{COMPONENTS, Component, Record, hex, sources_hash};

/// What was asked for.
#[derive(Debug, Default)]
struct Options {
    check: bool,
    rebuild: bool,
    out: Option<PathBuf>,
    names: Vec<String>,
}

fn main() -> anyhow::Result<()> {
    let options = options(std::env::args().skip(1))?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .context("the repository's root")?;
    for component in COMPONENTS {
        if options.names.is_empty() || options.names.iter().any(|name| name == component.name) {
            one(component, root, &options)
                .with_context(|| format!("component {}", component.name))?;
        }
    }
    Ok(())
}

fn options(arguments: impl Iterator<Item = String>) -> anyhow::Result<Options> {
    let mut options = Options::default();
    let mut arguments = arguments.peekable();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--check" => options.check = true,
            "--rebuild" => options.rebuild = true,
            "--out" => options.out = Some(arguments.next().context("--out needs a folder")?.into()),
            name if COMPONENTS.iter().any(|component| component.name == name) => {
                options.names.push(argument);
            }
            other => anyhow::bail!(
                "{other}: not known. Usage: cargo components [--check [--rebuild]] [--out DIR] [NAME…]"
            ),
        }
    }
    Ok(options)
}

fn one(component: &Component, root: &Path, options: &Options) -> anyhow::Result<()> {
    if options.check {
        component.check(root)?;
        if options.rebuild {
            rebuild(component, root)?;
        }
        eprintln!("{}: as the sources say", component.name);
        return Ok(());
    }
    let wasm = build::component(component, root, "components")?;
    let record = record(component, root, &wasm)?;
    let (wasm_path, record_path) = match &options.out {
        None => (component.wasm_path(root), component.record_path(root)),
        Some(folder) => (
            folder.join(format!("{}.wasm", component.name)),
            folder.join(format!("{}.json", component.name)),
        ),
    };
    write(&wasm_path, &wasm)?;
    let text = serde_json::to_string_pretty(&record)? + "\n";
    write(&record_path, text.as_bytes())?;
    eprintln!(
        "{}: {} bytes, {}",
        component.name,
        wasm.len(),
        record.sha256
    );
    Ok(())
}

/// Builds twice in different folders, which must give the same bytes. They must be those of the committed component
/// too, except where it was built on another standard library or names crates by their folder: that is only told.
fn rebuild(component: &Component, root: &Path) -> anyhow::Result<()> {
    let first = build::component(component, root, "components")?;
    let second = build::component(component, root, "components-again")?;
    anyhow::ensure!(first == second, "two builds of the same sources differ");
    let committed = component.record(root)?;
    let built = record(component, root, &first)?;
    if built.sha256 == committed.sha256 {
        return Ok(());
    }
    let why = if built.standard_library != committed.standard_library {
        "built on another standard library than the committed one, so its bytes differ"
    } else if component.workspace != "." {
        // Cargo names a crate outside of the workspace by its absolute path, and symbols are ordered by that.
        "built in another folder than the committed one, so its bytes may differ"
    } else {
        anyhow::bail!(
            "a rebuild gives other bytes than the committed component: run `cargo components`"
        );
    };
    eprintln!("{}: {why}", component.name);
    Ok(())
}

fn record(component: &Component, root: &Path, wasm: &[u8]) -> anyhow::Result<Record> {
    Ok(Record {
        name: component.name.to_owned(),
        bytes: wasm.len(),
        sha256: hex(wasm),
        sources: sources_hash(component, root)?,
        standard_library: build::standard_library(component)?,
    })
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bytes).with_context(|| path.display().to_string())
}
