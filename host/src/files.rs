//! Writes files of a person: whole or not at all, through links, with the mode and the owner they have.
//!
//! - A regular file is replaced in one step by a temporary file in its folder, which exists only while it is written.
//! - A symbolic link stays; its target is written, also where that does not exist yet.
//! - Everything else that can be written, such as a pipe, a device or a file with several names, is written through.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Links that are followed to a file, as many as the system itself follows.
const LINKS: usize = 40;
/// Backups of one file; with more, something else is wrong.
const BACKUPS: u32 = 1000;

/// A place to write to, found to be usable before there is anything to write.
#[derive(Debug)]
pub struct Target {
    /// The file itself, behind all links.
    path: PathBuf,
    way: Way,
}

/// How a target is written.
#[derive(Debug)]
enum Way {
    /// There is no file yet.
    Create,
    /// A regular file, replaced in one step.
    Replace(Metadata),
    /// A file with several names, or one that cannot be replaced: its content is overwritten.
    Overwrite,
    /// Storage already: what is no regular file.
    Stream(File),
}

impl Target {
    /// Finds out how `path` is to be written, and that it can be. A pipe waits for its reader here.
    ///
    /// # Errors
    /// Why it cannot be written, as the end of a sentence.
    pub fn prepare(path: &Path) -> io::Result<Self> {
        let refused = |why: &str| Err(io::Error::other(why.to_owned()));
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => refused("it is a folder; name a file in it"),
            Ok(found) if !found.is_file() || leads_to_descriptor(path) => {
                let stream = OpenOptions::new().append(true).open(path)?;
                Ok(Self {
                    path: path.to_owned(),
                    way: Way::Stream(stream),
                })
            }
            Ok(found) => {
                // A file that its owner closed to writing is not replaced either.
                OpenOptions::new().write(true).open(path)?;
                let path = behind_links(path)?;
                let folder = folder_of(&path);
                let way = if names(&found) > 1 || NamedTempFile::new_in(folder).is_err() {
                    Way::Overwrite
                } else {
                    Way::Replace(found)
                };
                Ok(Self { path, way })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let path = behind_links(path)?;
                let folder = folder_of(&path);
                if !folder.is_dir() {
                    return refused(&format!("there is no folder {}", folder.display()));
                }
                NamedTempFile::new_in(folder)?;
                Ok(Self {
                    path,
                    way: Way::Create,
                })
            }
            Err(error) => Err(error),
        }
    }

    /// Whether writing ends by itself, as with a file. A pipe may wait for its reader.
    #[must_use]
    pub const fn takes_a_moment(&self) -> bool {
        !matches!(self.way, Way::Stream(_))
    }

    /// Whether it is a terminal.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(&self.way, Way::Stream(stream) if stream.is_terminal())
    }

    /// Writes the content.
    ///
    /// # Errors
    /// When the disk is full, the reader or the folder went away. A file that was to be replaced is as it was.
    pub fn write(self, content: &[u8]) -> io::Result<()> {
        match self.way {
            Way::Stream(mut stream) => stream.write_all(content).and_then(|()| stream.flush()),
            Way::Overwrite => overwrite(&self.path, content),
            Way::Create => replace(&self.path, content, None),
            Way::Replace(found) => match replace(&self.path, content, Some(&found)) {
                // A mount point can be written to and not be replaced; a file's owner cannot always be kept.
                Err(error) if cannot_replace(&error) => overwrite(&self.path, content),
                other => other,
            },
        }
    }
}

/// Writes a file as [`Target`] does, and makes the folders that lead to it.
///
/// # Errors
/// Why it cannot be written; it is then as it was.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = behind_links(path)?.parent() {
        fs::create_dir_all(folder)?;
    }
    Target::prepare(path)?.write(content)
}

/// Reads a regular file and its mode; `None` where there is none. A link to nothing is none.
///
/// # Errors
/// When it cannot be read, or is no regular file: a pipe might never end.
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

/// Keeps a copy beside the file under a name that nothing had, and returns its path. What has the name already, a
/// link to nowhere included, is neither followed nor replaced.
///
/// # Errors
/// When the copy cannot be written.
pub fn back_up(path: &Path, content: &[u8], mode: &Permissions) -> io::Result<PathBuf> {
    let path = behind_links(path)?;
    for count in 0..BACKUPS {
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
        "{} has {BACKUPS} backups already; remove some",
        path.display()
    )))
}

/// Opens for writing; what is made is its owner's alone until its mode is set.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The path behind all links, whether or not there is something at it.
///
/// # Errors
/// When the links lead in a circle.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let Ok(target) = fs::read_link(&path) else {
            return Ok(path);
        };
        path = folder_of(&path).join(target);
    }
    Err(io::Error::other("its links lead in a circle"))
}

/// Whether a link on the way leads to something that a process has open, which has no path to be replaced.
fn leads_to_descriptor(path: &Path) -> bool {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
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

/// The folder that a path lies in.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Puts the content in the file's place in one step. The temporary file is removed where that fails.
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

/// Writes over the content, so that every name of the file has the new one.
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

/// The names that a file has.
#[cfg(unix)]
fn names(found: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(found)
}

#[cfg(not(unix))]
fn names(_found: &Metadata) -> u64 {
    1
}
