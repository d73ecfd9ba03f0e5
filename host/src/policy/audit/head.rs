//! `head.json`: the newest line and the oldest that is kept.
//!
//! It is written over in place, at one size, after each line. A process that dies in between leaves it one line behind, which
//! is no fault: a line that it names and that is not there is.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

use serde::{Deserialize, Serialize};

use super::chain::LineHash;

/// Bytes of the file. What it says is filled up with spaces.
const BYTES: usize = 256;

/// What `head.json` says.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Head {
    /// The number of the newest line.
    pub seq: u64,
    /// The hash of the newest line.
    pub hash: String,
    /// The number of the oldest line that is kept.
    pub first: u64,
    /// Bytes of the file with the newest line, up to the line's end.
    pub bytes: u64,
}

impl Head {
    /// Returns the hash of the newest line, where it is one.
    #[must_use]
    pub fn line_hash(&self) -> Option<LineHash> {
        self.hash.parse().ok()
    }

    /// Reads the file. `None` where it says nothing that can be read.
    pub fn read(mut file: &File) -> io::Result<Option<Self>> {
        let mut text = Vec::with_capacity(BYTES);
        file.seek(SeekFrom::Start(0))?;
        file.take(BYTES as u64).read_to_end(&mut text)?;
        Ok(serde_json::from_slice(&text).ok())
    }

    /// Writes the file.
    pub fn write(&self, mut file: &File) -> io::Result<()> {
        let mut text = serde_json::to_vec(self)?;
        text.resize(BYTES.max(text.len() + 1) - 1, b' ');
        text.push(b'\n');
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&text)
    }
}
