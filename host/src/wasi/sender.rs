//! The way out for a guest: one origin, so many requests, the key put in on the way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use http::{HeaderMap, HeaderName, Request, Response, Uri, header};
use http_body::Frame;
use http_body_util::{BodyExt as _, Limited, StreamBody};
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use super::egress::{Checked, Prohibited};
use super::gate::Gate;
use super::key::KeyGuard;
use super::limits::{CONNECT, REPLY_BYTES, REQUEST_BYTES};
use crate::upstream::{Origin, Proxy, Strip};

/// Headers of a request that belong to the host, beside those that `wasi:http` forbids.
const HOST_HEADERS: [HeaderName; 4] = [
    header::ACCEPT_ENCODING,
    header::CONTENT_LENGTH,
    header::EXPECT,
    header::TE,
];
/// Headers of a reply that speak of how it travelled, which the guest does not see.
const TRAVEL_HEADERS: [HeaderName; 4] = [
    header::CONNECTION,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
];

/// What a [`Sender`] is made from.
pub(super) struct Egress {
    pub(super) origin: Origin,
    pub(super) key: Option<KeyGuard>,
    pub(super) proxy: Option<Proxy>,
    pub(super) gate: Arc<dyn Gate>,
    pub(super) requests: u32,
    pub(super) deadline: Instant,
    /// Told of everything that is refused or fails, in a sentence for a person.
    pub(super) tell: fn(&str),
}

/// Sends what a guest asks for, if it may.
pub(super) struct Sender {
    http: reqwest::Client,
    egress: Egress,
    sent: AtomicU32,
}

impl Sender {
    /// Sets up a client. Nothing is sent.
    pub(super) fn new(egress: Egress) -> Result<Self, reqwest::Error> {
        // An error only says that another part of the process was first with the same provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let loopback = egress.origin.is_loopback();
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .connect_timeout(CONNECT)
            .dns_resolver(Arc::new(Checked { loopback }))
            .gzip(true);
        if loopback {
            builder = builder.no_proxy();
        } else if let Some(proxy) = &egress.proxy {
            builder = proxy.apply(builder)?;
        }
        if !egress.origin.is_tls() {
            builder = builder.tls_certs_only([]);
        }
        Ok(Self {
            http: builder.build()?,
            egress,
            sent: AtomicU32::new(0),
        })
    }

    async fn send(
        &self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> Result<Response<WasiBody>, Error> {
        let (parts, body) = request.into_parts();
        let url = self.admit(&parts.uri)?;
        let body = Limited::new(body, REQUEST_BYTES).collect().await;
        let body = body.map_err(|_| {
            self.refuse(
                &format!("a request body of more than {REQUEST_BYTES} bytes"),
                Error::HttpRequestBodySize(None),
            )
        })?;
        let mut headers = parts.headers;
        for name in HOST_HEADERS {
            headers.remove(name);
        }
        if let Some(key) = &self.egress.key {
            key.insert(&mut headers);
        }
        self.count()?;
        let body = body.to_bytes();
        let leave = self.egress.gate.admit(&body, self.egress.deadline).await;
        let ticket = leave
            .map_err(|why| self.refuse(&format!("a request: {why}"), Error::HttpRequestDenied))?;
        let sending = self
            .http
            .request(parts.method, url)
            .headers(headers)
            .body(body)
            .send();
        let options = options.unwrap_or_default();
        let until = options
            .first_byte_timeout
            .map_or(self.egress.deadline, |wait| {
                self.egress.deadline.min(Instant::now() + wait)
            });
        let reply = timeout_at(until, sending)
            .await
            .map_err(|_| Error::HttpResponseTimeout)?;
        let reply = match reply {
            Ok(reply) => reply,
            Err(error) => {
                if error.is_connect() {
                    ticket.unsent();
                }
                return Err(self.failed(&error));
            }
        };
        ticket.replied(reply.status().as_u16(), reply.headers());
        Ok(self.reply(reply, options.between_bytes_timeout))
    }

    /// The URL, if it is on the one origin.
    fn admit(&self, uri: &Uri) -> Result<Url, Error> {
        let wanted = Url::parse(&uri.to_string()).map_err(|_| Error::HttpRequestUriInvalid)?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let allowed = self
            .egress
            .origin
            .join(path)
            .filter(|url| url.origin() == wanted.origin());
        allowed.ok_or_else(|| {
            let wanted = wanted.origin().ascii_serialization();
            let origin = &self.egress.origin;
            self.refuse(
                &format!("a request to {wanted}: a component reaches {origin} and nothing else. --upstream or GLOVEBOX_UPSTREAM sets that origin"),
                Error::HttpRequestDenied,
            )
        })
    }

    /// One request more, if it may be.
    fn count(&self) -> Result<(), Error> {
        let allowed = self.egress.requests;
        if self.sent.fetch_add(1, Ordering::Relaxed) < allowed {
            return Ok(());
        }
        Err(self.refuse(
            &format!("a request beyond the {allowed} of this run. --max-requests allows more, and each costs"),
            Error::HttpRequestDenied,
        ))
    }

    fn refuse(&self, what: &str, error: Error) -> Error {
        (self.egress.tell)(&format!("refused {what}"));
        error
    }

    fn failed(&self, error: &reqwest::Error) -> Error {
        let mut cause: &dyn std::error::Error = error;
        let mut prohibited = false;
        while let Some(inner) = cause.source() {
            prohibited |= inner.is::<Prohibited>();
            cause = inner;
        }
        (self.egress.tell)(&format!("no reply from {}: {cause}", self.egress.origin));
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
            if TRAVEL_HEADERS.contains(name) {
                continue;
            }
            let value = self
                .egress
                .key
                .as_ref()
                .map_or_else(|| value.clone(), |key| key.strip_header(value));
            headers.append(name.clone(), value);
        }
        let body = body(
            reply,
            idle,
            self.egress
                .key
                .as_ref()
                .map_or_else(Strip::nothing, KeyGuard::strip),
        );
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        response
    }
}

/// The reply's body, bounded, with the key taken out.
fn body(reply: reqwest::Response, idle: Option<Duration>, strip: Strip) -> WasiBody {
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
                let Some(piece) = next.map_err(|_| Error::HttpResponseIncomplete)? else {
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

/// The hooks of one run.
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
