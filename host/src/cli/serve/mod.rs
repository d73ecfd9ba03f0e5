//! `glovebox serve`: MCP over HTTP.

mod endpoint;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::output;
use super::server::{Server, ServerArgs};
use super::server_kind::ServerKind;
use super::{signals, stdio::serve as serve_stdio};
use crate::exit::Exit;
use crate::jobs::clock::{Clock as _, WallClock};
use crate::mcp::{self, FAMILIES, Guarded, Runs, Service};
use crate::policy::{Caller, Reach, SERVE_PLACES};
use crate::settings::Settings;
use crate::transport::http::gate::{Mode, Origin};
use crate::transport::http::limits::{
    CONNECTIONS_PER_ADDRESS, LEAST_MAX_BODY, Limits, MAX_BODY, MOST_MAX_BODY,
};
use crate::transport::http::listener::ListenAddress;
use crate::transport::http::supervisor::{Sockets, Watch, supervise};
use crate::transport::http::takeover::{self, BindError, Takeover};
use crate::transport::http::tls::{CertificateFiles, LocalCa, Source, Tls};
use crate::transport::http::token::TokenFile;
use crate::transport::http::{Config, Http};
use crate::transport::stdio;
use endpoint::Tools;

/// The file in the state folder that holds the token.
const TOKEN: &str = "token";
/// The folder in the state folder with the local certificate authority.
const TLS: &str = "tls";
/// Where the server listens where nothing else is said.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:9876";

/// Serve MCP over HTTP
#[derive(Args, Clone, Debug)]
pub struct Serve {
    /// Where to listen: HOST:PORT or :PORT; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_ADDRESS)]
    listen: ListenAddress,
    /// Serve other machines: over TLS, to clients with the bearer token
    #[arg(long, requires = "listen")]
    external: bool,
    /// With --external: the certificate chain, in PEM form; else a local certificate authority is made and used
    #[arg(long, value_name = "FILE", requires_all = ["external", "tls_key"])]
    tls_cert: Option<PathBuf>,
    /// With --external: the key of the certificate, in PEM form
    #[arg(long, value_name = "FILE", requires_all = ["external", "tls_cert"])]
    tls_key: Option<PathBuf>,
    /// With --external: the most connections of one address; a balancer in front needs more
    #[arg(long, value_name = "COUNT", requires = "external", default_value_t = CONNECTIONS_PER_ADDRESS, value_parser = at_least_one)]
    max_connections_per_address: usize,
    /// Allow pages of this web origin to use the server; may be given more than once
    #[arg(long, value_name = "ORIGIN")]
    allowed_origin: Vec<Origin>,
    /// Require the bearer token of local clients too
    #[arg(long)]
    require_token: bool,
    /// Keep the bearer token in this file instead of the state folder
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The most bytes of a request; more is refused with status 413
    #[arg(long, value_name = "BYTES", default_value_t = MAX_BODY, value_parser = max_body)]
    max_body: usize,
    /// Serve standard input and output too; their end does not stop the server
    #[arg(long)]
    stdio: bool,
    /// Print the address as JSON
    #[arg(long, conflicts_with = "stdio")]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

fn max_body(text: &str) -> Result<usize, String> {
    let bytes: usize = text.parse().map_err(|error| format!("{error}"))?;
    if (LEAST_MAX_BODY..=MOST_MAX_BODY).contains(&bytes) {
        Ok(bytes)
    } else {
        Err(format!("between {LEAST_MAX_BODY} and {MOST_MAX_BODY}"))
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least 1".to_owned()),
        Ok(count) => Ok(count),
        Err(error) => Err(format!("{error}")),
    }
}

/// Returns the token's file: the one that was named, or the one in the state folder.
#[must_use]
pub fn token_file(settings: &Settings, named: Option<&PathBuf>) -> TokenFile {
    let default = || settings.state_dir.value.join(TOKEN);
    TokenFile::new(named.cloned().unwrap_or_else(default))
}

/// Returns where the certificate of the local authority is, once there is one.
#[must_use]
pub fn ca_file(state_dir: &Path) -> PathBuf {
    LocalCa::certificate_in(&state_dir.join(TLS))
}

impl Serve {
    /// Runs the command, until the server is told to stop and what runs in it has ended.
    ///
    /// # Errors
    /// When the address cannot be listened on, the token's file or a certificate cannot be used, or the listener was
    /// given up.
    pub async fn run(self, settings: &Settings) -> anyhow::Result<Exit> {
        if !self.external && !self.listen.host.is_loopback() {
            output::message(&format_args!(
                "glovebox: --listen {}: without --external the server listens on the loopback only: localhost, 127.0.0.1 or [::1]",
                self.listen
            ));
            return Ok(Exit::Usage);
        }
        let token = token_file(settings, self.token_file.as_ref());
        token.read_or_make()?;
        let tls = self.tls(settings)?;
        let port = Port {
            listen: self.listen.clone(),
            token: token_file(settings, self.token_file.as_ref()),
            tls: tls.clone(),
        };
        let sockets = port.bind().await?;
        let address = sockets.first().context("no socket")?.local_addr()?;
        let kind = ServerKind {
            runs: Runs::Here,
            address: self.reached(address),
            places: SERVE_PLACES,
            is_audited: true,
            reach: self.reach(),
            token: Some(token_file(settings, self.token_file.as_ref())),
        };
        let server = match Server::start(&self.server, settings, kind).await? {
            Ok(server) => server,
            Err(problem) => {
                output::message(&format_args!("glovebox: {problem}; nothing was started"));
                return Ok(Exit::Usage);
            }
        };
        let service = server.service();
        let http = self.http(token, tls.clone(), address, service).await;
        // Before the address is told, so that whoever knows it can stop the server.
        stop_at_signal(http.stopping());
        self.announce(address, tls.as_deref())?;
        server.tell_advice();
        if self.stdio {
            let transport = stdio::Stdio::new()?;
            let caller = Caller::stdio();
            let handler = Guarded(mcp::Server::new(
                service.clone(),
                FAMILIES,
                caller,
                transport.ended(),
            ));
            tokio::spawn(serve_stdio(handler, transport));
        }
        let watched = Watched { port, address };
        let served = supervise(http, sockets, &watched, Watch::default()).await;
        if let Err(error) = &served {
            output::message(&format_args!("glovebox: {error}"));
        }
        finish(service).await;
        server.stopped().await;
        Ok(served.map_or(Exit::Failed, |()| Exit::Done))
    }

