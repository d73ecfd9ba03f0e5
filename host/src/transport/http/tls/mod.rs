//! TLS of external mode: which certificate the server presents, and when it is replaced.

mod files;
mod local_ca;
mod pin;
mod validity;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::crypto::CryptoProvider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use thiserror::Error;
use tokio_rustls::TlsAcceptor;

use crate::jobs::clock::{Clock, Millis};

pub use files::CertificateFiles;
pub use local_ca::LocalCa;

/// The protocols that are offered, the preferred one first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Why there is no certificate. No message holds anything of a key.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file cannot be read or written.
    #[error("{path} cannot be used: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system reported.
        source: std::io::Error,
    },
    /// A file holds no certificate.
    #[error("{0} holds no certificate in PEM form")]
    NoCertificate(PathBuf),
    /// A file holds no private key.
    #[error("{0} holds no private key in PEM form that TLS can use (PKCS #8, SEC1 or PKCS #1)")]
    NoKey(PathBuf),
    /// A certificate and a key do not belong together.
    #[error("the key in {key} does not belong to the certificate in {certificate}")]
    Mismatch {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
    },
    /// A certificate is no longer valid.
    #[error("the certificate in {path} expired at {at}{}", if *.of_ca { "; delete its folder to make a new certificate authority, and give the new ca.pem to the clients" } else { "" })]
    Expired {
        /// The certificate's file.
        path: PathBuf,
        /// When, as RFC 3339.
        at: String,
        /// Whether it is that of the local certificate authority.
        of_ca: bool,
    },
    /// A certificate cannot be made.
    #[error("a certificate cannot be made: {0}")]
    Make(#[from] rcgen::Error),
    /// The TLS library refuses the configuration.
    #[error("TLS cannot be set up: {0}")]
    Rustls(#[from] rustls::Error),
}

impl TlsError {
    fn file(path: &std::path::Path, source: std::io::Error) -> Self {
        Self::File {
            path: path.to_owned(),
            source,
        }
    }
}

/// Where certificates come from.
#[derive(Debug)]
pub enum Source {
    /// The certificate authority of this installation.
    LocalCa(Box<LocalCa>),
    /// Files that the operator keeps.
    Files(CertificateFiles),
}

/// A certificate with its key, and when it has to be replaced.
#[derive(Debug)]
struct Current {
    key: Arc<CertifiedKey>,
    /// When it is renewed; `None` where that is the operator's business.
    renew_at: Option<Millis>,
    /// What the files were like when they were read.
    stamp: Option<files::Stamp>,
}

/// The certificate that is presented now.
#[derive(Debug)]
struct Certificates {
    source: Source,
    clock: Arc<dyn Clock>,
    current: RwLock<Current>,
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(&current.key))
    }
}

/// TLS of one server.
pub struct Tls {
    certificates: Arc<Certificates>,
    acceptor: TlsAcceptor,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

/// Returns the cryptography that is used, whatever the process has as its default.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

impl Tls {
    /// Sets up TLS 1.2 and 1.3 with certificates of a source.
    ///
    /// # Errors
    /// When there is no certificate that can be used.
    pub fn open(source: Source, clock: Arc<dyn Clock>) -> Result<Self, TlsError> {
        let current = read(&source, clock.now())?;
        let certificates = Arc::new(Certificates {
            source,
            clock,
            current: RwLock::new(current),
        });
        let mut config = rustls::ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13, &TLS12])?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&certificates) as _);
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).into();
        Ok(Self {
            certificates,
            acceptor: TlsAcceptor::from(Arc::new(config)),
        })
    }

    /// Returns what accepts connections.
    #[must_use]
    pub const fn acceptor(&self) -> &TlsAcceptor {
        &self.acceptor
    }

    /// Returns the file with the certificate of the local authority, which clients must trust; `None` where the
    /// operator brought a certificate.
    #[must_use]
    pub fn ca_file(&self) -> Option<PathBuf> {
        match &self.certificates.source {
            Source::LocalCa(ca) => Some(ca.certificate_file()),
            Source::Files(_) => None,
        }
    }

    /// Returns the configuration of a client that takes this installation's server for genuine and no other.
    ///
    /// # Errors
    /// When the TLS library refuses it.
    pub fn pinned_client(&self) -> Result<Arc<rustls::ClientConfig>, TlsError> {
        match &self.certificates.source {
            Source::LocalCa(ca) => pin::trusting(ca.certificate()),
            Source::Files(_) => self.own_client(),
        }
    }

    /// Returns the configuration of a client that takes the certificate that is presented now for genuine, under any name.
    ///
    /// # Errors
    /// When the TLS library refuses it.
    pub fn own_client(&self) -> Result<Arc<rustls::ClientConfig>, TlsError> {
        let current = &self.certificates.current;
        let current = current.read().unwrap_or_else(PoisonError::into_inner);
        pin::pinned_to(&current.key)
    }

    /// Renews the certificate when it is due, and reads files again when they changed. Where that fails, the
    /// certificate of before stays, and the next call tries again.
    pub fn refresh(&self) {
        let certificates = &*self.certificates;
        let now = certificates.clock.now();
        {
            let current = certificates.current.read();
            let current = current.unwrap_or_else(PoisonError::into_inner);
            let due = current.renew_at.is_some_and(|at| at <= now);
            let changed = match &certificates.source {
                Source::Files(files) => files.stamp() != current.stamp,
                Source::LocalCa(_) => false,
            };
            if !due && !changed {
                return;
            }
        }
        match read(&certificates.source, now) {
            Ok(new) => {
                let mut current = certificates
                    .current
                    .write()
                    .unwrap_or_else(PoisonError::into_inner);
                *current = new;
                tracing::info!("the server has a new certificate");
            }
            Err(error) => {
                tracing::warn!(%error, "the certificate was not replaced; the one of before is still used");
            }
        }
    }
}

