//! `glovebox web`: the browser demo, served from the binary.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use clap::Args;
use tokio::net::TcpListener;

use super::output;
use crate::exit::Exit;

/// Paths and contents of the page.
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// The page runs its own scripts and WebAssembly, talks to this server and to nothing else, and parses no
/// markup from data. The page says the same of itself, for servers that send no headers.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types glovebox";

/// Serves the browser demo of the parser until it is interrupted.
///
/// The first line on standard output is its URL. The page works without a network: what is put into it is
/// read in the browser and goes nowhere.
#[derive(Args, Debug)]
pub struct Web {
    /// Where it listens; loopback only, port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS")]
    listen: SocketAddr,
}

impl Web {
    /// Runs the command.
    ///
    /// # Errors
    /// When the address cannot be used.
    pub async fn run(self) -> anyhow::Result<Exit> {
        if !self.listen.ip().is_loopback() {
            output::message(&format_args!(
                "glovebox: --listen {} is not this machine alone; give a loopback address such as 127.0.0.1:8080",
                self.listen
            ));
            return Ok(Exit::Usage);
        }
        let listener = match TcpListener::bind(self.listen).await {
            Ok(listener) => listener,
            Err(error) => {
                output::message(&format_args!(
                    "glovebox: cannot listen on {}: {error}; --listen 127.0.0.1:0 takes a free port",
                    self.listen
                ));
                return Ok(Exit::Failed);
            }
        };
        let address = listener.local_addr()?;
        output::line(&format_args!("http://{address}/"))?;
        output::message(&"glovebox: serving the page until interrupted");
        let app = Router::new().fallback(serve).with_state(Arc::new(address));
        tokio::select! {
            served = axum::serve(listener, app) => served?,
            interrupted = tokio::signal::ctrl_c() => interrupted?,
        }
        Ok(Exit::Done)
    }
}

async fn serve(State(address): State<Arc<SocketAddr>>, request: Request) -> Response {
    let mut response = answer(&address, &request);
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

fn answer(address: &SocketAddr, request: &Request) -> Response {
    // A name of someone else's that leads here must not get the page as its own.
    if !request
        .headers()
        .get(header::HOST)
        .is_some_and(|host| is_ours(host, address))
    {
        return (
            StatusCode::FORBIDDEN,
            "this page is served to this machine by its own name only\n",
        )
            .into_response();
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let path = request.uri().path().trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    let Some((_, bytes)) = FILES.iter().find(|(name, _)| *name == path) else {
        return (StatusCode::NOT_FOUND, "not here\n").into_response();
    };
    let kind = HeaderValue::from_static(content_type(path));
    ([(header::CONTENT_TYPE, kind)], Body::from(*bytes)).into_response()
}

fn is_ours(host: &HeaderValue, address: &SocketAddr) -> bool {
    let Some((name, port)) = host.to_str().ok().and_then(|host| host.rsplit_once(':')) else {
        return false;
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let local = name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    local && port == address.port().to_string()
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, kind)| kind) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("json") => "application/json",
        // Streams are shown by the page, never by the browser itself.
        _ => "application/octet-stream",
    }
}
