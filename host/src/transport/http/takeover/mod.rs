//! Takes a port over from an older instance of this program: asks it who it is, then asks it to stop with a proof that
//! both know the token. The token is never sent.

mod exchange;
mod holder;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use thiserror::Error;
use tokio::net::lookup_host;

use super::admin::MARKER;
use super::gate::proof::{PROOF, ProofAddress, proof};
use super::gate::{HEALTH, Host, SHUTDOWN};
use super::listener::ListenAddress;
use super::tls::{Tls, TlsError};
use super::token::{TokenError, TokenFile};
use crate::jobs::clock::Clock;
use exchange::{Exchange, ExchangeError};

/// How often an older instance is asked to stop before this one gives up: each time another may have been faster.
pub const ATTEMPTS: usize = 3;
/// The time between two attempts. An instance that was asked to stop gives its port free much faster.
pub const BETWEEN: Duration = Duration::from_secs(1);

/// Why a port was not taken over.
#[derive(Debug, Error)]
pub enum TakeoverError {
    /// Nobody answered, or not as an instance of this program does.
    #[error(
        "{address} is in use{}, which does not answer as a glovebox ({reason}); nothing was sent to it. Stop it, or choose another address with --listen", .holder.as_deref().unwrap_or_default()
    )]
    Stranger {
        /// The address.
        address: String,
        /// Who it is, where the system tells.
        holder: Option<String>,
        /// What was seen.
        reason: String,
    },
    /// It does not stop for this instance.
    #[error(
        "the glovebox at {address} did not stop (status {status}): it has another token or clock. Stop it by hand, or use its state folder or --token-file"
    )]
    Refused {
        /// The address.
        address: String,
        /// What it replied.
        status: StatusCode,
    },
    /// It is not on the loopback, where TLS could be verified.
    #[error(
        "{0} is in use, and another instance is only taken over on this machine's loopback; stop it by hand: send it SIGTERM, or POST {SHUTDOWN} with the header Authorization: Bearer TOKEN"
    )]
    Elsewhere(String),
    /// It agreed to stop each time, and the port was not free for this instance.
    #[error(
        "{address} is still in use{}, although its holder agreed to stop {ATTEMPTS} times; see which other program starts glovebox serve there", .holder.as_deref().unwrap_or_default()
    )]
    StillHeld {
        /// The address.
        address: String,
        /// Who has it now, where the system tells.
        holder: Option<String>,
    },
    /// There is no token for a proof.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// What is known of the instance that should take the port.
#[derive(Debug)]
pub struct Takeover<'a> {
    /// The address to listen on.
    pub listen: &'a ListenAddress,
    /// Its token.
    pub token: &'a TokenFile,
    /// Its TLS, in external mode.
    pub tls: Option<&'a Tls>,
    /// Its clock.
    pub clock: &'a dyn Clock,
}

