//! Accepts connections and serves them until the server is asked to stop.

mod address;
mod open;
mod stall;

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::Request;
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{interval, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::limits::{
    ACCEPT_PAUSE, CERTIFICATE_CHECK, H2_LOCAL_RESETS, H2_PENDING_RESETS, H2_PING, H2_STREAMS,
    HEAD_BYTES, HEADERS, LAST_HEAD, NEXT_HEAD, TOKEN_CHECK,
};
use super::reply::Body;
use super::route;
use super::state::Http;
use open::{Busy, Connection, OpenConnections};
use stall::Stalling;

pub use address::{AddressError, ListenAddress};

/// After this long without data, the system probes whether the client is still there.
const TCP_KEEPALIVE: Duration = Duration::from_secs(60);

/// Serves connections until the server is asked to stop, then lets running requests finish within the limit for that.
/// Sessions stay in the store.
pub async fn serve(http: Arc<Http>, sockets: Vec<TcpListener>) {
    let mut listener = Listener::new(Arc::clone(&http));
    listener.listen(sockets);
    http.stopping().cancelled().await;
    listener.drain().await;
}

/// Accepts connections and serves them.
pub struct Listener {
    serving: Arc<Serving>,
    accepting: JoinSet<io::Result<()>>,
    closing: CancellationToken,
    /// Background tasks that run while the server listens.
    upkeep: JoinSet<()>,
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").finish_non_exhaustive()
    }
}

impl Listener {
    /// Creates a listener that accepts no connections yet.
    #[must_use]
    pub fn new(http: Arc<Http>) -> Self {
        let mut upkeep = JoinSet::new();
        upkeep.spawn(sweep(Arc::clone(&http)));
        upkeep.spawn(check_token(Arc::clone(&http)));
        upkeep.spawn(check_certificate(Arc::clone(&http)));
        Self {
            serving: Arc::new(Serving::new(http)),
            accepting: JoinSet::new(),
            closing: CancellationToken::new(),
            upkeep,
        }
    }

    /// Starts to accept connections on these sockets.
    pub fn listen(&mut self, sockets: Vec<TcpListener>) {
        for socket in sockets {
            let (serving, closing) = (Arc::clone(&self.serving), self.closing.clone());
            self.accepting.spawn(accept(serving, socket, closing));
        }
    }

    /// Waits until one of the sockets no longer accepts connections. Returns why. Pending while all of them work.
    pub async fn ended(&mut self) -> String {
        match self.accepting.join_next().await {
            Some(Ok(Err(error))) => format!("its socket failed: {error}"),
            Some(Ok(Ok(()))) => "its socket was closed".to_owned(),
            Some(Err(error)) => format!("its task ended: {error}"),
            // Without a socket, only a health check can find out.
            None => std::future::pending().await,
        }
    }

    /// Closes the sockets. Open connections continue, and those in the system's queue are accepted first.
    pub async fn close(&mut self) {
        self.closing.cancel();
        // A socket is closed when its task has ended.
        let ended = timeout(ACCEPT_PAUSE, async {
            while self.accepting.join_next().await.is_some() {}
        });
        if ended.await.is_err() {
            self.accepting.shutdown().await;
        }
        self.closing = CancellationToken::new();
    }

    /// Closes the sockets, and lets running requests finish within the limit for that.
    pub async fn drain(mut self) {
        self.close().await;
        self.upkeep.shutdown().await;
        self.serving.drain().await;
    }
}

async fn sweep(http: Arc<Http>) {
    let mut ticks = interval(http.limits.sweep);
    loop {
        ticks.tick().await;
        http.sessions.sweep().await;
    }
}

async fn check_token(http: Arc<Http>) {
    let mut ticks = interval(TOKEN_CHECK);
    loop {
        ticks.tick().await;
        http.check_token().await;
    }
}

async fn check_certificate(http: Arc<Http>) {
    let Some(tls) = http.tls() else {
        return;
    };
    let mut ticks = interval(CERTIFICATE_CHECK);
    loop {
        ticks.tick().await;
        tls.refresh();
    }
}

