//! The interface between the transport and what it serves. The transport knows no tools; it runs one service for each
//! session, and one for each request without a session.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::{InitializeRequestParams, JsonObject};
use rmcp::service::{
    RunningService, ServerInitializeError, Service, serve_directly_with_ct, serve_server_with_ct,
};

use tokio_util::sync::CancellationToken;

use super::channel::Channel;

/// How a service begins.
#[derive(Debug)]
pub enum Start {
    /// With the client's `initialize`, or the first request of a client that has no handshake.
    Handshake,
    /// Without a handshake: for a self-contained request, or for a restored session with its stored parameters.
    Direct(Option<Box<InitializeRequestParams>>),
}

/// What the transport serves.
pub trait Endpoint: Send + Sync + 'static {
    /// Serves a client until it is gone or `stop` is cancelled. When `leaving` is cancelled, calls that only wait for
    /// something should return.
    fn serve(
        &self,
        channel: Channel,
        start: Start,
        leaving: CancellationToken,
        stop: CancellationToken,
    ) -> BoxFuture<'static, ()>;

    /// Takes note of a request that the gate denied for this reason.
    fn gate_denied(&self, reason: &'static str);

    /// Returns the input schema of a tool; `None` where there is no such tool.
    fn input_schema(&self, tool: &str) -> Option<Arc<JsonObject>>;

    /// Returns the reason why the server is not ready, or `None` if it is.
    fn unready(&self) -> BoxFuture<'_, Option<String>>;

    /// Returns metrics of what is served, as Prometheus text.
    fn metrics(&self) -> BoxFuture<'_, String>;
}

/// Runs a service over a channel, as [`Endpoint::serve`] says.
pub async fn run<S: Service<RoleServer>>(
    service: S,
    channel: Channel,
    start: Start,
    stop: CancellationToken,
) {
    let running: Result<RunningService<RoleServer, S>, _> = match start {
        // Boxed, so that a session does not keep the memory that its handshake needed.
        Start::Handshake => Box::pin(serve_server_with_ct(service, channel, stop)).await,
        Start::Direct(params) => Ok(serve_directly_with_ct(
            service,
            channel,
            params.map(|params| *params),
            stop,
        )),
    };
    match running {
        Ok(running) => {
            if let Err(error) = running.waiting().await {
                tracing::error!(%error, "a service's loop ended");
            }
        }
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {}
        Err(error) => tracing::debug!(%error, "no session began"),
    }
}
