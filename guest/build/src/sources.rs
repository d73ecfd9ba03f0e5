//! The hash of everything that a component is made of.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};

use crate::{Component, lock, to_hex};

/// SHA-256 over the sources, the contract, the locked dependencies with their features, the profiles and
/// the flags. `root` is the repository's.
///
/// # Errors
/// When something of it cannot be read.
pub fn hash(component: &Component, root: &Path) -> anyhow::Result<String> {
    let mut hasher = Sha256::new();
    for path in files(component, root)? {
        let bytes = fs::read(root.join(&path)).with_context(|| path.display().to_string())?;
        let name = path.to_string_lossy().replace('\\', "/");
        part(&mut hasher, name.as_bytes());
        part(&mut hasher, &bytes);
    }
    let locked = lock::closure(root, component.workspace, component.crates)?;
    for line in &locked {
        part(&mut hasher, line.as_bytes());
    }
    let manifest = root.join(component.workspace).join("Cargo.toml");
    for item in lock::workspace_items(&manifest, &locked, component.profile)? {
        part(&mut hasher, item.as_bytes());
    }
    for flag in component.flags {
        part(&mut hasher, flag.as_bytes());
    }
    part(&mut hasher, component.target.as_bytes());
    Ok(to_hex(hasher.finalize().as_slice()))
}

/// One part with its length, so that two parts cannot be cut differently and hash the same.
fn part(hasher: &mut Sha256, bytes: &[u8]) {
    hasher.update((bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

/// All files, from the repository's root, sorted.
fn files(component: &Component, root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in component.crates {
        files.push(Path::new(folder).join("Cargo.toml"));
        collect(root, &Path::new(folder).join("src"), &mut files)?;
    }
    for other in component.others {
        collect(root, Path::new(other), &mut files)?;
    }
    files.sort();
    files.dedup();
    Ok(files)
}

fn collect(root: &Path, path: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let full = root.join(path);
    if full.is_file() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(&full).with_context(|| full.display().to_string())? {
        collect(root, &path.join(entry?.file_name()), files)?;
    }
    Ok(())
}
