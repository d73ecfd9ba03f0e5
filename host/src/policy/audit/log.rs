//! The audit log as the processes of a state folder share it.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError as TryMutexError};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::chain::ChainKey;
use super::error::AuditError;
use super::event::Event;
use super::files::{AuditDir, private};
use super::hex;
use super::writer::Writer;
use crate::jobs::clock::Clock;

/// Bytes after which a new file is begun: large enough for a day of a busy server, small enough to be read whole.
pub const ROTATE_BYTES: u64 = 16 << 20;
/// Random bytes of the secret for the HMACs of arguments and results.
const SECRET_BYTES: usize = 32;

/// How a log is kept.
#[derive(Clone, Debug)]
pub struct AuditConfig {
    /// Where it is.
    pub dir: AuditDir,
    /// The file with the key of the chain.
    pub key_file: Option<PathBuf>,
    /// Bytes after which a new file is begun.
    pub rotate_bytes: u64,
    /// The clock of the events.
    pub clock: Arc<dyn Clock>,
}

/// An open log.
#[derive(Debug)]
pub struct AuditLog {
    dir: AuditDir,
    clock: Arc<dyn Clock>,
    secret: Hmac<Sha256>,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    lock: File,
    writer: Writer,
}

/// The folder's lock, held until this value is dropped.
struct Locked<'a>(&'a File);

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.0.unlock() {
            tracing::warn!(%error, "the lock of the audit log cannot be given back");
        }
    }
}

impl AuditLog {
    /// Opens a log and makes what is missing.
    ///
    /// # Errors
    /// When a file cannot be used, or the log is kept with another key.
    pub fn open(config: AuditConfig) -> Result<Self, AuditError> {
        let dir = config.dir;
        dir.create()?;
        let key = config.key_file.map(|path| {
            ChainKey::read(&path).map_err(|source| AuditError::KeyFile { path, source })
        });
        let key = key.transpose()?;
        let lock = private(&dir.lock(), false)?;
        let failed = |error| AuditError::file(&dir.lock(), error);
        let (writer, secret) = {
            lock.lock().map_err(failed)?;
            let _locked = Locked(&lock);
            let writer = Writer::open(dir.clone(), key, config.rotate_bytes)?;
            (writer, secret(&dir)?)
        };
        Ok(Self {
            dir,
            clock: config.clock,
            secret,
            inner: Mutex::new(Inner { lock, writer }),
        })
    }

    /// Returns the folder.
    #[must_use]
    pub const fn dir(&self) -> &AuditDir {
        &self.dir
    }

    /// Returns the HMAC of something, with a key of the folder. It tells nothing about what it is of, and is equal for
    /// equal things.
    #[must_use]
    pub fn mac(&self, bytes: &[u8]) -> String {
        let mac = self.secret.clone().chain_update(bytes).finalize();
        hex(&mac.into_bytes())
    }

    /// Appends an event and waits for other processes. Returns the number of its line.
    ///
    /// # Errors
    /// When it cannot be written. The log is then as it was.
    pub fn append(&self, event: &Event) -> Result<u64, AuditError> {
        let mut inner = self.lock();
        let Inner { lock, writer } = &mut *inner;
        lock.lock()
            .map_err(|error| AuditError::file(&self.dir.lock(), error))?;
        let _locked = Locked(lock);
        writer.append(event, &self.clock.now().rfc3339())
    }

    /// Appends an event unless that means to wait. Returns `None` where it does.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub fn try_append(&self, event: &Event) -> Result<Option<u64>, AuditError> {
        let mut inner = match self.inner.try_lock() {
            Ok(inner) => inner,
            Err(TryMutexError::WouldBlock) => return Ok(None),
            Err(TryMutexError::Poisoned(poisoned)) => poisoned.into_inner(),
        };
        let Inner { lock, writer } = &mut *inner;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => {
                return Err(AuditError::file(&self.dir.lock(), error));
            }
        }
        let _locked = Locked(lock);
        let seq = writer.append(event, &self.clock.now().rfc3339())?;
        Ok(Some(seq))
    }

    /// Brings what was written to the disk.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn sync(&self) -> Result<(), AuditError> {
        self.lock().writer.sync()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the secret for the HMACs, made by the first process. The folder's lock is held.
fn secret(dir: &AuditDir) -> Result<Hmac<Sha256>, AuditError> {
    let path = dir.secret();
    let failed = |error| AuditError::file(&path, error);
    let mut bytes = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        read => read.map_err(failed)?,
    };
    if bytes.len() < SECRET_BYTES {
        let mut fresh = [0; SECRET_BYTES];
        getrandom::fill(&mut fresh).map_err(|error| failed(io::Error::other(error.to_string())))?;
        let mut file = private(&path, false)?;
        file.set_len(0)
            .and_then(|()| file.write_all(&fresh))
            .and_then(|()| file.sync_all())
            .map_err(failed)?;
        bytes = fresh.to_vec();
    }
    Hmac::new_from_slice(&bytes).map_err(|error| AuditError::Defect(error.to_string()))
}