    /// Returns who can reach the server.
    const fn reach(&self) -> Reach {
        if self.external {
            Reach::External {
                has_allowed_origins: !self.allowed_origin.is_empty(),
            }
        } else {
            Reach::Local
        }
    }

    /// Sets up TLS in external mode.
    fn tls(&self, settings: &Settings) -> anyhow::Result<Option<Arc<Tls>>> {
        if !self.external {
            return Ok(None);
        }
        let source = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Source::Files(CertificateFiles {
                certificate: certificate.clone(),
                key: key.clone(),
            }),
            _ => {
                let host = hostname::get()
                    .ok()
                    .and_then(|name| name.into_string().ok());
                let folder = settings.state_dir.value.join(TLS);
                let ca = LocalCa::open(&folder, host.as_deref(), WallClock.now())?;
                Source::LocalCa(Box::new(ca))
            }
        };
        Ok(Some(Arc::new(Tls::open(source, Arc::new(WallClock))?)))
    }

    async fn http(
        &self,
        token: TokenFile,
        tls: Option<Arc<Tls>>,
        address: SocketAddr,
        service: &Service,
    ) -> Arc<Http> {
        let store = match service.jobs().session_store().await {
            Ok(store) => Some(store),
            Err(error) => {
                output::message(&format_args!(
                    "glovebox: sessions end with this process: {error}"
                ));
                None
            }
        };
        let limits = Limits {
            max_body: self.max_body,
            connections_per_address: self.external.then_some(self.max_connections_per_address),
            ..Limits::default()
        };
        let mode = if self.external {
            Mode::External
        } else {
            Mode::Local {
                require_token: self.require_token,
            }
        };
        let config = Config {
            mode,
            allowed_origins: self.allowed_origin.clone(),
            token,
            limits,
            tls,
            host: self.listen.host.clone(),
        };
        let tools = Arc::new(Tools::new(service.clone()));
        let http = Http::new(config, address.port(), tools, store, Arc::new(WallClock));
        Arc::new(http)
    }

