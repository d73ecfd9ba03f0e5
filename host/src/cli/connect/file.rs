//! Replacing a user's file: whole or not at all, with its permissions, and with the old one kept.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// Reads the file; `None` where there is none.
///
/// # Errors
/// Where it cannot be read or is not UTF-8.
pub fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("{} cannot be read", path.display())),
    }
}

/// Puts the text in place of the file. Returns where the old one is kept, if there was one.
///
/// # Errors
/// Where the folder cannot be written to; the file is then as it was.
pub fn replace(path: &Path, text: &str) -> anyhow::Result<Option<PathBuf>> {
    // Configurations are often links into a folder of dot files; the link must survive.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let unchanged = || format!("{} could not be written and is as it was", path.display());
    fs::create_dir_all(folder).with_context(unchanged)?;
    let backup = match fs::metadata(&path) {
        Ok(_) => {
            let backup = free_name(&path);
            fs::copy(&path, &backup).with_context(unchanged)?;
            Some(backup)
        }
        Err(_) => None,
    };
    let mut draft = tempfile::NamedTempFile::new_in(folder).with_context(unchanged)?;
    draft.write_all(text.as_bytes()).with_context(unchanged)?;
    draft.as_file().sync_all().with_context(unchanged)?;
    // A new file keeps the draft's mode, which only its owner can read: it may come to hold a key.
    if let Ok(metadata) = fs::metadata(&path) {
        draft
            .as_file()
            .set_permissions(metadata.permissions())
            .with_context(unchanged)?;
    }
    draft.persist(&path).with_context(unchanged)?;
    Ok(backup)
}

/// A name beside the file that nothing has: an earlier backup is never overwritten.
fn free_name(path: &Path) -> PathBuf {
    let named = |suffix: String| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let first = named(".bak".into());
    if !first.exists() {
        return first;
    }
    (1_u32..)
        .map(|count| named(format!(".bak.{count}")))
        .find(|name| !name.exists())
        .unwrap_or(first)
}
