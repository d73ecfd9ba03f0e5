//! Whether a certificate is valid, as a client would find it.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, RootCertStore};

use super::{TlsError, provider};
use crate::jobs::clock::Millis;

/// Checks that a certificate has not expired.
///
/// # Errors
/// When it has, or is malformed.
pub(super) fn check_expiry(
    certificate: &CertificateDer<'static>,
    path: &Path,
    now: Millis,
    of_ca: bool,
) -> Result<(), TlsError> {
    let expired = |at: Millis| TlsError::Expired {
        path: path.to_owned(),
        at: at.rfc3339(),
        of_ca,
    };
    // The verifier looks at the validity first; whom the certificate is for, and who signed it, does not matter here.
    match verify(certificate, certificate, now) {
        Err(rustls::Error::InvalidCertificate(error)) => match error {
            CertificateError::Expired => Err(expired(now)),
            CertificateError::ExpiredContext { not_after, .. } => {
                let seconds = i64::try_from(not_after.as_secs()).unwrap_or(i64::MAX);
                Err(expired(Millis(seconds.saturating_mul(1000))))
            }
            CertificateError::BadEncoding => Err(TlsError::NoCertificate(path.to_owned())),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Verifies a server's certificate for the loopback as a client does that trusts one authority. All its names must be
/// among those that the authority may sign for.
///
/// # Errors
/// What a client would report.
pub(super) fn verify(
    certificate: &CertificateDer<'static>,
    authority: &CertificateDer<'static>,
    now: Millis,
) -> Result<(), rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.clone())?;
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider())
        .build()
        .map_err(|error| rustls::Error::General(error.to_string()))?;
    let seconds = u64::try_from(now.0 / 1000).unwrap_or_default();
    let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    let name = ServerName::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST).into());
    verifier
        .verify_server_cert(certificate, &[], &name, &[], now)
        .map(|_| ())
}
