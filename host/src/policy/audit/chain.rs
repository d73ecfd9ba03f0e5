//! The hash that links a line to the one before it.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::str::FromStr;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use super::hex;

/// Bytes of a key at least: what is shorter can be guessed.
const LEAST_KEY_BYTES: usize = 16;
/// Bytes of a key at most. A longer file is not a key.
const MOST_KEY_BYTES: u64 = 4096;
/// Bytes of a key's id, which is shown.
const ID_BYTES: usize = 8;

/// The hash of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineHash([u8; 32]);

impl LineHash {
    /// The hash before the first line of a chain.
    pub const START: Self = Self([0; 32]);
}

impl fmt::Display for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl FromStr for LineHash {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut bytes = [0; 32];
        if text.len() != 2 * bytes.len() || !text.is_ascii() {
            return Err(());
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| ())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| ())?;
        }
        Ok(Self(bytes))
    }
}

/// The key of a chain.
#[derive(Clone)]
pub struct ChainKey {
    mac: Hmac<Sha256>,
    id: String,
}

impl fmt::Debug for ChainKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChainKey({})", self.id)
    }
}

impl ChainKey {
    /// Makes a key of bytes. White space at the end is no part of it.
    ///
    /// # Errors
    /// Where they are too few.
    pub fn new(bytes: &[u8]) -> Result<Self, String> {
        let bytes = bytes.trim_ascii_end();
        if bytes.len() < LEAST_KEY_BYTES {
            return Err(format!("it has fewer than {LEAST_KEY_BYTES} bytes"));
        }
        let mac = Hmac::<Sha256>::new_from_slice(bytes).map_err(|error| error.to_string())?;
        let id = mac
            .clone()
            .chain_update(b"glovebox audit key id")
            .finalize();
        let id = id
            .into_bytes()
            .iter()
            .take(ID_BYTES)
            .copied()
            .collect::<Vec<u8>>();
        Ok(Self { mac, id: hex(&id) })
    }

    /// Reads a key from a file.
    ///
    /// # Errors
    /// When it cannot be read, or is no key.
    pub fn read(path: &Path) -> io::Result<Self> {
        if fs::metadata(path)?.len() > MOST_KEY_BYTES {
            return Err(io::Error::other(format!(
                "it has more than {MOST_KEY_BYTES} bytes"
            )));
        }
        Self::new(&fs::read(path)?).map_err(io::Error::other)
    }

    /// Returns the key's id, from which nobody can tell the key.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// Returns the hash of a line, which stands in the line after it.
#[must_use]
pub fn hash(key: Option<&ChainKey>, line: &[u8]) -> LineHash {
    LineHash(match key {
        None => Sha256::digest(line).into(),
        Some(key) => key
            .mac
            .clone()
            .chain_update(line)
            .finalize()
            .into_bytes()
            .into(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_its_text() {
        let key = ChainKey::new(b"0123456789abcdef\n").unwrap();
        for key in [None, Some(&key)] {
            let hash = hash(key, b"a line");
            assert_eq!(hash.to_string().parse(), Ok(hash));
        }
        assert_ne!(hash(None, b"a line"), hash(Some(&key), b"a line"));
        assert!("g".repeat(64).parse::<LineHash>().is_err());
        assert!(ChainKey::new(b"short \n\n\n\n\n\n\n\n\n\n\n\n\n\n").is_err());
    }
}
