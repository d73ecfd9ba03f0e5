//! A certificate authority of this installation. It signs the certificates of this machine's server and can sign no
//! others: its name constraints are critical.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DnType, ExtendedKeyUsagePurpose,
    GeneralSubtree, IsCa, Issuer, KeyPair, KeyUsagePurpose, NameConstraints, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;

use super::files::{certificates, read};
use super::validity::{check_expiry, verify};
use super::{TlsError, provider};
use crate::jobs::clock::Millis;
use crate::transport::http::gate::Host;

/// The file with the authority's certificate, which clients must trust.
const CERTIFICATE: &str = "ca.pem";
/// The file with the authority's key.
const KEY: &str = "ca-key.pem";
/// The authority's name.
const NAME: &str = "Glovebox local CA";
/// How long the authority is valid, in days: ten years.
const CA_DAYS: i64 = 3_650;
/// How long a server's certificate is valid, in days. Some systems refuse one that is valid for more than 398.
const LEAF_DAYS: i64 = 396;
/// The days at the end of its life in which a certificate is renewed: a server that is stopped for some days still
/// has a valid one.
const RENEWED_DAYS: i64 = 60;
/// How long before now a certificate begins, in days: the clocks of clients differ.
const CLOCKS_DIFFER_DAYS: i64 = 1;
/// The longest part of a host name, in bytes: the limit of the domain name system.
const LONGEST_LABEL: usize = 63;
/// Milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1000;
/// The names and addresses of the loopback.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The authority: its certificate, its key, and the names that it may sign for.
#[derive(Debug)]
pub struct LocalCa {
    folder: PathBuf,
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
    names: Vec<String>,
}

impl LocalCa {
    /// Reads the authority of a folder, and makes one where there is none.
    ///
    /// # Errors
    /// When a file cannot be read or written, or the authority has expired.
    pub fn open(folder: &Path, host: Option<&str>, now: Millis) -> Result<Self, TlsError> {
        let host = host.and_then(usable_name);
        if !folder.join(CERTIFICATE).exists() {
            make(folder, host.as_deref(), now)?;
        }
        Self::read(folder, host, now)
    }

    fn read(folder: &Path, host: Option<String>, now: Millis) -> Result<Self, TlsError> {
        let path = folder.join(CERTIFICATE);
        let certificate = certificates(&path)?.into_iter().next();
        let certificate = certificate.ok_or_else(|| TlsError::NoCertificate(path.clone()))?;
        check_expiry(&certificate, &path, now, true)?;
        let key_path = folder.join(KEY);
        let key = String::from_utf8(read(&key_path)?).ok();
        let key = key.and_then(|key| KeyPair::from_pem(&key).ok());
        let key = key.ok_or_else(|| TlsError::NoKey(key_path.clone()))?;
        let mut names: Vec<String> = LOOPBACK.map(str::to_owned).into();
        names.extend(host);
        let mut ca = Self {
            folder: folder.to_owned(),
            // Its name and the way its key is named are the same in every authority that is made here.
            issuer: Issuer::new(parameters(None, now), key),
            certificate,
            names,
        };
        let verified = ca.try_out(now);
        if matches!(verified, Err(TlsError::Rustls(_))) && ca.names.len() > LOOPBACK.len() {
            let host = ca.names.pop();
            if ca.try_out(now).is_ok() {
                tracing::warn!(
                    host, folder = %folder.display(),
                    "the local certificate authority was made for another host name, so clients reach this server as localhost only; delete the folder to make a new one, and give its ca.pem to the clients"
                );
                return Ok(ca);
            }
        }
        match verified {
            Ok(()) => Ok(ca),
            Err(TlsError::Rustls(_)) => Err(TlsError::Mismatch {
                certificate: path,
                key: key_path,
            }),
            Err(error) => Err(error),
        }
    }

    /// Signs a certificate for all names, and verifies it as a client would: this fails where the key is not the
    /// authority's, or where it may not sign for one of the names.
    fn try_out(&self, now: Millis) -> Result<(), TlsError> {
        let (certified, _) = self.issue(now)?;
        let leaf = certified.cert.first();
        let leaf = leaf.ok_or_else(|| TlsError::NoCertificate(self.certificate_file()))?;
        Ok(verify(leaf, &self.certificate, now)?)
    }

