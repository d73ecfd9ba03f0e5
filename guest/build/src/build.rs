//! From a crate to a component: cargo, then the encoder, then the checks.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use glovebox_build::{Component, Imports, hex};
use wasmparser::{Parser, Payload, Validator};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// Builds the component. `folder` names the target folder, so that two builds can share nothing.
pub(crate) fn component(
    component: &Component,
    root: &Path,
    folder: &str,
) -> anyhow::Result<Vec<u8>> {
    let built = cargo(component, root, &target_folder(root).join(folder))?;
    let bytes = std::fs::read(&built).with_context(|| built.display().to_string())?;
    let wasm = match component.wit {
        Some(wit) => encode(bytes, &root.join(wit))?,
        None => bytes,
    };
    let wasm = without_caches(wasm)?;
    check(component, &wasm)?;
    Ok(wasm)
}

/// Encodes a core module as a component of the one world of the package in `wit`; fails where the module does not fit it.
fn encode(mut module: Vec<u8>, wit: &Path) -> anyhow::Result<Vec<u8>> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(wit)?;
    let world = resolve.select_world(&[package], None)?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false)?;
    // Names are for debuggers alone; they would be a fiftieth of the component.
    ComponentEncoder::default()
        .module(&module)?
        .debug_names(false)
        .validate(true)
        .encode()
}

/// The standard library's own panics name the folder it was built in, which the compiler's mapping comes too late for.
/// A path of the same length stands in its place, so nothing moves.
fn without_caches(mut wasm: Vec<u8>) -> anyhow::Result<Vec<u8>> {
    for cache in caches()? {
        let path = cache.into_os_string().into_encoded_bytes();
        let mut stand_in = b"/cargo".to_vec();
        stand_in.resize(path.len(), b'/');
        let mut at = 0;
        while let Some(found) = wasm.get(at..).and_then(|rest| find(rest, &path)) {
            at += found;
            if let Some(place) = wasm.get_mut(at..at + path.len()) {
                place.copy_from_slice(&stand_in);
            }
        }
    }
    Ok(wasm)
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}

/// A hash of the target's standard library as it is installed here.
pub(crate) fn standard_library(component: &Component) -> anyhow::Result<String> {
    let folder = sysroot()?
        .join("lib/rustlib")
        .join(component.target)
        .join("lib");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "rlib")
        {
            names.push(path);
        }
    }
    names.sort();
    let mut all = String::new();
    for path in names {
        all.push_str(&hex(&std::fs::read(path)?));
    }
    Ok(hex(all.as_bytes()))
}

/// Runs cargo. Its paths are mapped, so that the bytes do not tell where the checkout or the caches are.
fn cargo(component: &Component, root: &Path, target: &Path) -> anyhow::Result<PathBuf> {
    let mut flags: Vec<String> = component
        .flags
        .iter()
        .map(|&flag| flag.to_owned())
        .collect();
    // The last one that fits is taken, so what lies inside another comes later.
    let folders = [
        (cargo_home()?, "/cargo"),
        (root.to_owned(), "/glovebox"),
        (target.to_owned(), "/target"),
        (sysroot()?, "/rust"),
    ];
    let caches = caches()?.into_iter().map(|cache| (cache, "/cargo"));
    for (from, to) in folders.into_iter().chain(caches) {
        flags.push(format!("--remap-path-prefix={}={to}", from.display()));
    }
    let workspace = root.join(component.workspace);
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(&workspace)
        .args(["build", "--locked", "--package", component.package])
        .args(["--profile", component.profile, "--target", component.target])
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        .env_remove("RUSTFLAGS")
        .status()
        .context("cargo")?;
    anyhow::ensure!(
        status.success(),
        "cargo failed. Is the target there? `rustup target add {}`",
        component.target
    );
    let file = format!("{}.wasm", component.package.replace('-', "_"));
    let folder = target.join(component.target).join(component.profile);
    let library = folder.join(&file);
    // A command keeps its hyphens.
    let command = folder.join(format!("{}.wasm", component.package));
    Ok(if library.exists() { library } else { command })
}

/// Whether it is valid, of a size that is bearable and imports no more than it may.
fn check(component: &Component, wasm: &[u8]) -> anyhow::Result<()> {
    Validator::new().validate_all(wasm).context("not valid")?;
    anyhow::ensure!(
        wasm.len() <= component.max_bytes,
        "{} bytes; at most {} are allowed",
        wasm.len(),
        component.max_bytes
    );
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(wasm) {
        match payload? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            // Nested modules and components import from this one, which is its own affair.
            Payload::ComponentImportSection(imports) if depth == 0 => {
                for import in imports {
                    let name = import?.name.name;
                    let allowed = match component.imports {
                        Imports::None => false,
                        Imports::Only(namespace) => name.starts_with(namespace),
                    };
                    anyhow::ensure!(allowed, "it imports {name}, which it must not");
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn target_folder(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// The folders that cargo keeps the sources of crates in, one a registry.
fn caches() -> anyhow::Result<Vec<PathBuf>> {
    let Ok(folders) = std::fs::read_dir(cargo_home()?.join("registry/src")) else {
        return Ok(Vec::new());
    };
    folders.map(|folder| Ok(folder?.path())).collect()
}

fn cargo_home() -> anyhow::Result<PathBuf> {
    if let Some(home) = std::env::var_os("CARGO_HOME") {
        return Ok(home.into());
    }
    let home = std::env::home_dir().context("no home folder")?;
    Ok(home.join(".cargo"))
}

fn sysroot() -> anyhow::Result<PathBuf> {
    let output = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()?;
    anyhow::ensure!(output.status.success(), "rustc --print sysroot failed");
    let path = String::from_utf8(output.stdout)?;
    Ok(path.trim().into())
}