/// Accepts connections until `closing` is cancelled. Pauses when there are no file handles left.
///
/// # Errors
/// When the socket itself is broken.
async fn accept(
    serving: Arc<Serving>,
    socket: TcpListener,
    closing: CancellationToken,
) -> io::Result<()> {
    loop {
        let Some(accepted) = closing.run_until_cancelled(socket.accept()).await else {
            // Connections in the system's queue would be reset when the socket is closed, so they are served first.
            while let Some(Ok((stream, peer))) = socket.accept().now_or_never() {
                serving.start(stream, peer.ip());
            }
            return Ok(());
        };
        match accepted {
            Ok((stream, peer)) => serving.start(stream, peer.ip()),
            Err(error) if is_of_connection(&error) => {
                tracing::debug!(%error, "a connection ended before it was taken");
            }
            // The socket no longer listens.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Err(error),
            Err(error) => {
                tracing::warn!(%error, "no connection can be taken now");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn is_of_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    )
}

struct Serving {
    http: Arc<Http>,
    /// Detects the version of HTTP.
    builder: Builder<TokioExecutor>,
    /// The same for a version that TLS has agreed on.
    http_1: Builder<TokioExecutor>,
    http_2: Builder<TokioExecutor>,
    open: Arc<OpenConnections>,
    tasks: TaskTracker,
}

impl Serving {
    fn new(http: Arc<Http>) -> Self {
        let mut builder = Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(NEXT_HEAD)
            .max_buf_size(HEAD_BYTES)
            .max_headers(HEADERS);
        let (ping, answer) = H2_PING;
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(H2_STREAMS)
            .max_header_list_size(u32::try_from(HEAD_BYTES).unwrap_or(u32::MAX))
            .max_pending_accept_reset_streams(H2_PENDING_RESETS)
            .max_local_error_reset_streams(H2_LOCAL_RESETS)
            .keep_alive_interval(ping)
            .keep_alive_timeout(answer);
        Self {
            open: Arc::new(OpenConnections::new(
                http.limits.connections,
                http.limits.connections_per_address,
            )),
            http,
            http_1: builder.clone().http1_only(),
            http_2: builder.clone().http2_only(),
            builder,
            tasks: TaskTracker::new(),
        }
    }

    fn start(self: &Arc<Self>, stream: TcpStream, peer: IpAddr) {
        let Some((connection, entry)) = self.open.add(peer) else {
            tracing::warn!("a connection was turned away: all are busy");
            return;
        };
        if let Err(error) = prepare(&stream) {
            tracing::debug!(%error, "a connection's options cannot be set");
        }
        let serving = Arc::clone(self);
        let counted = self.http.metrics.connection();
        self.tasks.spawn(async move {
            serving.connection(stream, &connection).await;
            drop((entry, counted));
        });
    }

    async fn connection(&self, stream: TcpStream, connection: &Arc<Connection>) {
        let stream = Stalling::new(stream, self.http.limits.write_stall);
        let Some(tls) = self.http.tls() else {
            return self.exchanges(stream, &self.builder, connection).await;
        };
        let accepted = timeout(
            self.http.limits.tls_handshake,
            tls.acceptor().accept(stream),
        );
        // Boxed, so that a connection does not keep the memory that its handshake needed.
        let accepted = Box::pin(connection.close.run_until_cancelled(accepted)).await;
        match accepted {
            Some(Ok(Ok(stream))) => {
                let builder = match stream.get_ref().1.alpn_protocol() {
                    Some(b"h2") => &self.http_2,
                    _ => &self.http_1,
                };
                self.exchanges(stream, builder, connection).await;
            }
            Some(Ok(Err(error))) => tracing::debug!(%error, "a TLS handshake failed"),
            Some(Err(_)) => tracing::debug!("a TLS handshake took too long"),
            None => {}
        }
    }

    /// Serves the requests of a connection.
    async fn exchanges<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        &self,
        stream: S,
        builder: &Builder<TokioExecutor>,
        connection: &Arc<Connection>,
    ) {
        let io = TokioIo::new(stream);
        let (http, marked) = (Arc::clone(&self.http), Arc::clone(connection));
        let service = service_fn(move |request: Request<Incoming>| {
            let (http, busy) = (Arc::clone(&http), marked.busy());
            async move {
                // Boxed, so that an idle connection does not keep the memory that a request needs.
                let response = Box::pin(route::serve(http, request)).await;
                Ok::<_, Infallible>(response.map(|body| Marked { body, _busy: busy }))
            }
        });
        let mut served = pin!(builder.serve_connection(io, service));
        let mut first = pin!(timeout(
            self.http.limits.first_head,
            connection.first.notified()
        ));
        let mut waiting = true;
        let mut going_on = true;
        let stopping = self.http.stopping();
        loop {
            tokio::select! {
                ended = &mut served => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "a connection ended with an error");
                    }
                    return;
                }
                in_time = &mut first, if waiting => {
                    if in_time.is_err() {
                        tracing::debug!("a connection without a request was ended");
                        return;
                    }
                    waiting = false;
                    if !going_on {
                        served.as_mut().graceful_shutdown();
                    }
                }
                () = connection.close.cancelled() => return,
                () = stopping.cancelled(), if going_on => {
                    going_on = false;
                    if waiting {
                        // Its first request may be on its way: a shutdown now would reset it.
                        let last = LAST_HEAD.min(self.http.limits.first_head);
                        first.set(timeout(last, connection.first.notified()));
                    } else {
                        served.as_mut().graceful_shutdown();
                    }
                }
            }
        }
    }

    /// Lets running requests finish within the limit for that, then closes all connections.
    async fn drain(&self) {
        let http = &self.http;
        http.leaving.cancel();
        http.sessions.end_common_streams();
        http.pairs.drain();
        self.tasks.close();
        if timeout(http.limits.drain, self.tasks.wait()).await.is_err() {
            tracing::info!("connections were cut: their calls took too long");
            self.open.close();
            self.tasks.wait().await;
        }
        http.sessions.sweep().await;
        http.sessions.stop();
    }
}

/// Sends small messages at once, and detects clients that are gone.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let keepalive = socket2::TcpKeepalive::new().with_time(TCP_KEEPALIVE);
    socket2::SockRef::from(stream).set_tcp_keepalive(&keepalive)
}

/// The body of a reply. Its connection counts as busy until the body has been sent.
struct Marked {
    body: Body,
    _busy: Busy,
}

impl HttpBody for Marked {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
