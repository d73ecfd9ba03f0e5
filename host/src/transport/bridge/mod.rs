//! A stdio server in front of a remote MCP server, over streamable HTTP of every revision or the older transport with its
//! two paths.
//!
//! Messages pass both ways as they came; only what they are routed by is read. Every request of the client gets one
//! answer: the server's, or an error of the bridge. A message that may have been sent is sent again only if that changes
//! nothing; a `tools/call` never is.

mod config;
mod core;
mod credentials;
mod dispatch;
mod events;
mod failure;
mod headers;
mod http;
mod limits;
mod listen;
mod message;
mod older;
mod pending;
mod probe;
mod renew;
mod reply;
mod requests;
mod send;
mod server;
mod session;
mod streamable;

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use super::stdio::Pipes;
pub use config::{Config, Mode, Report};
use core::Core;
pub use credentials::{Bearer, CredentialError, Credentials, Extra, Secret, names_secret};
pub use http::{SetupError, Trust, is_loopback, parse_url};
pub use limits::SILENCE;
use limits::{DRAIN, GOODBYE, MESSAGE, OUTGOING, Waits};
use server::Server;

/// Why a bridge ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The client closed its end.
    Client,
    /// It was told to.
    Told,
}

/// A bridge between a client on a pair of streams and a server.
#[derive(Debug)]
pub struct Bridge {
    server: Arc<Server>,
    pipes: Pipes,
}

impl Bridge {
    /// Sets up a bridge on the process's standard input and output. Nothing is sent.
    ///
    /// # Errors
    /// When the configuration cannot be used.
    pub fn on_stdio(config: Config) -> Result<Self, SetupError> {
        Self::over(config, io::BufReader::new(io::stdin()), io::stdout())
    }

    /// Sets up a bridge on any pair of streams.
    ///
    /// # Errors
    /// When the configuration cannot be used.
    pub fn over(
        config: Config,
        input: impl BufRead + Send + 'static,
        output: impl Write + Send + 'static,
    ) -> Result<Self, SetupError> {
        let waits = Waits::of(config.silence);
        let http = http::Http::new(
            &config.url,
            config.credentials,
            config.trust,
            config.proxy.as_ref(),
            waits.silence,
        )?;
        let pipes = Pipes::over(input, output, MESSAGE, OUTGOING)
            .map_err(|error| SetupError::Client(error.to_string()))?;
        let core = Core::new(
            http,
            config.url,
            waits,
            pipes.outgoing.clone(),
            config.report,
        );
        Ok(Self {
            server: Arc::new(Server::new(core, config.mode)),
            pipes,
        })
    }

    /// Passes messages until the client closes its end or `told` ends. What is in flight at the end of the input gets a
    /// moment to end; what is left then is answered with an error.
    pub async fn run(self, told: impl Future<Output = ()>) -> End {
        let Self { server, mut pipes } = self;
        let core = &server.core;
        let ended = pipes.ended.clone();
        let passing = async {
            loop {
                pipes.outgoing.room().await;
                let Some(line) = pipes.lines.recv().await else {
                    break;
                };
                dispatch::take(&server, line).await;
            }
            core.pending.idle().await;
            core.tells.close();
            core.tells.wait().await;
        };
        let in_time = async {
            ended.cancelled().await;
            tokio::time::sleep(DRAIN).await;
        };
        let end = tokio::select! {
            () = passing => End::Client,
            () = in_time => End::Client,
            () = core.client.closed() => End::Client,
            () = told => End::Told,
            () = renew::renew_lost(&server) => End::Told,
        };
        core.stop.cancel();
        core.fail_all();
        // What the client does not read within a moment is not waited for.
        let _ = tokio::time::timeout(GOODBYE, core.client.flush()).await;
        let _ = tokio::time::timeout(GOODBYE, send::close(&server)).await;
        end
    }
}
