//! Follows the log as it grows, over the change from one file to the next.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};

use super::error::AuditError;
use super::files::AuditDir;

/// A place in the log from which new lines are read.
#[derive(Debug)]
pub struct Follow {
    dir: AuditDir,
    file: Option<File>,
    /// A line whose end has not been written.
    rest: Vec<u8>,
}

impl Follow {
    /// Begins at the end of the log.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn from_end(dir: AuditDir) -> Result<Self, AuditError> {
        let path = dir.current();
        let file = match File::open(&path) {
            Ok(mut file) => {
                file.seek(SeekFrom::End(0))
                    .map_err(|error| AuditError::file(&path, error))?;
                Some(file)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(AuditError::file(&path, error)),
        };
        Ok(Self {
            dir,
            file,
            rest: Vec::new(),
        })
    }

    /// Returns the lines that were written since the last time.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn lines(&mut self) -> Result<Vec<String>, AuditError> {
        let path = self.dir.current();
        let failed = |error| AuditError::file(&path, error);
        let mut new = Vec::new();
        loop {
            // Looked at before reading: what the older file has is read to its end first.
            let is_current = match (&self.file, fs::metadata(&path)) {
                (Some(file), Ok(current)) => same(&file.metadata().map_err(failed)?, &current),
                (None, Ok(_)) => false,
                _ => true,
            };
            if let Some(file) = &mut self.file {
                file.read_to_end(&mut new).map_err(failed)?;
            }
            if is_current {
                break;
            }
            self.file = Some(File::open(&path).map_err(failed)?);
        }
        self.rest.extend(new);
        let whole = self
            .rest
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let lines: Vec<u8> = self.rest.drain(..whole).collect();
        let lines = String::from_utf8_lossy(&lines);
        Ok(lines.lines().map(str::to_owned).collect())
    }
}

#[cfg(unix)]
fn same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    one.created().ok() == other.created().ok()
}
