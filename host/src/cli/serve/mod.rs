//! `glovebox serve`: MCP over HTTP.

mod endpoint;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::output;
use super::server::{Server, ServerArgs, ServerKind};
use super::{signals, stdio::serve as serve_stdio};
use crate::exit::Exit;
use crate::jobs::clock::WallClock;
use crate::mcp::{self, Guarded, Runs, Service};
use crate::policy::{Caller, Reach, SERVE_PLACES};
use crate::settings::Settings;
use crate::transport::http::gate::{Mode, Origin};
use crate::transport::http::limits::{LEAST_MAX_BODY, Limits, MAX_BODY, MOST_MAX_BODY};
use crate::transport::http::listener::{self, ListenAddress};
use crate::transport::http::token::TokenFile;
use crate::transport::http::{Config, Http};
use crate::transport::stdio;
use endpoint::Tools;

/// The file in the state folder that holds the token.
const TOKEN: &str = "token";
/// Where the server listens where nothing else is said.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:9876";

/// Serve MCP over HTTP
#[derive(Args, Clone, Debug)]
pub struct Serve {
    /// Where to listen: HOST:PORT or :PORT; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_ADDRESS)]
    listen: ListenAddress,
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

/// Returns the token's file: the one that was named, or the one in the state folder.
#[must_use]
pub fn token_file(settings: &Settings, named: Option<&PathBuf>) -> TokenFile {
    let default = || settings.state_dir.value.join(TOKEN);
    TokenFile::new(named.cloned().unwrap_or_else(default))
}

impl Serve {
    /// Runs the command, until the server is told to stop and what runs in it has ended.
    ///
    /// # Errors
    /// When the address cannot be listened on or the token's file cannot be used.
    pub async fn run(self, settings: &Settings) -> anyhow::Result<Exit> {
        if !self.listen.host.is_loopback() {
            output::message(&format_args!(
                "glovebox: --listen {}: without --external the server listens on the loopback only: localhost, 127.0.0.1 or [::1]",
                self.listen
            ));
            return Ok(Exit::Usage);
        }
        let token = token_file(settings, self.token_file.as_ref());
        token.read_or_make()?;
        let sockets =
            self.listen.bind().await.with_context(|| {
                format!("cannot listen on {}; nothing was started", self.listen)
            })?;
        let address = sockets.first().context("no socket")?.local_addr()?;
        let kind = ServerKind {
            runs: Runs::Here,
            address: self.reached(address),
            places: SERVE_PLACES,
            is_audited: true,
            reach: Reach::Local,
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
        let http = self.http(token, address, service).await;
        server.tell_advice();
        self.announce(address)?;
        let stopping = http.stopping();
        stop_at_signal(stopping.clone());
        if self.stdio {
            let transport = stdio::Stdio::new()?;
            let caller = Caller::stdio();
            let handler = Guarded(mcp::Server::new(service.clone(), caller, transport.ended()));
            tokio::spawn(serve_stdio(handler, transport));
        }
        listener::serve(http, sockets).await;
        finish(service).await;
        server.stopped().await;
        Ok(Exit::Done)
    }

    async fn http(&self, token: TokenFile, address: SocketAddr, service: &Service) -> Arc<Http> {
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
            ..Limits::default()
        };
        let config = Config {
            mode: Mode::Local {
                require_token: self.require_token,
            },
            allowed_origins: self.allowed_origin.clone(),
            token,
            limits,
        };
        let tools = Arc::new(Tools::new(service.clone()));
        let http = Http::new(config, address.port(), tools, store, Arc::new(WallClock));
        Arc::new(http)
    }

    fn reached(&self, address: SocketAddr) -> String {
        let token = if self.require_token {
            "with its token"
        } else {
            "without a token"
        };
        format!("HTTP at {address}, from this machine alone, {token}")
    }

    /// Tells where the server is.
    fn announce(&self, address: SocketAddr) -> std::io::Result<()> {
        let url = format!("http://{address}");
        if self.json {
            let line = json!({
                "address": address.to_string(),
                "url": format!("{url}/mcp"),
                "sse_url": format!("{url}/sse"),
                "pid": std::process::id(),
            });
            output::line(&line)?;
        } else {
            output::message(&format_args!(
                "glovebox: MCP at {url}/mcp, and at {url}/sse for older clients"
            ));
        }
        Ok(())
    }
}

/// Stops the server at the first signal, and ends the process at the second.
fn stop_at_signal(stopping: CancellationToken) {
    tokio::spawn(async move {
        signals::terminated().await;
        stopping.cancel();
        signals::terminated().await;
        std::process::exit(Exit::Interrupted.code().into());
    });
}

/// Lets researches that run in this process go on to their end.
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
