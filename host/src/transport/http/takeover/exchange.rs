//! One bounded HTTP exchange with whoever holds a port.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// How long the whole exchange may take: an instance on the same machine answers within milliseconds.
const WITHIN: Duration = Duration::from_millis(800);
/// The most bytes of a reply's head that are held.
const HEAD_BYTES: usize = 16 << 10;

/// Why there is no reply.
#[derive(Debug, Error)]
pub enum ExchangeError {
    /// It took too long.
    #[error("it did not answer within {} ms", WITHIN.as_millis())]
    Slow,
    /// The connection failed.
    #[error("{0}")]
    Connect(#[from] io::Error),
    /// The TLS handshake failed.
    #[error("{0}")]
    Tls(io::Error),
    /// It is not HTTP.
    #[error("it does not speak HTTP: {0}")]
    Http(#[from] hyper::Error),
    /// The request cannot be written.
    #[error("{0}")]
    Request(#[from] http::Error),
}

/// The head of a reply. Its body is not read.
#[derive(Debug)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    headers: HeaderMap,
}

impl Reply {
    /// Returns a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Where requests are sent, and over which TLS.
#[derive(Debug)]
pub struct Exchange {
    /// The address.
    pub address: SocketAddr,
    /// The TLS client; `None` for plain HTTP.
    pub client: Option<Arc<rustls::ClientConfig>>,
}

/// Returns whether anyone takes a connection at the address.
pub async fn answers(address: SocketAddr) -> bool {
    matches!(
        timeout(WITHIN, TcpStream::connect(address)).await,
        Ok(Ok(_))
    )
}

impl Exchange {
    /// Sends a request without a body, and reads the head of its reply.
    ///
    /// # Errors
    /// When there is none in time.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        header: Option<(&str, &str)>,
    ) -> Result<Reply, ExchangeError> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, self.address.to_string())
            .header(header::CONNECTION, "close");
        if let Some((name, value)) = header {
            request = request.header(name, value);
        }
        let request = request.body(Empty::new())?;
        timeout(WITHIN, self.exchange(request))
            .await
            .unwrap_or(Err(ExchangeError::Slow))
    }

    async fn exchange(&self, request: Request<Empty<Bytes>>) -> Result<Reply, ExchangeError> {
        let stream = TcpStream::connect(self.address).await?;
        match &self.client {
            None => over(stream, request).await,
            Some(client) => {
                let name = ServerName::IpAddress(self.address.ip().into());
                let connector = TlsConnector::from(Arc::clone(client));
                let stream = connector.connect(name, stream).await;
                over(stream.map_err(ExchangeError::Tls)?, request).await
            }
        }
    }
}

async fn over<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    request: Request<Empty<Bytes>>,
) -> Result<Reply, ExchangeError> {
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(HEAD_BYTES)
        .handshake(TokioIo::new(stream))
        .await?;
    let response = sender.send_request(request);
    tokio::pin!(connection, response);
    let response = tokio::select! {
        response = &mut response => response?,
        // The reply may have been read in the same step in which the connection ended.
        ended = &mut connection => {
            ended?;
            response.await?
        }
    };
    let (head, _) = response.into_parts();
    Ok(Reply {
        status: head.status,
        headers: head.headers,
    })
}
