//! Sends calls: one origin, one key, slots, retries, a deadline.

use std::time::Duration;

use http::header::ACCEPT_ENCODING;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use tokio::time::{Instant, sleep_until, timeout_at};
use url::Url;

use super::body::{self, ACCEPTED, Body};
use super::error::before_reply;
use super::error_text::tidy;
use super::limits::{CONNECT, ERROR_BODY_BYTES};
use super::{
    ApiKey, CallLimits, Classify, Header, KEY_HEADER, KEY_TAKEN_OUT, KeyError, KeyFilter, Origin,
    Phase, Proxy, Reply, Request, RetryPolicy, SendLimiter, UpstreamError,
};
use crate::answers::FailureKind;

/// After a refusal for the rate, the upstream's window of one second must pass.
const RATE_WAIT: Duration = Duration::from_secs(1);
/// The first wait after a failed connection or a 5xx; doubled each time.
const FIRST_WAIT: Duration = Duration::from_millis(300);
/// Waits are lengthened by up to this part, so that many clients do not return together.
const JITTER: f64 = 0.5;
/// A wait that the upstream asks for beyond this is not waited out but reported.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// An unused connection older than this may be gone without a word, after a sleep or behind a router; a call on
/// it would wait in vain.
const POOL_IDLE: Duration = Duration::from_secs(30);
/// Research may be silent for a minute; what lies between forgets connections on which nothing moves.
const KEEPALIVE: Duration = Duration::from_secs(30);
/// A network that was away for a moment is no reason to lose a research.
const KEEPALIVE_ANSWER: Duration = Duration::from_secs(60);
/// Headers that belong to the host, whatever the component wants.
const HOST_HEADERS: [&str; 14] = [
    KEY_HEADER,
    "authorization",
    "proxy-authorization",
    "cookie",
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "upgrade",
    "te",
    "trailer",
    "expect",
    "keep-alive",
    "accept-encoding",
];

/// What a [`Client`] is made from.
#[derive(Clone, Debug)]
pub struct UpstreamConfig {
    /// Where calls go.
    pub origin: Origin,
    /// The key, or why there is none: an error only once a call is to be sent.
    pub key: Result<ApiKey, KeyError>,
    /// The proxy that calls go through. Loopback is reached without it.
    pub proxy: Option<Proxy>,
}

/// The HTTP client. Cheap to clone; clones share connections.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    config: UpstreamConfig,
}

/// A request as it goes out.
#[derive(Clone, Debug)]
struct Prepared {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: bytes::Bytes,
    key: HeaderValue,
}

impl Client {
    /// Sets up a client. Nothing is sent.
    ///
    /// # Errors
    /// Where the system's certificates or a proxy variable cannot be used.
    pub fn new(config: UpstreamConfig) -> Result<Self, UpstreamError> {
        // An error only says that another part of the process was first with the same provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("glovebox/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .connect_timeout(CONNECT)
            .pool_idle_timeout(POOL_IDLE)
            .tcp_keepalive(KEEPALIVE)
            .http2_keep_alive_interval(KEEPALIVE)
            .http2_keep_alive_timeout(KEEPALIVE_ANSWER)
            .default_headers(accepting());
        let setup = |error: reqwest::Error| UpstreamError::Setup(setup_reason(&error));
        if config.origin.is_loopback() {
            builder = builder.no_proxy();
        } else if let Some(proxy) = &config.proxy {
            builder = proxy.apply(builder).map_err(setup)?;
        }
        if !config.origin.is_tls() {
            // No certificate is needed, so their lack must not be an error, nor reading them cost time.
            builder = builder.tls_certs_only([]);
        }
        let http = builder.build().map_err(setup)?;
        Ok(Self { http, config })
    }

    /// Sends a request and gives the reply once its head has come with a good status.
    /// Dropping the future, or later the reply, closes the connection.
    ///
    /// # Errors
    /// What ended the call, after the retries that `limits` allows.
    pub async fn send(
        &self,
        request: &Request,
        limits: &CallLimits,
        limiter: &dyn SendLimiter,
        classify: &Classify<'_>,
    ) -> Result<Reply, UpstreamError> {
        let prepared = self.prepare(request)?;
        let mut retry: u32 = 0;
        loop {
            limiter.acquire(limits.deadline).await?;
            let error = match self.attempt(&prepared, limits, classify).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            let Some(until) = next_attempt(&error, retry, limits) else {
                return Err(error);
            };
            retry += 1;
            tracing::info!(
                kind = error.kind(),
                retry,
                "the upstream call is tried again"
            );
            sleep_until(until).await;
        }
    }

    /// Gives what tells this account at this origin from any other, part by part, to a keyed hash. The key is among it.
    pub fn identify(&self, hash: &mut dyn FnMut(&[u8])) {
        hash(self.config.origin.to_string().as_bytes());
        let key = self.config.key.as_ref().ok().and_then(ApiKey::header);
        hash(key.as_ref().map_or(&[][..], HeaderValue::as_bytes));
    }

    /// Whether the upstream can be reached, by a request without a key that cannot be billed. Gives its status.
    ///
    /// # Errors
    /// Why it cannot be reached.
    pub async fn reach(&self, within: Duration) -> Result<u16, UpstreamError> {
        let url = self
            .config
            .origin
            .join("/")
            .ok_or(UpstreamError::BadRequest("its path"))?;
        match tokio::time::timeout(within, self.http.head(url).send()).await {
            Ok(Ok(response)) => Ok(response.status().as_u16()),
            Ok(Err(error)) => Err(before_reply(
                &error,
                &self.config.origin,
                CONNECT,
                self.may_be_proxied(),
            )),
            Err(_) => Err(UpstreamError::TimeOut {
                phase: Phase::FirstByte,
                after: within,
            }),
        }
    }

