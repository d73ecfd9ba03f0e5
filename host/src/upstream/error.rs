//! What can go wrong between here and the upstream, each in one sentence that says what to do.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use super::KeyError;
use super::body::BodyError;
use super::origin::Origin;
use super::send_limiter::NoSlot;
use crate::answers::Failure;

/// Which wait was too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// For the connection.
    Connect,
    /// For the reply to begin.
    FirstByte,
    /// For more of the reply.
    Idle,
    /// For all of it.
    Total,
}

/// What ended a call.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum UpstreamError {
    /// No usable key; nothing was sent.
    #[error("{0}")]
    Key(#[from] KeyError),
    /// No slot before the deadline; nothing was sent.
    #[error("{0}")]
    NoSlot(#[from] NoSlot),
    /// The client could not be set up.
    #[error("cannot set up the HTTPS client: {0}; check SSL_CERT_FILE and the proxy variables")]
    Setup(String),
    /// The component asked for something that cannot be sent.
    #[error("the component built a request that cannot be sent ({0}); nothing was sent")]
    BadRequest(&'static str),
    /// The host's name is unknown.
    #[error("cannot find the host {host}: check the network, the name server and --upstream")]
    Dns {
        /// The host.
        host: String,
    },
    /// No connection.
    #[error("cannot connect to {origin} ({reason}): check the network{hint}; nothing was sent")]
    Unreachable {
        /// Where to.
        origin: String,
        /// What the system said.
        reason: String,
        /// What else to check.
        hint: &'static str,
    },
    /// The certificate does not verify.
    #[error(
        "the certificate of {host} does not verify ({reason}); nothing was sent. Where a proxy of your organisation replaces certificates, name its certificate in SSL_CERT_FILE"
    )]
    Certificate {
        /// The host.
        host: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No TLS at the other end.
    #[error(
        "no TLS connection to {host} ({reason}); nothing was sent: check --upstream and the proxy"
    )]
    Tls {
        /// The host.
        host: String,
        /// What went wrong.
        reason: String,
    },
    /// The proxy said no.
    #[error(
        "the proxy refused to connect to {host} ({reason}); nothing was sent: check HTTPS_PROXY and NO_PROXY"
    )]
    Proxy {
        /// The host.
        host: String,
        /// What it said.
        reason: String,
    },
    /// A status that is no success.
    #[error("{}", refused(.0))]
    Refused(Box<Failure>),
    /// A wait was too long.
    #[error("{}", timed_out(*.phase, *.after))]
    TimeOut {
        /// Which.
        phase: Phase,
        /// Its limit.
        after: Duration,
    },
    /// The connection broke.
    #[error("the connection to the upstream broke after {received} bytes of the reply ({reason})")]
    Broken {
        /// Bytes of the body that had come.
        received: u64,
        /// What happened.
        reason: String,
    },
    /// The body is not framed as HTTP says.
    #[error(
        "the upstream's reply is not valid HTTP after {received} bytes of its body ({reason}); what came before is kept. A proxy on the way may have damaged it"
    )]
    Framing {
        /// Bytes of the body that had come.
        received: u64,
        /// What is wrong.
        reason: String,
    },
    /// The compression is damaged.
    #[error(
        "the upstream's reply cannot be decompressed after {received} bytes ({reason}); what came before is kept"
    )]
    Damaged {
        /// Bytes of the body that had come, decompressed.
        received: u64,
        /// What is wrong.
        reason: String,
    },
    /// The body is encoded in a way that was not accepted.
    #[error(
        "the upstream's reply is encoded as {coding}, which was not asked for, and cannot be read. A proxy on the way may have changed it"
    )]
    Coding {
        /// The value of `Content-Encoding`.
        coding: String,
    },
    /// More than anyone can want.
    #[error("the upstream's reply is larger than {limit} bytes; the call was stopped there")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
}