fn read(source: &Source, now: Millis) -> Result<Current, TlsError> {
    match source {
        Source::LocalCa(ca) => {
            let (key, renew_at) = ca.issue(now)?;
            Ok(Current {
                key: Arc::new(key),
                renew_at: Some(renew_at),
                stamp: None,
            })
        }
        Source::Files(files) => {
            // Before they are read: what changes meanwhile is read again.
            let stamp = files.stamp();
            let key = files.read(now)?;
            Ok(Current {
                key: Arc::new(key),
                renew_at: None,
                stamp,
            })
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::jobs::clock::SetClock;

    const DAY: i64 = 24 * 60 * 60 * 1000;

    fn presented(tls: &Tls) -> Arc<CertifiedKey> {
        let current = &tls.certificates.current;
        Arc::clone(&current.read().unwrap_or_else(PoisonError::into_inner).key)
    }

    #[test]
    fn a_certificate_of_the_local_authority_is_renewed_before_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(SetClock::new(Millis(1_700_000_000_000)));
        let open = || LocalCa::open(&folder.path().join("tls"), Some("Box"), clock.now());
        let authority = open().unwrap().certificate().clone();
        let tls = Tls::open(
            Source::LocalCa(Box::new(open().unwrap())),
            Arc::clone(&clock) as _,
        )
        .unwrap();
        let first = presented(&tls);
        clock.advance(335 * DAY);
        tls.refresh();
        assert!(
            Arc::ptr_eq(&first, &presented(&tls)),
            "it was renewed early"
        );
        clock.advance(2 * DAY);
        tls.refresh();
        let second = presented(&tls);
        assert_ne!(first.cert, second.cert);
        let verify = |key: &CertifiedKey| {
            let leaf = key.cert.first().unwrap();
            validity::verify(leaf, &authority, clock.now())
        };
        // The old one would end in less than 397 days, the new one begins anew, under the same authority.
        assert!(verify(&first).is_ok() && verify(&second).is_ok());
        clock.advance(60 * DAY);
        assert!(verify(&first).is_err() && verify(&second).is_ok());
    }

    #[test]
    fn an_authority_for_another_host_name_signs_for_the_loopback_alone() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("tls");
        let now = Millis(1_700_000_000_000);
        let names = |host| {
            let ca = LocalCa::open(&folder, host, now).unwrap();
            (ca.names().join(" "), ca.certificate().clone())
        };
        let (first, authority) = names(Some("Box.lan"));
        assert_eq!(first, "localhost 127.0.0.1 ::1 box.lan");
        let (moved, kept) = names(Some("other.lan"));
        assert_eq!(
            (moved.as_str(), &kept),
            ("localhost 127.0.0.1 ::1", &authority)
        );
        assert_eq!(names(None).0, "localhost 127.0.0.1 ::1");
        for odd in [
            "",
            "127.0.0.1",
            "a b",
            "under_score",
            "localhost",
            "12345",
            "box.7",
            "-box",
            "box-",
            "box.",
            "a..b",
        ] {
            assert_eq!(names(Some(odd)).0, "localhost 127.0.0.1 ::1", "{odd}");
        }
    }

    #[test]
    fn an_authority_that_has_expired_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("tls");
        let now = Millis(1_700_000_000_000);
        LocalCa::open(&folder, None, now).unwrap();
        let error = LocalCa::open(&folder, None, now.plus(3_651 * DAY)).unwrap_err();
        assert!(
            matches!(error, TlsError::Expired { of_ca: true, .. }),
            "{error}"
        );
        assert!(error.to_string().contains("expired at 2033-11"), "{error}");
    }
}
