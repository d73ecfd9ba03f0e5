//! The address that a server listens on.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use thiserror::Error;
use tokio::net::{TcpListener, lookup_host};

use super::super::gate::{Authority, Host};

/// Attempts to find a port that is free on both loopback addresses.
const TRIES: usize = 16;

/// An address to listen on: a host, by default the loopback, and a port, 0 for any free one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenAddress {
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
}

/// The error for an address that cannot be parsed.
#[derive(Debug, Error)]
#[error("it must be HOST:PORT or :PORT, such as 127.0.0.1:9876")]
pub struct AddressError;

impl FromStr for ListenAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (host, port) = text.rsplit_once(':').ok_or(AddressError)?;
        let host = if host.is_empty() { "127.0.0.1" } else { host };
        // An authority has no port 0.
        let port: u16 = match port {
            "0" => 0,
            _ => Authority::parse(&format!("host:{port}"))
                .ok()
                .and_then(|authority| authority.port)
                .ok_or(AddressError)?,
        };
        if host.contains(':') && !host.starts_with('[') {
            return Err(AddressError);
        }
        let host = Host::parse(host).map_err(|_| AddressError)?;
        Ok(Self { host, port })
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl ListenAddress {
    /// Binds the address. For a loopback host, both 127.0.0.1 and ::1 are bound, so that `localhost` works however it
    /// resolves.
    ///
    /// # Errors
    /// What the system reports, for example that the port is in use.
    pub async fn bind(&self) -> io::Result<Vec<TcpListener>> {
        if !self.host.is_loopback() {
            return self.bind_host().await;
        }
        for _ in 0..TRIES {
            let first = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).await?;
            let port = first.local_addr()?.port();
            match TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await {
                Ok(second) => return Ok(vec![first, second]),
                Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                    tracing::debug!(%error, "there is no IPv6 loopback");
                    return Ok(vec![first]);
                }
                Err(error) if self.port != 0 => return Err(error),
                // The port is in use on the other address; another port may be free on both.
                Err(_) => {}
            }
        }
        Err(io::ErrorKind::AddrInUse.into())
    }

    async fn bind_host(&self) -> io::Result<Vec<TcpListener>> {
        let addresses: Vec<SocketAddr> = match &self.host {
            Host::V4(address) => vec![(IpAddr::V4(*address), self.port).into()],
            Host::V6(address) => vec![(IpAddr::V6(*address), self.port).into()],
            Host::Name(name) => lookup_host((name.as_str(), self.port)).await?.collect(),
        };
        TcpListener::bind(&*addresses)
            .await
            .map(|listener| vec![listener])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for (text, expected) in [
            ("127.0.0.1:9876", Some("127.0.0.1:9876")),
            (":0", Some("127.0.0.1:0")),
            (":9876", Some("127.0.0.1:9876")),
            ("localhost:1", Some("localhost:1")),
            ("[::1]:80", Some("[::1]:80")),
            ("0.0.0.0:0", Some("0.0.0.0:0")),
            ("9876", None),
            ("127.0.0.1", None),
            ("::1:9876", None),
            ("localhost:", None),
            ("localhost:70000", None),
            ("local host:1", None),
        ] {
            let parsed = text.parse::<ListenAddress>().ok();
            let parsed = parsed.map(|address| address.to_string());
            assert_eq!(parsed.as_deref(), expected, "{text}");
        }
    }
}