    /// Returns the authority's certificate.
    pub(super) const fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// Returns the names and addresses that certificates are made for.
    #[cfg(test)]
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the file with the authority's certificate.
    #[must_use]
    pub fn certificate_file(&self) -> PathBuf {
        Self::certificate_in(&self.folder)
    }

    /// Returns the file with the certificate of the authority in a folder.
    #[must_use]
    pub fn certificate_in(folder: &Path) -> PathBuf {
        folder.join(CERTIFICATE)
    }

    /// Makes a certificate for the server, with a key of its own that is in no file. Also returns when it should be
    /// renewed.
    ///
    /// # Errors
    /// When it cannot be signed.
    pub(super) fn issue(&self, now: Millis) -> Result<(CertifiedKey, Millis), TlsError> {
        let mut params = CertificateParams::new(self.names.clone())?;
        params
            .distinguished_name
            .push(DnType::CommonName, "Glovebox server");
        params.not_before =
            date_time_ymd(1970, 1, 1) + since_epoch(now.plus(-CLOCKS_DIFFER_DAYS * DAY));
        params.not_after = date_time_ymd(1970, 1, 1) + since_epoch(now.plus(LEAF_DAYS * DAY));
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let leaf = params.signed_by(&key, &self.issuer)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let key = provider().key_provider.load_private_key(key)?;
        let renew_at = now.plus((LEAF_DAYS - RENEWED_DAYS) * DAY);
        Ok((CertifiedKey::new(vec![leaf.der().clone()], key), renew_at))
    }
}

/// Returns a host name as a certificate can have it, unless it is an address, malformed, or the loopback's.
fn usable_name(host: &str) -> Option<String> {
    let Ok(Host::Name(name)) = Host::parse(host) else {
        return None;
    };
    let labels_fit = name.split('.').all(|label| {
        let inner = !label.starts_with('-') && !label.ends_with('-');
        (1..=LONGEST_LABEL).contains(&label.len()) && inner && !label.contains('_')
    });
    let last = name.rsplit('.').next().unwrap_or_default();
    // A name that ends in a number would be taken for an address.
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit());
    (name != "localhost" && labels_fit && !is_number).then_some(name)
}

/// Makes an authority in a folder of its own and moves that into place, so that nobody sees half of one.
fn make(folder: &Path, host: Option<&str>, now: Millis) -> Result<(), TlsError> {
    let parent = folder.parent().unwrap_or(folder);
    let failed = |source| TlsError::file(folder, source);
    std::fs::create_dir_all(parent).map_err(failed)?;
    let beside = tempfile::Builder::new()
        .prefix(".tls-")
        .tempdir_in(parent)
        .map_err(failed)?;
    let key = KeyPair::generate()?;
    let certificate = parameters(host, now).self_signed(&key)?;
    write_private(&beside.path().join(KEY), &key.serialize_pem())?;
    write_private(&beside.path().join(CERTIFICATE), &certificate.pem())?;
    match std::fs::rename(beside.path(), folder) {
        Ok(()) => {
            let _ = beside.keep();
            Ok(())
        }
        // Another process was first.
        Err(_) if folder.join(CERTIFICATE).exists() => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

fn parameters(host: Option<&str>, now: Millis) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, NAME);
    params.not_before =
        date_time_ymd(1970, 1, 1) + since_epoch(now.plus(-CLOCKS_DIFFER_DAYS * DAY));
    params.not_after = date_time_ymd(1970, 1, 1) + since_epoch(now.plus(CA_DAYS * DAY));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let mut permitted_subtrees = vec![
        GeneralSubtree::DnsName("localhost".to_owned()),
        GeneralSubtree::IpAddress(CidrSubnet::from_v4_prefix([127, 0, 0, 0], 8)),
        GeneralSubtree::IpAddress(CidrSubnet::from_v6_prefix(
            std::net::Ipv6Addr::LOCALHOST.octets(),
            128,
        )),
    ];
    permitted_subtrees.extend(host.map(|host| GeneralSubtree::DnsName(host.to_owned())));
    params.name_constraints = Some(NameConstraints {
        permitted_subtrees,
        excluded_subtrees: Vec::new(),
    });
    params
}

fn since_epoch(at: Millis) -> Duration {
    Duration::from_secs(u64::try_from(at.0 / 1000).unwrap_or_default())
}

fn write_private(path: &Path, content: &str) -> Result<(), TlsError> {
    let failed = |source| TlsError::file(path, source);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut file = options.open(path).map_err(failed)?;
    file.write_all(content.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(failed)
}
