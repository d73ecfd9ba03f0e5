//! The HTTP client of the bridge: one origin, credentials, redirects within the origin, bounded waits and bodies.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use tokio::time::timeout;
use url::{Host, Url};

use super::credentials::Credentials;
use super::failure::Failure;
use super::limits::{CONNECT, KEEPALIVE, KEEPALIVE_ANSWER, POOL_IDLE, REDIRECTS};
use super::message::Message;
use super::reply::Reply;
use crate::secrets;
use crate::upstream::{Network, Proxy, network};

/// Why a bridge cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// The address is none, or is not one of HTTP.
    #[error("{0}")]
    Url(String),
    /// The certificates or the proxy cannot be used.
    #[error("the HTTP client cannot be set up: {0}")]
    Client(String),
}

/// Certificates beside those of the system, or in their place.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// The certificates of authorities, as PEM.
    pub authorities: Vec<reqwest::Certificate>,
    /// Whether no other authority is trusted.
    pub only: bool,
}

/// The client.
#[derive(Debug)]
pub struct Http {
    client: reqwest::Client,
    /// The origin and how it is shown.
    origin: url::Origin,
    proxied: bool,
    credentials: Credentials,
    silence: Duration,
    /// Where redirects led, from the address that was given.
    moved: Mutex<Option<(Url, Url)>>,
}

/// Checks an address that was given for a server.
///
/// # Errors
/// What is wrong with it. The text shows no password and no query.
pub fn parse_url(text: &str) -> Result<Url, SetupError> {
    let shown = secrets::shown(text);
    let refuse = |why: &str| Err(SetupError::Url(format!("{shown}: {why}")));
    let mut url = match Url::parse(text.trim()) {
        Ok(url) => url,
        Err(error) => return refuse(&format!("this is no URL ({error})")),
    };
    if !matches!(url.scheme(), "http" | "https") {
        return refuse("the address must begin with http:// or https://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse(
            "the address holds a user name or password, which every process of this machine can see; use --header-env Authorization=VARIABLE",
        );
    }
    url.set_fragment(None);
    Ok(url)
}

/// Returns whether the address is on this machine.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