impl Takeover<'_> {
    /// Asks the instance that holds the port to stop. When this returns `Ok`, it has agreed; the port is free a moment
    /// later.
    ///
    /// # Errors
    /// When it is not an instance of this program or does not stop. Nothing but the question who it is was then sent,
    /// unless it refused a proof.
    pub async fn ask(&self) -> Result<(), TakeoverError> {
        let token = self.token.read()?;
        let address = self.address().await?;
        let client = self.tls.map(Tls::pinned_client).transpose()?;
        let exchange = Exchange { address, client };
        self.check_health(&exchange).await?;
        let proof_address = ProofAddress::new(&self.listen.host, self.listen.port);
        let proof = proof(&token, &proof_address, self.clock.now());
        let stopped = exchange.send(Method::POST, SHUTDOWN, Some((PROOF, &proof)));
        match stopped.await {
            Ok(reply) if reply.status.is_success() => Ok(()),
            Ok(reply) => Err(TakeoverError::Refused {
                address: self.listen.to_string(),
                status: reply.status,
            }),
            Err(error) => Err(self.stranger(&error.to_string())),
        }
    }

    /// Checks that whoever holds the port says that it is an instance of this program. Over TLS the handshake has
    /// proved it, so that health suffices.
    async fn check_health(&self, exchange: &Exchange) -> Result<(), TakeoverError> {
        let reply = match exchange.send(Method::GET, HEALTH, None).await {
            Ok(reply) => reply,
            Err(ExchangeError::Tls(error)) => {
                let reason = format!("its certificate is not this installation's: {error}");
                return Err(self.stranger(&reason));
            }
            Err(error) => return Err(self.stranger(&error.to_string())),
        };
        if !reply.status.is_success() {
            return Err(self.stranger(&format!("status {}", reply.status)));
        }
        let (name, value) = MARKER;
        if self.tls.is_none() && reply.header(name) != Some(value) {
            return Err(self.stranger("it does not say so"));
        }
        Ok(())
    }

    /// Returns where the holder of the port is asked: on the loopback alone.
    async fn address(&self) -> Result<SocketAddr, TakeoverError> {
        let port = self.listen.port;
        let elsewhere = || TakeoverError::Elsewhere(self.listen.to_string());
        let ip: IpAddr = match &self.listen.host {
            Host::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            Host::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            Host::V4(ip) => (*ip).into(),
            Host::V6(ip) => (*ip).into(),
            Host::Name(_) if self.listen.host.is_loopback() => Ipv4Addr::LOCALHOST.into(),
            Host::Name(name) => {
                let found = lookup_host((name.as_str(), port)).await;
                let found = found.ok().and_then(|mut found| found.next());
                found.ok_or_else(elsewhere)?.ip()
            }
        };
        if !ip.is_loopback() {
            return Err(elsewhere());
        }
        let first = SocketAddr::new(ip, port);
        // The loopback has two addresses, and either may be taken.
        let second = SocketAddr::new(Ipv6Addr::LOCALHOST.into(), port);
        if self.listen.host.is_loopback() && !exchange::answers(first).await {
            return Ok(second);
        }
        Ok(first)
    }

    fn stranger(&self, reason: &str) -> TakeoverError {
        TakeoverError::Stranger {
            address: self.listen.to_string(),
            holder: holder::of_port(self.listen.port),
            reason: reason.to_owned(),
        }
    }
}

/// Asks the server of this process at an address whether it serves.
///
/// # Errors
/// Why it does not.
pub async fn check(address: SocketAddr, tls: Option<&Tls>) -> Result<(), String> {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    let exchange = Exchange {
        address: SocketAddr::new(ip, address.port()),
        client: tls
            .map(Tls::own_client)
            .transpose()
            .map_err(|error| error.to_string())?,
    };
    match exchange.send(Method::GET, HEALTH, None).await {
        Ok(reply) if reply.status.is_success() => Ok(()),
        Ok(reply) => Err(format!("status {}", reply.status)),
        Err(error) => Err(error.to_string()),
    }
}

/// Binds an address, and takes it over from an older instance where that holds it.
///
/// # Errors
/// When it cannot be bound for another reason than an instance that stops.
pub async fn bind(takeover: &Takeover<'_>) -> Result<Vec<tokio::net::TcpListener>, BindError> {
    let listen = takeover.listen;
    for _ in 0..ATTEMPTS {
        match listen.bind().await {
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse && listen.port != 0 => {}
            bound => return bound.map_err(|source| BindError::system(listen, source)),
        }
        takeover.ask().await?;
        if let Some(sockets) = bind_within(listen, BETWEEN).await {
            return Ok(sockets);
        }
    }
    let held = TakeoverError::StillHeld {
        address: listen.to_string(),
        holder: holder::of_port(listen.port),
    };
    Err(held.into())
}

/// Tries to bind again and again, so that clients are without a server for as short as possible.
async fn bind_within(
    listen: &ListenAddress,
    within: Duration,
) -> Option<Vec<tokio::net::TcpListener>> {
    let mut tries = tokio::time::interval(TRY_EVERY);
    let bound = async {
        loop {
            tries.tick().await;
            if let Ok(sockets) = listen.bind().await {
                return sockets;
            }
        }
    };
    tokio::time::timeout(within, bound).await.ok()
}

/// How often it is tried to bind a port that is about to be free.
const TRY_EVERY: Duration = Duration::from_millis(5);

/// Why an address cannot be listened on.
#[derive(Debug, Error)]
pub enum BindError {
    /// The system refuses it.
    #[error("cannot listen on {address}: {source}; nothing was started")]
    System {
        /// The address.
        address: String,
        /// What the system reported.
        source: Arc<std::io::Error>,
    },
    /// Another process has it and keeps it.
    #[error("cannot listen: {0}")]
    Held(#[from] TakeoverError),
}

impl BindError {
    fn system(listen: &ListenAddress, source: std::io::Error) -> Self {
        Self::System {
            address: listen.to_string(),
            source: Arc::new(source),
        }
    }
}
