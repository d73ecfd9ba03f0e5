//! Sends the requests of a guest: to one origin, up to a number of requests, with the key inserted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use http::{HeaderMap, HeaderName, Method, Request, Response, Uri, header};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use super::admission::{OutgoingRequest, RequestAdmission};
use super::console::Console;
use super::key::KeyGuard;
use super::limits::{CONNECT, OPEN_REQUEST_BYTES, REPLY_BYTES, REQUEST_BYTES};
use super::resolver::{CheckedResolver, Prohibited};
use crate::upstream::{Body, BodyError, KeyFilter, Origin, Proxy, accepting};

/// Request headers that only the host may set, in addition to those that `wasi:http` forbids.
const HOST_HEADERS: [HeaderName; 5] = [
    header::ACCEPT_ENCODING,
    header::CONTENT_LENGTH,
    header::EXPECT,
    // The library derives it from the authority as the guest wrote it, including user information.
    header::HOST,
    header::TE,
];
/// The methods that a guest may use to read and to ask questions. CONNECT would open a tunnel through the origin, TRACE
/// returns the key, and the others change data of the account.
const METHODS: [Method; 3] = [Method::GET, Method::HEAD, Method::POST];
/// Reply headers about the transfer, which are removed.
const TRANSFER_HEADERS: [HeaderName; 4] = [
    header::CONNECTION,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
];

/// The configuration of a [`Sender`].
pub(super) struct SenderConfig {
    pub(super) origin: Origin,
    pub(super) key: Option<KeyGuard>,
    pub(super) proxy: Option<Proxy>,
    pub(super) admission: Arc<dyn RequestAdmission>,
    pub(super) requests: u32,
    pub(super) deadline: Instant,
    /// Receives a message about every request that is refused or fails.
    pub(super) console: Arc<dyn Console>,
}

/// Sends the requests of a guest.
pub(super) struct Sender {
    http: reqwest::Client,
    config: SenderConfig,
    sent: AtomicU32,
    open: Arc<OpenBytes>,
}

/// The number of request body bytes that all requests of a run hold now.
#[derive(Debug, Default)]
struct OpenBytes(AtomicUsize);

/// The share of one request in [`OpenBytes`]. It is released on drop.
#[derive(Debug)]
struct BodyShare {
    open: Arc<OpenBytes>,
    bytes: usize,
}

impl BodyShare {
    const fn none(open: Arc<OpenBytes>) -> Self {
        Self { open, bytes: 0 }
    }

    /// Adds bytes to the share. Returns false if all requests together would exceed their limit.
    fn take(&mut self, bytes: usize) -> bool {
        let before = self.open.0.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
        before.saturating_add(bytes) <= OPEN_REQUEST_BYTES
    }
}

