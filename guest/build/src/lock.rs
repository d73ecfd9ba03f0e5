//! What a crate is locked to: the transitive closure of its dependencies in `Cargo.lock`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;
use toml_edit::{DocumentMut, Table};

/// A package of the lock file.
struct Package {
    version: String,
    checksum: String,
    dependencies: Vec<String>,
}

/// The dependencies of these crates and theirs, one `name version checksum` a line, sorted. Local crates
/// are followed by their manifests, so that what only their tests need does not count.
pub(crate) fn closure(
    root: &Path,
    workspace: &str,
    crates: &[&str],
) -> anyhow::Result<BTreeSet<String>> {
    let packages = packages(&root.join(workspace).join("Cargo.lock"))?;
    let mut todo = Vec::new();
    for folder in crates {
        todo.extend(direct(&root.join(folder).join("Cargo.toml"))?);
    }
    let mut seen = BTreeSet::new();
    let mut lines = BTreeSet::new();
    while let Some(wanted) = todo.pop() {
        if !seen.insert(wanted.clone()) {
            continue;
        }
        // `name`, or `name version` where the lock file has several.
        let (name, version) = match wanted.split_once(' ') {
            Some((name, version)) => (name, version.split(' ').next()),
            None => (wanted.as_str(), None),
        };
        for package in packages.get(name).into_iter().flatten() {
            // A local crate has no checksum, is followed by its manifest and hashed by its files.
            if package.checksum.is_empty() || version.is_some_and(|v| v != package.version) {
                continue;
            }
            lines.insert(format!("{name} {} {}", package.version, package.checksum));
            todo.extend(package.dependencies.iter().cloned());
        }
    }
    Ok(lines)
}

/// Returns what the workspace says of these dependencies (the features, which no lock file has) and of the profiles that the
/// component is built with.
pub(crate) fn workspace_items(
    manifest: &Path,
    names: &BTreeSet<String>,
    profile: &str,
) -> anyhow::Result<Vec<String>> {
    let manifest = document(manifest)?;
    let mut items = Vec::new();
    if let Some(dependencies) = table(&manifest, &["workspace", "dependencies"]) {
        for (name, item) in dependencies {
            if names
                .iter()
                .any(|line| line.split(' ').next() == Some(name))
            {
                items.push(format!("{name} = {}", item.to_string().trim()));
            }
        }
    }
    if let Some(profiles) = table(&manifest, &["profile"]) {
        let common = ["release", "component"];
        let own = Some(profile).filter(|own| !common.contains(own));
        for name in common.into_iter().chain(own) {
            if let Some(profile) = profiles.get(name) {
                items.push(format!("[profile.{name}]\n{}", profile.to_string().trim()));
            }
        }
    }
    items.sort();
    Ok(items)
}

fn packages(lock: &Path) -> anyhow::Result<BTreeMap<String, Vec<Package>>> {
    let lock = document(lock)?;
    let list = lock
        .get("package")
        .and_then(|item| item.as_array_of_tables())
        .context("the lock file has no packages")?;
    let mut packages: BTreeMap<String, Vec<Package>> = BTreeMap::new();
    for table in list {
        let text = |key: &str| {
            let value = table.get(key).and_then(|item| item.as_str());
            value.unwrap_or_default().to_owned()
        };
        let dependencies = table.get("dependencies").and_then(|item| item.as_array());
        packages.entry(text("name")).or_default().push(Package {
            version: text("version"),
            checksum: text("checksum"),
            dependencies: dependencies
                .into_iter()
                .flatten()
                .filter_map(|value| value.as_str().map(str::to_owned))
                .collect(),
        });
    }
    Ok(packages)
}

/// The names under `[dependencies]`.
fn direct(manifest: &Path) -> anyhow::Result<Vec<String>> {
    let manifest = document(manifest)?;
    let dependencies = table(&manifest, &["dependencies"]);
    Ok(dependencies
        .into_iter()
        .flat_map(|table| table.iter().map(|(name, _)| name.to_owned()))
        .collect())
}

fn table<'a>(document: &'a DocumentMut, path: &[&str]) -> Option<&'a Table> {
    path.iter()
        .try_fold(document.as_table(), |table, key| table.get(key)?.as_table())
}

fn document(path: &Path) -> anyhow::Result<DocumentMut> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    text.parse().with_context(|| path.display().to_string())
}
