//! Takes connections and serves them, until the server is told to stop.

mod address;
mod open;
mod stall;

use std::convert::Infallible;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{interval, sleep, timeout};
use tokio_util::task::TaskTracker;

use super::limits::{
    ACCEPT_PAUSE, H2_LOCAL_RESETS, H2_PENDING_RESETS, H2_PING, H2_STREAMS, HEAD_BYTES, HEADERS,
    NEXT_HEAD, TOKEN_CHECK,
};
use super::reply::Body;
use super::route;
use super::state::Http;
use open::{Busy, Connection, OpenConnections};
use stall::Stalling;

pub use address::{AddressError, ListenAddress};

/// After this long without a byte the system asks whether a client is there.
const TCP_KEEPALIVE: Duration = Duration::from_secs(60);

/// Serves connections until the server is asked to stop, and then until what runs has ended or the limit for it has
/// passed. Sessions stay in the store.
pub async fn serve(http: Arc<Http>, sockets: Vec<TcpListener>) {
    let serving = Arc::new(Serving::new(Arc::clone(&http)));
    let stopping = http.stopping();
    let accepting: Vec<_> = sockets
        .into_iter()
        .map(|socket| {
            let accept = accept(Arc::clone(&serving), socket);
            tokio::spawn(stopping.clone().run_until_cancelled_owned(accept))
        })
        .collect();
    let sweeping = tokio::spawn(sweep(Arc::clone(&http)));
    let checking = tokio::spawn(check_token(Arc::clone(&http)));
    stopping.cancelled().await;
    for accept in accepting {
        // The socket is closed when its task has ended.
        let _ = accept.await;
    }
    sweeping.abort();
    checking.abort();
    serving.drain().await;
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

/// Takes connections for ever. Without file handles it waits for some.
async fn accept(serving: Arc<Serving>, socket: TcpListener) {
    loop {
        match socket.accept().await {
            Ok((stream, _)) => serving.start(stream),
            Err(error) if is_of_connection(&error) => {
                tracing::debug!(%error, "a connection ended before it was taken");
            }
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
    builder: Builder<TokioExecutor>,
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
            open: Arc::new(OpenConnections::new(http.limits.connections)),
            http,
            builder,
            tasks: TaskTracker::new(),
        }
    }

    fn start(self: &Arc<Self>, stream: TcpStream) {
        let Some((connection, entry)) = self.open.add() else {
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
        let io = TokioIo::new(Stalling::new(stream, self.http.limits.write_stall));
        let (http, marked) = (Arc::clone(&self.http), Arc::clone(connection));
        let service = service_fn(move |request: Request<Incoming>| {
            let (http, busy) = (Arc::clone(&http), marked.busy());
            async move {
                // Boxed, so that an idle connection does not keep the memory that a request needs.
                let response = Box::pin(route::serve(http, request)).await;
                Ok::<_, Infallible>(response.map(|body| Marked { body, _busy: busy }))
            }
        });
        let mut served = pin!(self.builder.serve_connection(io, service));
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
                }
                () = connection.close.cancelled() => return,
                () = stopping.cancelled(), if going_on => {
                    served.as_mut().graceful_shutdown();
                    going_on = false;
                }
            }
        }
    }

    /// Lets what runs come to its end, within the limit.
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

/// Small messages leave at once, and a client that is gone is noticed.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let keepalive = socket2::TcpKeepalive::new().with_time(TCP_KEEPALIVE);
    socket2::SockRef::from(stream).set_tcp_keepalive(&keepalive)
}

/// The body of a reply, whose connection is busy until it has been sent.
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