fn timed_out(phase: Phase, after: Duration) -> String {
    let seconds = after.as_secs_f64();
    let stopped = "the call was stopped and may be billed";
    match phase {
        Phase::Connect => format!(
            "no connection to the upstream within {seconds} s; nothing was sent: check the network and the proxy"
        ),
        Phase::FirstByte => format!(
            "the upstream did not begin to reply within {seconds} s; {stopped} (--timeout-idle allows more)"
        ),
        Phase::Idle => format!(
            "the upstream sent nothing for {seconds} s; {stopped} (--timeout-idle allows more)"
        ),
        Phase::Total => format!(
            "the reply was not complete within {seconds} s; {stopped} (--timeout-answer and --timeout-research allow more)"
        ),
    }
}

/// The component's sentence, and what the upstream itself said.
fn refused(failure: &Failure) -> String {
    let mut text = failure.message.clone();
    if let Some(detail) = &failure.detail {
        text.push_str(&format!(" The upstream said: {detail}"));
    }
    if !failure.fields.is_empty() {
        text.push_str(&format!(" (fields: {})", failure.fields.join(", ")));
    }
    text
}

impl UpstreamError {
    /// A stable, hyphenated name.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Key(KeyError::Missing) => "no-key",
            Self::Key(_) => "bad-key",
            Self::NoSlot(_) => "rate-limited",
            Self::Setup(_) => "setup",
            Self::BadRequest(_) => "bad-request",
            Self::Dns { .. } => "dns",
            Self::Unreachable { .. } => "unreachable",
            Self::Certificate { .. } => "certificate",
            Self::Tls { .. } => "tls",
            Self::Proxy { .. } => "proxy",
            Self::Refused(failure) => failure.kind.name(),
            Self::TimeOut { .. } => "time-out",
            Self::Broken { .. } => "connection-broken",
            Self::Framing { .. } => "bad-framing",
            Self::Damaged { .. } | Self::Coding { .. } => "damaged-reply",
            Self::TooLarge { .. } => "stream-limit",
        }
    }

    /// Whether the request cannot have reached the upstream, and so cannot have been billed.
    #[must_use]
    pub fn never_sent(&self) -> bool {
        match self {
            Self::Key(_)
            | Self::NoSlot(_)
            | Self::Setup(_)
            | Self::BadRequest(_)
            | Self::Dns { .. }
            | Self::Unreachable { .. }
            | Self::Certificate { .. }
            | Self::Tls { .. }
            | Self::Proxy { .. } => true,
            Self::TimeOut { phase, .. } => *phase == Phase::Connect,
            Self::Refused(_)
            | Self::Broken { .. }
            | Self::Framing { .. }
            | Self::Damaged { .. }
            | Self::Coding { .. }
            | Self::TooLarge { .. } => false,
        }
    }
}

/// What the HTTP library says of all that goes wrong between here and the far end of a proxy.
const TUNNEL: &str = "tunnel error";

/// What a proxy that was reached said against it.
fn proxy_refusal(text: &str) -> Option<&'static str> {
    let (_, trouble) = text.split_once(TUNNEL)?;
    if trouble.contains("proxy authorization required") {
        Some("it wants a user name and password")
    } else if trouble.contains("unsuccessful") {
        Some("it does not allow this host")
    } else {
        None
    }
}

/// What an error of the HTTP library means before the reply began.
pub(super) fn before_reply(
    error: &reqwest::Error,
    origin: &Origin,
    connect: Duration,
    proxied: bool,
) -> UpstreamError {
    let host = origin.host().to_owned();
    match network(error) {
        Network::Certificate(reason) => UpstreamError::Certificate { host, reason },
        Network::Proxy(reason) => UpstreamError::Proxy { host, reason },
        Network::Broken(reason) => UpstreamError::Broken {
            received: 0,
            reason,
        },
        Network::TimeOut => UpstreamError::TimeOut {
            phase: Phase::Connect,
            after: connect,
        },
        Network::Tls(reason) => UpstreamError::Tls { host, reason },
        Network::Dns(reason) | Network::Unreachable(reason) if proxied => {
            UpstreamError::Unreachable {
                origin: origin.to_string(),
                reason,
                hint: ", and whether the proxy in HTTPS_PROXY is right",
            }
        }
        Network::Dns(_) => UpstreamError::Dns { host },
        Network::Unreachable(reason) => UpstreamError::Unreachable {
            origin: origin.to_string(),
            reason,
            hint: " and --upstream",
        },
    }
}

