//! What a newer instance trusts when it talks to an older one over TLS: this installation's certificates, and no
//! others.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

use super::{TlsError, provider};

/// Returns the configuration of a client that trusts one certificate authority.
///
/// # Errors
/// When its certificate cannot be used.
pub fn trusting(authority: &CertificateDer<'static>) -> Result<Arc<ClientConfig>, TlsError> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.clone())?;
    let config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13, &TLS12])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// Returns the configuration of a client that trusts one public key, whoever signed its certificate.
///
/// # Errors
/// When the certificate cannot be read.
pub(super) fn pinned_to(certified: &CertifiedKey) -> Result<Arc<ClientConfig>, TlsError> {
    let bad = || {
        TlsError::Rustls(rustls::Error::InvalidCertificate(
            CertificateError::BadEncoding,
        ))
    };
    let own = certified.cert.first().ok_or_else(bad)?;
    let verifier = Pinned {
        public_key: public_key(own).ok_or_else(bad)?,
        provider: provider(),
    };
    let config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13, &TLS12])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn public_key(certificate: &CertificateDer<'_>) -> Option<Vec<u8>> {
    let parsed = ParsedCertificate::try_from(certificate).ok()?;
    Some(parsed.subject_public_key_info().to_vec())
}

/// Accepts a certificate with one public key. The handshake proves that the server has the private key.
#[derive(Debug)]
struct Pinned {
    public_key: Vec<u8>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if public_key(end_entity).as_ref() == Some(&self.public_key) {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