impl Drop for BodyShare {
    fn drop(&mut self) {
        self.open.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Sender {
    /// Creates the HTTP client. Nothing is sent.
    pub(super) fn new(config: SenderConfig) -> Result<Self, reqwest::Error> {
        // It fails only if another part of the process already installed the same provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let loopback = config.origin.is_loopback();
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .connect_timeout(CONNECT)
            .dns_resolver(Arc::new(CheckedResolver { loopback }))
            .default_headers(accepting());
        if loopback {
            builder = builder.no_proxy();
        } else if let Some(proxy) = &config.proxy {
            builder = proxy.apply(builder)?;
        }
        if !config.origin.is_tls() {
            builder = builder.tls_certs_only([]);
        }
        Ok(Self {
            http: builder.build()?,
            config,
            sent: AtomicU32::new(0),
            open: Arc::default(),
        })
    }

    async fn send(
        &self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> Result<Response<WasiBody>, Error> {
        let (parts, body) = request.into_parts();
        let url = self.admit(&parts.method, &parts.uri)?;
        self.count_request()?;
        let mut held = BodyShare::none(Arc::clone(&self.open));
        // Keep the body until the request no longer counts, because dropping it reports the refusal to the guest.
        let mut unread = body;
        let body = self.collect(&mut unread, &mut held).await;
        if body.is_err() {
            self.uncount_request();
        }
        drop(unread);
        let body = body?;
        let mut headers = parts.headers;
        for name in HOST_HEADERS {
            headers.remove(name);
        }
        let request = OutgoingRequest {
            method: &parts.method,
            url: &url,
            headers: &headers,
            body: &body,
        };
        let admitting = self.config.admission.admit(request, self.config.deadline);
        let admitted = admitting
            .await
            .map_err(|why| self.refuse(&format!("a request: {why}"), Error::HttpRequestDenied))?;
        if let Some(key) = &self.config.key {
            key.insert(&mut headers);
        }
        let sending = self
            .http
            .request(parts.method, url)
            .headers(headers)
            .body(body)
            .send();
        let options = options.unwrap_or_default();
        let until = options
            .first_byte_timeout
            .map_or(self.config.deadline, |wait| {
                self.config.deadline.min(Instant::now() + wait)
            });
        let reply = timeout_at(until, sending).await;
        drop(held);
        let reply = reply.map_err(|_| Error::HttpResponseTimeout)?;
        let reply = match reply {
            Ok(reply) => reply,
            Err(error) => {
                if error.is_connect() {
                    admitted.unsent().await;
                }
                return Err(self.failed(&error));
            }
        };
        admitted.replied(reply.status(), reply.headers()).await;
        Ok(self.reply(reply, options.between_bytes_timeout))
    }

    /// Reads a body within its own limit and the limit of all open requests together.
    async fn collect(&self, body: &mut WasiBody, held: &mut BodyShare) -> Result<Bytes, Error> {
        let too_large = |what: String| self.refuse(&what, Error::HttpRequestBodySize(None));
        let mut bytes = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let Ok(piece) = frame?.into_data() else {
                continue;
            };
            if bytes.len() + piece.len() > REQUEST_BYTES {
                let what = format!("a request body of more than {REQUEST_BYTES} bytes");
                return Err(too_large(what));
            }
            if !held.take(piece.len()) {
                return Err(too_large(format!(
                    "a request: the bodies of all open requests are more than {OPEN_REQUEST_BYTES} bytes"
                )));
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes.freeze())
    }

    /// Returns the URL if it has the allowed origin and the method is allowed.
    fn admit(&self, method: &Method, uri: &Uri) -> Result<Url, Error> {
        if !METHODS.contains(method) {
            return Err(self.refuse(
                &format!(
                    "a request with the method {method}: a component may use GET, HEAD and POST"
                ),
                Error::HttpRequestMethodInvalid,
            ));
        }
        if uri
            .authority()
            .is_some_and(|host| host.as_str().contains('@'))
        {
            return Err(self.refuse(
                "a request with a user name in its address: a component gives the host alone",
                Error::HttpRequestUriInvalid,
            ));
        }
        let wanted = Url::parse(&uri.to_string()).map_err(|_| Error::HttpRequestUriInvalid)?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let allowed = self
            .config
            .origin
            .join(path)
            .filter(|url| url.origin() == wanted.origin());
        allowed.ok_or_else(|| {
            let wanted = wanted.origin().ascii_serialization();
            let origin = &self.config.origin;
            self.refuse(
                &format!("a request to {wanted}: a component reaches {origin} and nothing else. --upstream or GLOVEBOX_UPSTREAM sets that origin"),
                Error::HttpRequestDenied,
            )
        })
    }

    /// Counts one more request, if the limit allows it.
    fn count_request(&self) -> Result<(), Error> {
        let allowed = self.config.requests;
        let one_more = |sent| (sent < allowed).then_some(sent + 1);
        let counted = self
            .sent
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        if counted.is_ok() {
            return Ok(());
        }
        Err(self.refuse(
            &format!("a request beyond the {allowed} of this run. --max-requests allows more, and each costs"),
            Error::HttpRequestDenied,
        ))
    }

    /// Releases the count of a request that was not sent.
    fn uncount_request(&self) {
        self.sent.fetch_sub(1, Ordering::Relaxed);
    }

    fn refuse(&self, what: &str, error: Error) -> Error {
        self.config.console.report(&format!("refused {what}"));
        error
    }

    fn failed(&self, error: &reqwest::Error) -> Error {
        let mut cause: &dyn std::error::Error = error;
        let mut prohibited = false;
        while let Some(inner) = cause.source() {
            prohibited |= inner.is::<Prohibited>();
            cause = inner;
        }
        let origin = &self.config.origin;
        let why = format!("no reply from {origin}: {cause}");
        self.config.console.report(&why);
        match () {
            () if prohibited => Error::DestinationIpProhibited,
            () if error.is_timeout() => Error::ConnectionTimeout,
            () if error.is_connect() => Error::ConnectionRefused,
            () => Error::HttpProtocolError,
        }
    }

    fn reply(&self, reply: reqwest::Response, idle: Option<Duration>) -> Response<WasiBody> {
        let status = reply.status();
        let mut headers = HeaderMap::new();
        for (name, value) in reply.headers() {
            if TRANSFER_HEADERS.contains(name) {
                continue;
            }
            let value = self
                .config
                .key
                .as_ref()
                .map_or_else(|| value.clone(), |key| key.strip_header(value));
            headers.append(name.clone(), value);
        }
        let body = body(
            Body::new(reply),
            idle,
            self.config
                .key
                .as_ref()
                .map_or_else(KeyFilter::nothing, KeyGuard::strip),
        );
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        response
    }
}

/// Returns the body of the reply, limited in size and without the key.
fn body(reply: Body, idle: Option<Duration>, strip: KeyFilter) -> WasiBody {
    let pieces = stream::try_unfold(
        (reply, strip, 0_u64, false),
        move |(mut reply, mut strip, read, over)| async move {
            if over {
                return Ok(None);
            }
            loop {
                let next = match idle {
                    Some(idle) => timeout(idle, reply.chunk())
                        .await
                        .map_err(|_| Error::ConnectionReadTimeout)?,
                    None => reply.chunk().await,
                };
                let Some(piece) = next.map_err(|error| broken(&error))? else {
                    return Ok(Some((strip.rest(), (reply, strip, read, true))));
                };
                let read = read + piece.len() as u64;
                if read > REPLY_BYTES {
                    return Err(Error::HttpResponseBodySize(Some(REPLY_BYTES)));
                }
                let clean = strip.push(piece);
                if !clean.is_empty() {
                    return Ok(Some((clean, (reply, strip, read, false))));
                }
            }
        },
    );
    let frames = pieces
        .try_filter(|piece: &Bytes| std::future::ready(!piece.is_empty()))
        .map(|piece| piece.map(Frame::data));
    StreamBody::new(frames).boxed_unsync()
}

/// Returns the error for the guest when a body ended early.
fn broken(error: &BodyError) -> Error {
    match error {
        BodyError::Transfer(_) => Error::HttpResponseIncomplete,
        BodyError::Compression(_) | BodyError::Coding(_) => Error::HttpResponseContentCoding(None),
    }
}

/// The HTTP hooks of one run.
pub(super) struct Hooks(pub(super) Arc<Sender>);

impl WasiHttpHooks for Hooks {
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _received: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<
        dyn Future<
                Output = Result<
                    (
                        Response<WasiBody>,
                        Box<dyn Future<Output = Result<(), Error>> + Send>,
                    ),
                    Error,
                >,
            > + Send,
    > {
        let sender = Arc::clone(&self.0);
        Box::new(async move {
            let reply = sender.send(request, options).await?;
            let sent: Box<dyn Future<Output = Result<(), Error>> + Send> =
                Box::new(std::future::ready(Ok(())));
            Ok((reply, sent))
        })
    }
}