/// Why no reply came, whatever the server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    /// The server's certificate is not accepted.
    Certificate(String),
    /// The proxy refused to make the connection.
    Proxy(String),
    /// The connection was made, and ended before a reply: the request may have been read.
    Broken(String),
    /// No connection was made in time.
    TimeOut,
    /// TLS failed in another way than by the certificate.
    Tls(String),
    /// The name has no address.
    Dns(String),
    /// No connection was made.
    Unreachable(String),
}

/// Returns why no reply came.
pub(crate) fn network(error: &reqwest::Error) -> Network {
    if let Some(reason) = certificate_reason(error) {
        return Network::Certificate(reason);
    }
    let text = chain_text(error);
    if let Some(reason) = proxy_refusal(&text) {
        return Network::Proxy(reason.to_owned());
    }
    if !error.is_connect() && !text.contains(TUNNEL) {
        return Network::Broken(innermost(error));
    }
    if error.is_timeout() {
        return Network::TimeOut;
    }
    if let Some(reason) = tls_reason(error) {
        return Network::Tls(reason);
    }
    if error.is_dns() || text.contains("dns error") {
        return Network::Dns(innermost(error));
    }
    Network::Unreachable(innermost(error))
}

/// What ended a body early, once the reply had begun.
pub(super) fn in_reply(error: &BodyError, received: u64) -> UpstreamError {
    let error = match error {
        BodyError::Transfer(error) => error,
        BodyError::Compression(error) => {
            let reason = error.to_string();
            return UpstreamError::Damaged { received, reason };
        }
        BodyError::Coding(coding) => {
            let coding = coding.clone();
            return UpstreamError::Coding { coding };
        }
    };
    let reason = innermost(error);
    if is_framing(error) {
        UpstreamError::Framing { received, reason }
    } else {
        UpstreamError::Broken { received, reason }
    }
}

/// Whether what came was no HTTP. TLS reports damage with the same kind of error, beneath HTTP.
fn is_framing(error: &reqwest::Error) -> bool {
    let invalid = |cause: &(dyn StdError + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|io| {
            matches!(
                io.kind(),
                io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
            )
        })
    };
    rustls_error(error).is_none() && causes(error).any(invalid)
}

/// The error and its causes, outermost first. An I/O error that wraps another hides it from `source`.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    let first: &(dyn StdError + 'static) = error;
    std::iter::successors(Some(first), |cause| inner(*cause))
}

fn inner<'a>(cause: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    match cause
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
    {
        Some(inner) => Some(inner),
        None => cause.source(),
    }
}

fn rustls_error(error: &reqwest::Error) -> Option<&rustls::Error> {
    causes(error).find_map(|cause| cause.downcast_ref::<rustls::Error>())
}

fn certificate_reason(error: &reqwest::Error) -> Option<String> {
    match rustls_error(error)? {
        rustls::Error::InvalidCertificate(reason) => Some(certificate_words(reason)),
        _ => None,
    }
}

fn certificate_words(reason: &rustls::CertificateError) -> String {
    use rustls::CertificateError as E;
    match reason {
        E::Expired | E::ExpiredContext { .. } => "it has expired".to_owned(),
        E::NotValidYet | E::NotValidYetContext { .. } => {
            "it is not valid yet: check this machine's clock".to_owned()
        }
        E::UnknownIssuer => "its issuer is unknown".to_owned(),
        E::NotValidForName | E::NotValidForNameContext { .. } => {
            "it is for another name".to_owned()
        }
        E::Revoked => "it was revoked".to_owned(),
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            "it is an authority's own, not a server's".to_owned()
        }
        other => other.to_string(),
    }
}

fn tls_reason(error: &reqwest::Error) -> Option<String> {
    rustls_error(error).map(ToString::to_string)
}

/// The innermost cause; the outer ones only say that a request failed.
fn innermost(error: &reqwest::Error) -> String {
    let text = causes(error)
        .last()
        .map(ToString::to_string)
        .unwrap_or_default();
    if text.contains("EOF") || text.contains("closed before") {
        "it was closed before the end".to_owned()
    } else {
        text
    }
}

fn chain_text(error: &reqwest::Error) -> String {
    causes(error)
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}
