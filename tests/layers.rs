//! The structure of `host/src`: imports run one way. No cycle between its folders, none between its files, and no
//! folder imports one that `ARCHITECTURE.md` puts above it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The folders, from the edge inwards: each may import those of its own row and of the rows after it.
const LAYERS: [&[&str]; 9] = [
    &["cli"],
    &["transport", "wasi"],
    &["mcp", "rpc"],
    &["settings", "simulator"],
    &["policy"],
    &["jobs", "traffic"],
    &["upstream"],
    &["answers"],
    &["sandbox", "money", "files", "secrets", "exit"],
];

/// A module's path within the crate, such as `jobs::runner`.
type Module = Vec<String>;

/// Which module imports which.
type Imports = BTreeMap<Module, BTreeSet<Module>>;

#[test]
fn no_file_imports_itself_through_others() {
    let cycle = find_cycle(&imports());
    assert!(cycle.is_none(), "{}", shown(&cycle.unwrap_or_default()));
}

#[test]
fn no_folder_imports_itself_through_others() {
    let cycle = find_cycle(&between_folders());
    assert!(cycle.is_none(), "{}", shown(&cycle.unwrap_or_default()));
}

#[test]
fn folders_import_inner_layers_only() {
    let layer = |folder: &str| {
        LAYERS
            .iter()
            .position(|layer| layer.contains(&folder))
            .unwrap_or_else(|| panic!("the folder {folder} is in no layer of this test"))
    };
    for (from, targets) in between_folders() {
        for to in targets {
            let (from, to) = (&from[0], &to[0]);
            assert!(
                layer(from) <= layer(to),
                "{from} imports {to}, which is above it"
            );
        }
    }
}

#[test]
fn a_cycle_is_found() {
    let module = |name: &str| vec![name.to_owned()];
    let imports = Imports::from([
        (module("a"), BTreeSet::from([module("b")])),
        (module("b"), BTreeSet::from([module("c")])),
        (module("c"), BTreeSet::from([module("b")])),
    ]);
    assert_eq!(shown(&find_cycle(&imports).unwrap()), "b -> c -> b");
}

#[test]
fn nested_imports_are_expanded() {
    let text = "use super::{a::{B, c::D}, e};\npub use crate::f::G;\n#[cfg(test)]\nuse crate::h;";
    assert_eq!(
        import_paths(text),
        ["super::a::B", "super::a::c::D", "super::e"]
    );
}

/// Every import between files of the crate.
fn imports() -> Imports {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = modules(&root);
    let known: BTreeSet<Module> = files.keys().cloned().collect();
    let mut imports = Imports::new();
    for (module, path) in &files {
        let text = fs::read_to_string(path).unwrap();
        let targets = import_paths(&text)
            .iter()
            .filter_map(|import| target(import, module, &known))
            .filter(|target| target != module)
            .collect();
        imports.insert(module.clone(), targets);
    }
    imports
}

fn between_folders() -> Imports {
    let mut folders = Imports::new();
    for (from, targets) in imports() {
        for to in targets {
            if let (Some(from), Some(to)) = (from.first(), to.first())
                && from != to
            {
                let targets = folders.entry(vec![from.clone()]).or_default();
                targets.insert(vec![to.clone()]);
            }
        }
    }
    folders
}

/// The modules below a folder, with their files. The crate's root is not one of them: it only names the others.
fn modules(root: &Path) -> BTreeMap<Module, PathBuf> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let below = path.strip_prefix(root).unwrap().with_extension("");
                let parts = below.iter().map(|part| part.to_str().unwrap().to_owned());
                let mut module: Module = parts.collect();
                if module.last().is_some_and(|last| last == "mod") {
                    module.pop();
                }
                found.insert(module, path);
            }
        }
    }
    found.remove(&vec!["lib".to_owned()]);
    found.remove(&vec!["main".to_owned()]);
    found
}

/// The paths of a file's imports outside its tests. A `pub use` is how a folder names what its files hold: no import.
fn import_paths(text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut paths = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(first) = line.trim_start().strip_prefix("use ") else {
            continue;
        };
        let mut tree = first.to_owned();
        while !tree.contains(';') {
            tree.push_str(lines.next().unwrap_or(";").trim());
        }
        expand("", tree.trim_end_matches(';'), &mut paths);
    }
    paths
}

/// Adds the paths of a tree such as `a::{b, c::{d, e}}`.
fn expand(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let tree = tree.trim();
    let Some((before, rest)) = tree.split_once('{') else {
        let name = tree.split(" as ").next().unwrap_or_default();
        if !name.is_empty() {
            paths.push(format!("{prefix}{name}"));
        }
        return;
    };
    let prefix = format!("{prefix}{before}");
    let inner = rest.strip_suffix('}').unwrap_or(rest);
    let (mut depth, mut start) = (0, 0);
    for (index, character) in inner.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&prefix, &inner[start..index], paths);
                start = index + 1;
            }
            _ => {}
        }
    }
    expand(&prefix, &inner[start..], paths);
}

/// The file that a path means, if it is one of this crate: the longest part of it that is a module.
fn target(path: &str, from: &Module, known: &BTreeSet<Module>) -> Option<Module> {
    let mut parts = path.split("::").peekable();
    let mut module = match *parts.peek()? {
        "crate" => {
            parts.next();
            Module::new()
        }
        "self" => {
            parts.next();
            from.clone()
        }
        "super" => {
            let mut module = from.clone();
            while parts.next_if_eq(&"super").is_some() {
                module.pop();
            }
            module
        }
        _ => from.clone(),
    };
    for part in parts {
        module.push(part.to_owned());
        if !known.contains(&module) {
            module.pop();
            break;
        }
    }
    known.contains(&module).then_some(module)
}

/// A path that leads back to its first module, which is named again at its end.
fn find_cycle(imports: &Imports) -> Option<Vec<Module>> {
    let mut done = BTreeSet::new();
    imports
        .keys()
        .find_map(|start| follow(start, imports, &mut Vec::new(), &mut done))
}

fn follow(
    module: &Module,
    imports: &Imports,
    path: &mut Vec<Module>,
    done: &mut BTreeSet<Module>,
) -> Option<Vec<Module>> {
    if let Some(start) = path.iter().position(|earlier| earlier == module) {
        let mut cycle = path.split_off(start);
        cycle.push(module.clone());
        return Some(cycle);
    }
    if !done.insert(module.clone()) {
        return None;
    }
    path.push(module.clone());
    let found = imports
        .get(module)
        .into_iter()
        .flatten()
        .find_map(|next| follow(next, imports, path, done));
    if found.is_none() {
        path.pop();
    }
    found
}

fn shown(cycle: &[Module]) -> String {
    let names: Vec<String> = cycle.iter().map(|module| module.join("::")).collect();
    names.join(" -> ")
}
