//! The server of the page: loopback only, by its own name only, with a strict policy.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use tokio::net::TcpListener;
use tower_http::compression::CompressionLayer;

use super::files;

/// The page runs its own scripts and WebAssembly, connects to this server and to nothing else, and parses no markup from
/// data. The page itself states the same policy, for servers that send no headers.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types glovebox";
/// The folder of the one job that is served, if there is one.
const JOB: &str = "job/";
/// The headers of its reply, in that folder.
const HEADERS: &str = "headers";

/// A captured reply to show.
#[derive(Debug)]
pub struct Reply {
    /// The name that the page shows.
    pub name: String,
    /// The headers, `Name: value` a line.
    pub headers: String,
    /// The stream.
    pub body: Bytes,
}

/// A page on a port of this machine.
#[derive(Clone, Debug)]
pub struct Page {
    address: SocketAddr,
    reply: Option<Arc<Reply>>,
}

impl Page {
    /// Makes a page that shows a reply, if there is one.
    pub fn new(address: SocketAddr, reply: Option<Reply>) -> Self {
        Self {
            address,
            reply: reply.map(Arc::new),
        }
    }

    /// Returns the address to open.
    pub fn url(&self) -> String {
        let address = self.address;
        match &self.reply {
            None => format!("http://{address}/"),
            Some(reply) => format!("http://{address}/?job={}", reply.name),
        }
    }

    /// Serves the page until the listener fails.
    ///
    /// # Errors
    /// When connections cannot be accepted.
    pub async fn serve(self, listener: TcpListener) -> std::io::Result<()> {
        let app = Router::new()
            .fallback(serve)
            .with_state(self)
            .layer(CompressionLayer::new());
        axum::serve(listener, app).await
    }

    fn find(&self, path: &str) -> Option<Bytes> {
        let Some(part) = path.strip_prefix(JOB) else {
            return files::find(path).map(|file| match file {
                Cow::Borrowed(bytes) => Bytes::from_static(bytes),
                Cow::Owned(bytes) => bytes.into(),
            });
        };
        let reply = self.reply.as_ref()?;
        match part {
            HEADERS => Some(Bytes::from(reply.headers.clone())),
            name if name == reply.name => Some(reply.body.clone()),
            _ => None,
        }
    }
}

async fn serve(State(page): State<Page>, request: Request) -> Response {
    let mut response = answer(&page, &request);
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn answer(page: &Page, request: &Request) -> Response {
    // A foreign name that resolves to this machine must not get the page as its own.
    let host = request.headers().get(header::HOST);
    if !host.is_some_and(|host| is_own_name(host, &page.address)) {
        let refusal = "this page is served to this machine by its own name only\n";
        return (StatusCode::FORBIDDEN, refusal).into_response();
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let path = request.uri().path().trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    let Some(bytes) = page.find(path) else {
        return (StatusCode::NOT_FOUND, "there is no such file\n").into_response();
    };
    let kind = HeaderValue::from_static(files::content_type(path));
    ([(header::CONTENT_TYPE, kind)], Body::from(bytes)).into_response()
}

fn is_own_name(host: &HeaderValue, address: &SocketAddr) -> bool {
    let Some((name, port)) = host.to_str().ok().and_then(|host| host.rsplit_once(':')) else {
        return false;
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let local = name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    local && port == address.port().to_string()
}
