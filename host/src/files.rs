//! Reads and writes files of the user. A write is complete or does not happen. It follows symbolic links and keeps the
//! mode and the owner of the file.
//!
//! - A regular file is replaced atomically by a temporary file in its folder.
//! - A symbolic link remains. Its target is written, even if it does not exist yet.
//! - Any other writable file, such as a pipe, a device or a file with several hard links, is written in place.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// The most symbolic links to follow, the same number as in Linux.
const MAX_LINKS: usize = 40;
/// The most backups of one file.
const MAX_BACKUPS: u32 = 1000;

/// A file to write, which was checked for writing before its content is known.
#[derive(Debug)]
pub struct Target {
    /// The path after following all links.
    path: PathBuf,
    way: WriteMethod,
}

/// How a target is written.
#[derive(Debug)]
enum WriteMethod {
    /// Created, because it does not exist.
    Create,
    /// Replaced atomically. It is a regular file.
    Replace(Metadata),
    /// Overwritten in place. It has several hard links or cannot be replaced.
    Overwrite,
    /// Opened already. It is not a regular file.
    Stream(File),
}

impl Target {
    /// Determines how `path` can be written and checks that it can. Opening a pipe blocks until there is a reader.
    ///
    /// # Errors
    /// If the file cannot be written. The message fits at the end of a sentence.
    pub fn prepare(path: &Path) -> io::Result<Self> {
        let refused = |why: &str| Err(io::Error::other(why.to_owned()));
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => refused("it is a folder; name a file in it"),
            Ok(found) if !found.is_file() || leads_to_descriptor(path) => {
                let stream = OpenOptions::new().append(true).open(path)?;
                Ok(Self {
                    path: path.to_owned(),
                    way: WriteMethod::Stream(stream),
                })
            }
            Ok(found) => {
                // A file that its owner may not write is not replaced either.
                OpenOptions::new().write(true).open(path)?;
                let path = resolve_links(path)?;
                let folder = folder_of(&path);
                let way = if hard_links(&found) > 1 || NamedTempFile::new_in(folder).is_err() {
                    WriteMethod::Overwrite
                } else {
                    WriteMethod::Replace(found)
                };
                Ok(Self { path, way })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let path = resolve_links(path)?;
                let folder = folder_of(&path);
                if !folder.is_dir() {
                    return refused(&format!("there is no folder {}", folder.display()));
                }
                NamedTempFile::new_in(folder)?;
                Ok(Self {
                    path,
                    way: WriteMethod::Create,
                })
            }
            Err(error) => Err(error),
        }
    }

    /// Returns whether writing cannot block for long. A pipe may block until its reader continues.
    #[must_use]
    pub const fn cannot_block(&self) -> bool {
        !matches!(self.way, WriteMethod::Stream(_))
    }

    /// Returns whether the target is a terminal.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(&self.way, WriteMethod::Stream(stream) if stream.is_terminal())
    }

    /// Writes the content.
    ///
    /// # Errors
    /// If the disk is full, or the reader or the folder disappeared. A file that was to be replaced is then unchanged.
    pub fn write(self, content: &[u8]) -> io::Result<()> {
        match self.way {
            WriteMethod::Stream(mut stream) => {
                stream.write_all(content).and_then(|()| stream.flush())
            }
            WriteMethod::Overwrite => overwrite(&self.path, content),
            WriteMethod::Create => replace(&self.path, content, None),
            WriteMethod::Replace(found) => match replace(&self.path, content, Some(&found)) {
                // A mount point cannot be replaced, and the owner of a file cannot always be kept.
                Err(error) if cannot_replace(&error) => overwrite(&self.path, content),
                other => other,
            },
        }
    }
}

/// Writes a file as [`Target`] does and creates its parent folders.
///
/// # Errors
/// If the file cannot be written. It is then unchanged.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = resolve_links(path)?.parent() {
        fs::create_dir_all(folder)?;
    }
    Target::prepare(path)?.write(content)
}

/// Reads a regular file and its mode. Returns `None` if the file does not exist or is a dangling link.
///
/// # Errors
/// If the file cannot be read or is not a regular file, such as a pipe, which might never end.
pub fn read(path: &Path) -> io::Result<Option<(Vec<u8>, Permissions)>> {
    let found = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        found => found?,
    };
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(Some((fs::read(path)?, found.permissions())))
}

/// Writes a backup beside the file under an unused name and returns its path. Existing files and links, also dangling
/// ones, are neither followed nor replaced.
///
/// # Errors
/// If the backup cannot be written.
pub fn back_up(path: &Path, content: &[u8], mode: &Permissions) -> io::Result<PathBuf> {
    let path = resolve_links(path)?;
    for count in 0..MAX_BACKUPS {
        let mut name = path.clone().into_os_string();
        match count {
            0 => name.push(".bak"),
            count => name.push(format!(".bak.{count}")),
        }
        let mut copy = match private().create_new(true).open(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            copy => copy?,
        };
        copy.write_all(content)?;
        copy.set_permissions(mode.clone())?;
        return Ok(name.into());
    }
    Err(io::Error::other(format!(
        "{} has {MAX_BACKUPS} backups already; remove some",
        path.display()
    )))
}

/// Returns options that open a file for writing and create it with access for its owner only.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Returns the path after following all links, even if nothing exists there.
///
/// # Errors
/// If there are too many links.
fn resolve_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(target) = fs::read_link(&path) else {
            return Ok(path);
        };
        path = folder_of(&path).join(target);
    }
    Err(io::Error::other("its links lead in a circle"))
}

/// Returns whether a link leads to an open file descriptor, which cannot be replaced.
fn leads_to_descriptor(path: &Path) -> bool {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        if path.starts_with("/proc") || path.starts_with("/dev/fd") {
            return true;
        }
        let Ok(target) = fs::read_link(&path) else {
            return false;
        };
        path = folder_of(&path).join(target);
    }
    false
}

/// Returns the folder of a path.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Replaces a file atomically. The temporary file is removed if this fails.
fn replace(path: &Path, content: &[u8], present: Option<&Metadata>) -> io::Result<()> {
    let mut draft = NamedTempFile::new_in(folder_of(path))?;
    draft.write_all(content)?;
    if let Some(present) = present {
        keep_owner(draft.as_file(), present)?;
        draft.as_file().set_permissions(present.permissions())?;
    }
    draft.as_file().sync_all()?;
    draft.persist(path)?;
    Ok(())
}

/// Overwrites the content of a file, so that all its hard links have the new content.
fn overwrite(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = private().truncate(true).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

fn cannot_replace(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied
            | io::ErrorKind::ResourceBusy
            | io::ErrorKind::CrossesDevices
    )
}

#[cfg(unix)]
fn keep_owner(file: &File, present: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let own = file.metadata()?;
    if (own.uid(), own.gid()) == (present.uid(), present.gid()) {
        return Ok(());
    }
    fchown(file, Some(present.uid()), Some(present.gid()))
}

#[cfg(not(unix))]
fn keep_owner(_file: &File, _present: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Returns the number of hard links of a file.
#[cfg(unix)]
fn hard_links(found: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(found)
}

#[cfg(not(unix))]
fn hard_links(_found: &Metadata) -> u64 {
    1
}
