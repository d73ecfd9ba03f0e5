//! The bearer token, generated on first use and kept in a file that only its owner can read.

use std::fmt::{self, Write as _};
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use thiserror::Error;

/// Random bytes of a token.
const BYTES: usize = 32;
/// The longest token file that is read, in bytes.
const LONGEST: u64 = 4096;

/// Why there is no token.
#[derive(Debug, Error)]
pub enum TokenError {
    /// The file cannot be read or written.
    #[error(
        "the token file {path} cannot be used: {source}; make it readable, or name another with --token-file"
    )]
    File {
        /// The file.
        path: PathBuf,
        /// What the system reported.
        source: io::Error,
    },
    /// The file holds no token.
    #[error(
        "the token file {0} holds no token: a token is one line of visible ASCII; glovebox token new writes one"
    )]
    Malformed(PathBuf),
    /// The system gives no random bytes.
    #[error("the system gives no random bytes for a token: {0}")]
    Random(String),
}

/// A token. Its `Debug` output does not show it.
#[derive(Clone)]
pub struct Token(SecretString);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// A digest of a token, to which sessions are bound.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest(…)")
    }
}

impl Digest {
    /// Returns the digest as hexadecimal text.
    #[must_use]
    pub fn hex(&self) -> String {
        hex(&self.0)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the SHA-256 of a text as hexadecimal text.
#[must_use]
pub fn sha256_hex(text: &str) -> String {
    hex(&Sha256::digest(text))
}

/// Returns 32 random bytes as base64url: a token, or the id of a session.
///
/// # Errors
/// When the system gives no random bytes.
pub fn random_text() -> Result<String, TokenError> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| TokenError::Random(error.to_string()))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

impl Token {
    /// Generates a token.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn random() -> Result<Self, TokenError> {
        random_text().map(|text| Self(text.into()))
    }

    /// Parses the content of a token file. `None` where it holds no token.
    #[must_use]
    pub fn parse(content: &str) -> Option<Self> {
        let text = content.trim();
        let visible = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        visible.then(|| Self(text.to_owned().into()))
    }

    /// Compares with a given value in constant time for values of the same length.
    #[must_use]
    pub fn is(&self, given: &[u8]) -> bool {
        self.0.expose_secret().as_bytes().ct_eq(given).into()
    }

    /// Returns the token's digest.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest(Sha256::digest(self.0.expose_secret()).into())
    }

    /// Returns the HMAC-SHA256 of a message with the token as its key.
    #[must_use]
    pub(super) fn sign(&self, message: &str) -> [u8; 32] {
        // HMAC accepts keys of any length.
        let key = Hmac::<Sha256>::new_from_slice(self.0.expose_secret().as_bytes());
        key.map_or([0; 32], |mac| {
            mac.chain_update(message).finalize().into_bytes().into()
        })
    }

    /// Returns the token's text, for `glovebox token show` alone.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

/// A token file, which is read again when it changes.
#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    read: Mutex<Option<(SystemTime, u64, Token)>>,
}

impl TokenFile {
    /// Creates a token file. Nothing is read yet.
    #[must_use]
    pub const fn new(path: PathBuf) -> Self {
        Self {
            path,
            read: Mutex::new(None),
        }
    }

    /// Returns where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the token, or generates one if there is no file.
    ///
    /// # Errors
    /// When the file cannot be used.
    pub fn read_or_make(&self) -> Result<Token, TokenError> {
        match self.read() {
            Err(TokenError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                match self.write(&Token::random()?, true) {
                    // Another process was first.
                    Err(TokenError::File { source, .. })
                        if source.kind() == io::ErrorKind::AlreadyExists => {}
                    written => written?,
                }
                self.read()
            }
            read => read,
        }
    }

    /// Replaces the token with a new one.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn renew(&self) -> Result<Token, TokenError> {
        let token = Token::random()?;
        self.write(&token, false)?;
        Ok(token)
    }

    /// Returns the current token of the file. It is read again only if the file has changed.
    ///
    /// # Errors
    /// When the file cannot be read or holds no token.
    pub fn read(&self) -> Result<Token, TokenError> {
        let failed = |source| self.failed(source);
        let meta = std::fs::metadata(&self.path).map_err(failed)?;
        let stamp = (meta.modified().map_err(failed)?, meta.len());
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((modified, len, token)) = &*read
            && (*modified, *len) == stamp
        {
            return Ok(token.clone());
        }
        if stamp.1 > LONGEST {
            return Err(TokenError::Malformed(self.path.clone()));
        }
        let content = std::fs::read_to_string(&self.path).map_err(failed)?;
        let token =
            Token::parse(&content).ok_or_else(|| TokenError::Malformed(self.path.clone()))?;
        *read = Some((stamp.0, stamp.1, token.clone()));
        Ok(token)
    }

    /// Returns whether other users of this machine can read the file.
    #[must_use]
    pub fn is_readable_by_others(&self) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let meta = std::fs::metadata(&self.path);
            meta.is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0)
        }
        #[cfg(not(unix))]
        false
    }

    /// Writes a temporary file and renames it, so that no reader sees half a token.
    fn write(&self, token: &Token, only_new: bool) -> Result<(), TokenError> {
        let failed = |source| self.failed(source);
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!(".{}", random_text()?));
        let beside = PathBuf::from(name);
        let written = private()
            .open(&beside)
            .and_then(|mut file| {
                writeln!(file, "{}", token.expose())?;
                file.sync_all()
            })
            .and_then(|()| {
                if only_new {
                    std::fs::hard_link(&beside, &self.path)
                } else {
                    std::fs::rename(&beside, &self.path)
                }
            });
        // Does not exist any more if it was renamed.
        let _ = std::fs::remove_file(&beside);
        written.map_err(failed)
    }

    fn failed(&self, source: io::Error) -> TokenError {
        TokenError::File {
            path: self.path.clone(),
            source,
        }
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_and_read_again_when_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile::new(folder.path().join("deep/token"));
        let first = file.read_or_make().unwrap();
        assert_eq!(first.expose().len(), 43);
        assert_eq!(file.read_or_make().unwrap().expose(), first.expose());
        let second = TokenFile::new(file.path().to_owned()).renew().unwrap();
        assert_eq!(file.read().unwrap().expose(), second.expose());
        assert!(second.is(second.expose().as_bytes()) && !second.is(first.expose().as_bytes()));
        let names = std::fs::read_dir(folder.path().join("deep"))
            .unwrap()
            .count();
        assert_eq!(names, 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(file.path()).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn a_blank_file_is_no_token() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        for content in ["", " \n", "two words\n", "caf\u{e9}"] {
            std::fs::write(&path, content).unwrap();
            let read = TokenFile::new(path.clone()).read_or_make();
            assert!(matches!(read, Err(TokenError::Malformed(_))), "{content:?}");
        }
        assert!(!format!("{:?}", Token::random()).contains("secret"));
    }
}
