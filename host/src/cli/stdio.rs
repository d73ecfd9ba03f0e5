//! `glovebox stdio`: MCP over standard input and output, for a client that starts its servers itself.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;

use super::desk;
use crate::exit::Exit;
use crate::mcp::{
    Config, Guarded, KeyState, LEAST_OUTPUT_BYTES, OUTPUT_BYTES, Runs, Server, Service, Structured,
};
use crate::settings::Settings;
use crate::transport::stdio;

/// What calls get that were cancelled because the client left: time to drop the upstream and to settle.
const SETTLE: Duration = Duration::from_secs(1);

/// The same where a signal ends the process, which is to be at once.
const SETTLE_AT_SIGNAL: Duration = Duration::from_millis(300);

/// Serves MCP over standard input and output.
#[derive(Args, Clone, Debug)]
pub struct Stdio {
    /// Whether results carry structured content beside the text
    #[arg(long, value_enum, default_value_t = StructuredArg::Auto)]
    structured: StructuredArg,
    /// The most text of one result, in bytes; more is cut, and says so
    #[arg(long, value_name = "BYTES", default_value_t = OUTPUT_BYTES, value_parser = output_bytes)]
    max_output: usize,
}

/// Whether results carry structured content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StructuredArg {
    /// Unless the client is known to show it to the model instead of the text or in addition to it.
    Auto,
    /// Wherever the protocol version has it.
    On,
    /// Never.
    Off,
}

impl From<StructuredArg> for Structured {
    fn from(argument: StructuredArg) -> Self {
        match argument {
            StructuredArg::Auto => Self::Auto,
            StructuredArg::On => Self::On,
            StructuredArg::Off => Self::Off,
        }
    }
}

impl Default for Stdio {
    fn default() -> Self {
        Self {
            structured: StructuredArg::Auto,
            max_output: OUTPUT_BYTES,
        }
    }
}

fn output_bytes(text: &str) -> Result<usize, String> {
    let bytes = text.parse::<usize>().map_err(|error| error.to_string())?;
    if bytes < LEAST_OUTPUT_BYTES {
        return Err(format!("at least {LEAST_OUTPUT_BYTES}"));
    }
    Ok(bytes)
}

impl Stdio {
    /// Runs the command, until the client closes its end or a signal comes.
    ///
    /// # Errors
    /// When the system gives no threads, or the simulator cannot listen.
    pub async fn run(self, settings: &Settings) -> anyhow::Result<Exit> {
        if std::io::stdin().is_terminal() {
            eprintln!(
                "glovebox: this is an MCP server for a client to start (glovebox connect shows how); \
                 for a shell there are glovebox ask and glovebox research"
            );
        }
        let transport = stdio::Stdio::new()?;
        let leaving = transport.ended();
        let opened = desk::open(settings).await?;
        let service = Service::new(opened.desk.clone(), self.config(settings, &opened));
        let server = Guarded(Server::new(service.clone(), leaving));
        tokio::select! {
            () = serve(server, transport) => {
                settle(&service, SETTLE).await;
                Ok(Exit::Done)
            }
            () = signalled() => {
                service.desk().stop();
                settle(&service, SETTLE_AT_SIGNAL).await;
                Ok(Exit::Interrupted)
            }
        }
    }

    fn config(&self, settings: &Settings, opened: &desk::CommandDesk) -> Config {
        let timeouts = settings.timeouts();
        let (keys, simulated) = (settings.clone(), settings.simulate.value);
        Config {
            structured: self.structured.into(),
            output_bytes: self.max_output,
            answer_deadline: timeouts.answer,
            research_deadline: timeouts.research,
            idle: timeouts.idle,
            keep: settings.keep.value,
            capture: settings.capture.value,
            simulate: opened.simulate.clone(),
            runs: Runs::Detached,
            sandbox: desk::engine_config(settings),
            advice: settings.advice.clone(),
            key: Arc::new(move || key_check(&keys, simulated)),
        }
    }
}

fn key_check(settings: &Settings, simulated: bool) -> KeyState {
    if simulated {
        return KeyState {
            key: Ok("not needed, the simulator answers".to_owned()),
            advice: None,
        };
    }
    let report = settings.key_report();
    let origin = report.origin.unwrap_or("an unnamed place");
    let key = match report.key {
        Ok(_) => Ok(format!("present, from {origin}")),
        Err(error) => Err(error.to_string()),
    };
    KeyState {
        key,
        advice: report.warning,
    }
}

/// Serves one client to its end. An end before the conversation opened is no error: clients probe.
async fn serve(server: Guarded, transport: stdio::Stdio) {
    match server.serve(transport).await {
        Ok(running) => {
            if let Err(error) = running.waiting().await {
                tracing::error!(%error, "the connection's loop ended");
            }
        }
        Err(ServerInitializeError::ConnectionClosed(_)) => {}
        Err(error) => tracing::error!(%error, "no conversation began"),
    }
}

async fn settle(service: &Service, within: Duration) {
    service.work().close();
    if tokio::time::timeout(within, service.work().wait())
        .await
        .is_err()
    {
        tracing::debug!("calls were still running at the end");
    }
}

#[cfg(unix)]
async fn signalled() {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    );
    let (Ok(mut terminate), Ok(mut interrupt)) = signals else {
        tracing::warn!("signals are not heard");
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

#[cfg(not(unix))]
async fn signalled() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