impl Http {
    /// Sets up a client for the origin of `url`. Nothing is sent.
    ///
    /// # Errors
    /// When a secret would go over the network in the clear, or the certificates or the proxy cannot be used.
    pub fn new(
        url: &Url,
        credentials: Credentials,
        trust: Trust,
        proxy: Option<&Proxy>,
        silence: Duration,
    ) -> Result<Self, SetupError> {
        let (tls, loopback) = (url.scheme() == "https", is_loopback(url));
        if credentials.has_secret() && !tls && !loopback {
            return Err(SetupError::Url(format!(
                "{}: a token or secret header is not sent over plain http to another machine; use https://",
                secrets::shown(url.as_str())
            )));
        }
        // An error only says that another part of the process was first with the same provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let setup = |error: reqwest::Error| {
            let mut cause: &dyn std::error::Error = &error;
            while let Some(inner) = cause.source() {
                cause = inner;
            }
            SetupError::Client(cause.to_string())
        };
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("glovebox/", env!("CARGO_PKG_VERSION"), " (bridge)"))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy()
            .connect_timeout(CONNECT)
            .pool_idle_timeout(POOL_IDLE)
            .tcp_nodelay(true)
            .tcp_keepalive(KEEPALIVE)
            .http2_keep_alive_interval(KEEPALIVE)
            .http2_keep_alive_timeout(KEEPALIVE_ANSWER);
        let proxy = proxy.filter(|_| !loopback);
        if let Some(proxy) = proxy {
            builder = proxy.apply(builder).map_err(setup)?;
        }
        builder = match (tls, trust.only) {
            // No certificate is needed, so reading those of the system would only cost time.
            (false, _) => builder.tls_certs_only([]),
            (true, true) => builder.tls_certs_only(trust.authorities),
            (true, false) => builder.tls_certs_merge(trust.authorities),
        };
        Ok(Self {
            client: builder.build().map_err(setup)?,
            origin: url.origin(),
            proxied: proxy.is_some(),
            credentials,
            silence,
            moved: Mutex::new(None),
        })
    }

    /// Returns whether the address belongs to the server's origin.
    #[must_use]
    pub fn is_same_origin(&self, url: &Url) -> bool {
        url.origin() == self.origin
    }

    /// Returns the server's origin, as it may be shown.
    #[must_use]
    pub fn shown_origin(&self) -> String {
        secrets::masked(&self.origin.ascii_serialization()).into_owned()
    }

    /// Takes the secrets out of what the server sent.
    #[must_use]
    pub fn mask(&self, text: Vec<u8>) -> Vec<u8> {
        match self.credentials.current() {
            Ok(current) => current.mask(text),
            Err(_) => text,
        }
    }

    /// Takes the secrets out of a text.
    #[must_use]
    pub fn mask_text(&self, text: &str) -> String {
        match self.credentials.current() {
            Ok(current) => current.mask_text(text),
            Err(_) => text.to_owned(),
        }
    }

    /// Posts a message. A redirect is followed where the message may be sent twice; else its target is only kept for
    /// the next message.
    ///
    /// # Errors
    /// When no reply came.
    pub async fn post(
        &self,
        url: &Url,
        headers: HeaderMap,
        message: &Message,
    ) -> Result<Reply, Failure> {
        let repeatable = message.is_repeatable();
        self.send(
            Method::POST,
            url,
            headers,
            message.text().clone(),
            repeatable,
        )
        .await
    }

    /// Opens a stream of events.
    ///
    /// # Errors
    /// When no reply came.
    pub async fn get(&self, url: &Url, headers: HeaderMap) -> Result<Reply, Failure> {
        self.send(Method::GET, url, headers, Bytes::new(), true)
            .await
    }

    /// Tells the server that a session ended.
    ///
    /// # Errors
    /// When no reply came.
    pub async fn delete(&self, url: &Url, headers: HeaderMap) -> Result<Reply, Failure> {
        self.send(Method::DELETE, url, headers, Bytes::new(), false)
            .await
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        mut headers: HeaderMap,
        body: Bytes,
        follow: bool,
    ) -> Result<Reply, Failure> {
        let current = self
            .credentials
            .current()
            .map_err(|error| Failure::Misconfigured(error.to_string()))?;
        headers.extend(current.headers().clone());
        let accept = if method == Method::POST {
            headers.insert(
                header::CONTENT_TYPE,
                HeaderValue::from_static("application/json"),
            );
            "application/json, text/event-stream"
        } else {
            "text/event-stream"
        };
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        let mut target = self.current_address(url);
        let mut status = StatusCode::LOOP_DETECTED;
        for _ in 0..=REDIRECTS {
            let mut request = self
                .client
                .request(method.clone(), target.clone())
                .headers(headers.clone());
            if method == Method::POST {
                request = request.body(body.clone());
            }
            let response = timeout(self.silence, request.send())
                .await
                .map_err(|_| Failure::Silent(self.silence))?
                .map_err(|error| self.no_reply(&error))?;
            if !response.status().is_redirection() {
                return Ok(Reply::new(
                    response,
                    self.silence,
                    self.shown_origin(),
                    current,
                ));
            }
            status = response.status();
            target = self.target(&response, &target, &method)?;
            if method != Method::DELETE {
                *self.moved.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some((url.clone(), target.clone()));
            }
            if !follow {
                return Err(Failure::Moved);
            }
        }
        Err(refused(
            status,
            format!("the server redirected the request {REDIRECTS} times"),
        ))
    }

    /// Returns where an address has moved to.
    fn current_address(&self, url: &Url) -> Url {
        let moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        match &*moved {
            Some((from, to)) if from == url => to.clone(),
            _ => url.clone(),
        }
    }

    /// Returns where a redirect leads, which must be the same origin.
    fn target(
        &self,
        response: &reqwest::Response,
        from: &Url,
        method: &Method,
    ) -> Result<Url, Failure> {
        let status = response.status();
        let location = response.headers().get(header::LOCATION);
        let target = location
            .and_then(|location| location.to_str().ok())
            .and_then(|location| from.join(location).ok());
        let refuse = |text: String| Err(refused(status, text));
        let Some(target) = target else {
            return refuse(format!("the server redirects (status {status}) to nowhere"));
        };
        let shown = secrets::shown(&self.mask_text(target.as_str()));
        if !self.is_same_origin(&target) {
            return refuse(format!(
                "the server redirects to {shown}, which is another origin; nothing was sent there. Give that address to the bridge if it is the right one"
            ));
        }
        let keeps_method = matches!(status.as_u16(), 307 | 308) || method == Method::GET;
        if !keeps_method {
            return refuse(format!(
                "the server redirects to {shown} with status {status}, which would turn the request into another; give that address to the bridge"
            ));
        }
        Ok(target)
    }

    fn no_reply(&self, error: &reqwest::Error) -> Failure {
        let origin = self.shown_origin();
        let way = if self.proxied {
            " through the proxy"
        } else {
            ""
        };
        match network(error) {
            Network::Certificate(reason) => Failure::Misconfigured(format!(
                "the certificate of {origin} is not accepted: {reason}; --ca FILE accepts those of another authority"
            )),
            Network::Tls(reason) => {
                Failure::Misconfigured(format!("TLS with {origin} failed: {reason}"))
            }
            Network::Proxy(reason) => Failure::Misconfigured(format!(
                "the proxy refused the connection to {origin}: {reason}"
            )),
            Network::TimeOut => Failure::Unreachable(format!(
                "{origin} did not take the connection{way} within {} s",
                CONNECT.as_secs()
            )),
            Network::Dns(_) => Failure::Unreachable(format!(
                "the name of {origin} has no address, or it cannot be looked up{way}"
            )),
            Network::Unreachable(reason) => Failure::Unreachable(format!(
                "{origin} cannot be reached{way}: {}",
                self.mask_text(&reason)
            )),
            Network::Broken(reason) => Failure::Broken(self.mask_text(&reason)),
        }
    }
}

/// Returns the failure of a request that was refused with a status.
fn refused(status: StatusCode, text: String) -> Failure {
    Failure::Refused {
        status: status.as_u16(),
        text,
        retry_after: None,
    }
}
