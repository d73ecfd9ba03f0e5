//! `glovebox stdio`: MCP over standard input and output, for a client that starts its servers itself.

use std::io::IsTerminal as _;

use clap::Args;
use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;

use super::output;
use super::server::{Server, ServerArgs};
use super::server_kind::ServerKind;
use crate::exit::Exit;
use crate::mcp::{self, FAMILIES, Guarded, Runs};
use crate::policy::{Caller, DEFAULT_PLACES, Reach};
use crate::settings::Settings;
use crate::transport::stdio;

/// Serve MCP over standard input and output
///
/// This is what runs without a command. A client starts it; `glovebox connect` writes the client's configuration.
#[derive(Args, Clone, Debug, Default)]
pub struct Stdio {
    #[command(flatten)]
    server: ServerArgs,
}

impl Stdio {
    /// Runs the command, until the client closes its end or a signal comes.
    ///
    /// # Errors
    /// When the system gives no threads, or the simulator cannot listen.
    pub async fn run(self, settings: &Settings) -> anyhow::Result<Exit> {
        if std::io::stdin().is_terminal() {
            output::message(
                &"glovebox: this is an MCP server for a client to start (glovebox connect shows how); \
                  for a shell there are glovebox ask and glovebox research",
            );
        }
        // Before all else, so that the first message is there when the server is.
        let transport = stdio::Stdio::new()?;
        let kind = ServerKind {
            runs: Runs::Detached,
            address: "stdio".to_owned(),
            places: DEFAULT_PLACES,
            is_audited: false,
            reach: Reach::Client,
            token: None,
        };
        let server = match Server::start(&self.server, settings, kind).await? {
            Ok(server) => server,
            Err(problem) => {
                output::message(&format_args!("glovebox: {problem}; nothing was started"));
                return Ok(Exit::Usage);
            }
        };
        let caller = Caller::stdio();
        let handler = mcp::Server::new(
            server.service().clone(),
            FAMILIES,
            caller,
            transport.ended(),
        );
        Ok(server.run(serve(Guarded(handler), transport)).await)
    }
}

/// Serves one client to its end. An end before the conversation opened is no error: clients probe.
pub(super) async fn serve(handler: Guarded, transport: stdio::Stdio) {
    match handler.serve(transport).await {
        Ok(running) => {
            if let Err(error) = running.waiting().await {
                tracing::error!(%error, "the connection's loop ended");
            }
        }
        Err(ServerInitializeError::ConnectionClosed(_)) => {}
        Err(error) => tracing::error!(%error, "no conversation began"),
    }
}