    fn reached(&self, address: SocketAddr) -> String {
        if self.external {
            return format!("HTTPS at {address}, from other machines too, with its token");
        }
        let token = if self.require_token {
            "with its token"
        } else {
            "without a token"
        };
        format!("HTTP at {address}, from this machine alone, {token}")
    }

    /// Tells where the server is.
    fn announce(&self, address: SocketAddr, tls: Option<&Tls>) -> std::io::Result<()> {
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{address}");
        let ca = tls.and_then(Tls::ca_file);
        if self.json {
            let mut line = json!({
                "address": address.to_string(),
                "url": format!("{url}/mcp"),
                "sse_url": format!("{url}/sse"),
                "pid": std::process::id(),
            });
            if let (Some(ca), Some(members)) = (&ca, line.as_object_mut()) {
                members.insert("ca".to_owned(), ca.display().to_string().into());
            }
            output::line(&line)?;
            return Ok(());
        }
        output::message(&format_args!(
            "glovebox: MCP at {url}/mcp, and at {url}/sse for older clients"
        ));
        if self.external {
            output::message(
                &"glovebox: clients need the token: glovebox token show prints it, for the header Authorization: Bearer TOKEN",
            );
        }
        if let Some(ca) = ca {
            output::message(&format_args!(
                "glovebox: clients must trust {}: Node clients by NODE_EXTRA_CA_CERTS=FILE, glovebox bridge by --ca FILE",
                ca.display()
            ));
        }
        Ok(())
    }
}

/// What is listened on, and how it is taken over from an older instance.
struct Port {
    listen: ListenAddress,
    token: TokenFile,
    tls: Option<Arc<Tls>>,
}

impl Port {
    async fn bind(&self) -> Result<Vec<TcpListener>, BindError> {
        let takeover = Takeover {
            listen: &self.listen,
            token: &self.token,
            tls: self.tls.as_deref(),
            clock: &WallClock,
        };
        takeover::bind(&takeover).await
    }
}

/// The listener as the supervisor sees it.
struct Watched {
    port: Port,
    /// Where it listens now: a port that the system chose is kept.
    address: SocketAddr,
}

impl Sockets for Watched {
    fn bind(&self) -> BoxFuture<'_, Result<Vec<TcpListener>, BindError>> {
        async move {
            let port = Port {
                listen: ListenAddress {
                    port: self.address.port(),
                    ..self.port.listen.clone()
                },
                token: TokenFile::new(self.port.token.path().to_owned()),
                tls: self.port.tls.clone(),
            };
            port.bind().await
        }
        .boxed()
    }

    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        takeover::check(self.address, self.port.tls.as_deref()).boxed()
    }
}

/// Stops the server at the first signal, and ends the process at the second. Signals are caught from now on.
fn stop_at_signal(stopping: CancellationToken) {
    let mut first = Box::pin(signals::terminated());
    // Signals are caught once this was polled.
    let caught = (&mut first).now_or_never().is_some();
    tokio::spawn(async move {
        if !caught {
            first.await;
        }
        stopping.cancel();
        signals::terminated().await;
        std::process::exit(Exit::Interrupted.code().into());
    });
}

/// Waits until the research that runs in this process has ended.
async fn finish(service: &Service) {
    service.work().close();
    if !service.work().is_empty() {
        output::message(&format_args!(
            "glovebox: no longer listening; {} calls run on to their end, a second signal ends them",
            service.work().len()
        ));
    }
    service.work().wait().await;
}