    fn prepare(&self, request: &Request) -> Result<Prepared, UpstreamError> {
        let key = self
            .config
            .key
            .clone()?
            .header()
            .ok_or(UpstreamError::BadRequest("the key"))?;
        let method = Method::from_bytes(request.method.as_bytes())
            .map_err(|_| UpstreamError::BadRequest("its method"))?;
        let url = self
            .config
            .origin
            .join(&request.path)
            .ok_or(UpstreamError::BadRequest("its path"))?;
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| UpstreamError::BadRequest("a header's name"))?;
            if HOST_HEADERS.contains(&name.as_str()) {
                continue;
            }
            let value = HeaderValue::from_str(value)
                .map_err(|_| UpstreamError::BadRequest("a header's value"))?;
            headers.append(name, value);
        }
        headers.insert(HeaderName::from_static(KEY_HEADER), key.clone());
        Ok(Prepared {
            method,
            url,
            headers,
            body: request.body.clone().into(),
            key,
        })
    }

    async fn attempt(
        &self,
        prepared: &Prepared,
        limits: &CallLimits,
        classify: &Classify<'_>,
    ) -> Result<Reply, UpstreamError> {
        let sending = self
            .http
            .request(prepared.method.clone(), prepared.url.clone())
            .headers(prepared.headers.clone())
            .body(prepared.body.clone())
            .send();
        let (until, phase, after) =
            sooner(limits, Instant::now() + limits.first_byte, Phase::FirstByte);
        let response = timeout_at(until, sending)
            .await
            .map_err(|_| UpstreamError::TimeOut { phase, after })?
            .map_err(|error| {
                before_reply(&error, &self.config.origin, CONNECT, self.may_be_proxied())
            })?;
        let strip = KeyFilter::new(prepared.key.as_bytes(), KEY_TAKEN_OUT);
        let status = response.status().as_u16();
        let headers = lossy(&body::headers(&response), &strip);
        // Any success may hold an answer, and may be billed. A proxy that changes something says 203.
        let success = response.status().is_success();
        let body = Body::new(response);
        if success {
            return Ok(Reply::read(body, headers, *limits, strip));
        }
        let body = error_body(body, limits).await;
        let failure = classify(status, &headers, &strip.whole(&body));
        Err(UpstreamError::Refused(Box::new(tidy(failure, &strip))))
    }

    /// Whether a proxy is set for such calls; `NO_PROXY` may still exempt this one.
    fn may_be_proxied(&self) -> bool {
        !self.config.origin.is_loopback() && self.config.proxy.is_some()
    }
}

/// The sooner of a wait's own end and the call's deadline, with what it is called.
pub(super) fn sooner(
    limits: &CallLimits,
    end: Instant,
    phase: Phase,
) -> (Instant, Phase, Duration) {
    let after = if phase == Phase::FirstByte {
        limits.first_byte
    } else {
        limits.idle
    };
    if limits.deadline < end {
        (limits.deadline, Phase::Total, limits.total)
    } else {
        (end, phase, after)
    }
}

/// What every request says of the replies that it can read.
pub(crate) fn accepting() -> HeaderMap {
    HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(ACCEPTED))])
}

fn lossy(headers: &HeaderMap, strip: &KeyFilter) -> Vec<Header> {
    let text =
        |value: &HeaderValue| String::from_utf8_lossy(&strip.whole(value.as_bytes())).into_owned();
    headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), text(value)))
        .collect()
}

/// The start of an unsuccessful reply's body; what does not come in time is left out, for the status alone
/// says enough.
async fn error_body(mut reply: Body, limits: &CallLimits) -> Vec<u8> {
    let mut body = Vec::new();
    let until = limits.deadline.min(Instant::now() + limits.idle);
    while let Ok(Ok(Some(chunk))) = timeout_at(until, reply.chunk()).await {
        let room = ERROR_BODY_BYTES - body.len();
        body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if body.len() == ERROR_BODY_BYTES {
            break;
        }
    }
    body
}

/// When to try again, if that is allowed and there is time.
fn next_attempt(error: &UpstreamError, retry: u32, limits: &CallLimits) -> Option<Instant> {
    let RetryPolicy {
        retries,
        server_errors,
    } = limits.retry;
    if retry >= retries {
        return None;
    }
    let wait = match error {
        UpstreamError::Dns { .. }
        | UpstreamError::Unreachable { .. }
        | UpstreamError::TimeOut {
            phase: Phase::Connect,
            ..
        } => FIRST_WAIT * 2_u32.pow(retry),
        UpstreamError::Refused(failure) => match failure.kind {
            FailureKind::RateLimited => RATE_WAIT.max(asked_wait(failure.retry_after_seconds)),
            FailureKind::ServerError if server_errors => {
                (FIRST_WAIT * 2_u32.pow(retry)).max(asked_wait(failure.retry_after_seconds))
            }
            _ => return None,
        },
        _ => return None,
    };
    if wait > LONGEST_WAIT {
        return None;
    }
    let until = Instant::now() + wait.mul_f64(1.0 + JITTER * fastrand::f64());
    (until < limits.deadline).then_some(until)
}

fn asked_wait(seconds: Option<f64>) -> Duration {
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .unwrap_or_default()
}

fn setup_reason(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
