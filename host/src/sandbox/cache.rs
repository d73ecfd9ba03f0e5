//! The folder in which compiled code is kept between runs.

use std::fs;
use std::path::Path;

use wasmtime::{Cache, CacheConfig};

/// Returns the cache in this folder. `None` where others can write to the folder, who could then run code as this
/// user, and where it cannot be used.
pub(super) fn open(folder: &Path) -> Option<Cache> {
    if !make_private(folder) {
        tracing::warn!(
            folder = %folder.display(),
            "compiled code is not kept: the folder must belong to this user, and nobody else may write to it"
        );
        return None;
    }
    let mut cache = CacheConfig::new();
    cache.with_directory(folder);
    match Cache::new(cache) {
        Ok(cache) => Some(cache),
        Err(error) => {
            tracing::warn!(folder = %folder.display(), %error, "compiled code is not kept");
            None
        }
    }
}

/// Creates the folder if needed, and returns whether this user alone can write to it.
#[cfg(unix)]
fn make_private(folder: &Path) -> bool {
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};

    let mut builder = fs::DirBuilder::new();
    if builder.recursive(true).mode(0o700).create(folder).is_err() {
        return false;
    }
    // The owner of a new file is the user that this process runs as.
    let Ok(us) = tempfile::tempfile_in(folder).and_then(|file| file.metadata()) else {
        return false;
    };
    fs::symlink_metadata(folder)
        .is_ok_and(|meta| meta.is_dir() && meta.uid() == us.uid() && meta.mode() & 0o022 == 0)
}

/// Creates the folder if needed. The permissions of the user's profile decide who can write to it.
#[cfg(not(unix))]
fn make_private(folder: &Path) -> bool {
    fs::create_dir_all(folder).is_ok()
}
