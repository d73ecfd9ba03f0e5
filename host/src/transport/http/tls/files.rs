//! A certificate and a key in files that the operator keeps.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::validity::check_expiry;
use super::{TlsError, provider};
use crate::jobs::clock::Millis;

/// The largest file that is read, in bytes: a chain of certificates has some KiB.
const LARGEST: u64 = 1 << 20;

/// What tells a changed file from an unchanged one: its time and length.
pub type Stamp = [(SystemTime, u64); 2];

/// The files of a certificate chain and of its key, both in PEM form.
#[derive(Clone, Debug)]
pub struct CertificateFiles {
    /// The chain, the server's own certificate first.
    pub certificate: PathBuf,
    /// The key.
    pub key: PathBuf,
}

impl CertificateFiles {
    /// Returns what the files are like now; `None` where one is not there.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        let of = |path: &Path| {
            let meta = std::fs::metadata(path).ok()?;
            Some((meta.modified().ok()?, meta.len()))
        };
        Some([of(&self.certificate)?, of(&self.key)?])
    }

    /// Reads the files.
    ///
    /// # Errors
    /// When they cannot be read, do not belong together, or the certificate has expired.
    pub(super) fn read(&self, now: Millis) -> Result<CertifiedKey, TlsError> {
        let chain = certificates(&self.certificate)?;
        let content = read(&self.key)?;
        let no_key = || TlsError::NoKey(self.key.clone());
        let key = PrivateKeyDer::from_pem_slice(&content).map_err(|_| no_key())?;
        let own = chain
            .first()
            .ok_or_else(|| TlsError::NoCertificate(self.certificate.clone()))?;
        check_expiry(own, &self.certificate, now, false)?;
        let key = provider().key_provider.load_private_key(key);
        let certified = CertifiedKey::new(chain, key.map_err(|_| no_key())?);
        match certified.keys_match() {
            Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::KeyMismatch)) => {
                Err(TlsError::Mismatch {
                    certificate: self.certificate.clone(),
                    key: self.key.clone(),
                })
            }
            // A key of a kind that cannot tell its public key is tried as it is.
            _ => Ok(certified),
        }
    }
}

/// Reads the certificates of a file.
pub(super) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let content = read(path)?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&content).collect();
    match read {
        Ok(chain) if !chain.is_empty() => Ok(chain),
        _ => Err(TlsError::NoCertificate(path.to_owned())),
    }
}

/// Reads a file of a bounded size.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    let failed = |source| TlsError::file(path, source);
    let length = std::fs::metadata(path).map_err(failed)?.len();
    if length > LARGEST {
        return Err(failed(std::io::Error::other("it is larger than 1 MiB")));
    }
    std::fs::read(path).map_err(failed)
}
