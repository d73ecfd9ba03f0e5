//! What is served: the transport knows no tool, and runs a service for each session and each request of its own.

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
    /// Without: of a request that says all it needs itself, or of a session that was stored.
    Direct(Option<Box<InitializeRequestParams>>),
}

/// What is served.
pub trait Endpoint: Send + Sync + 'static {
    /// Serves a client to its end, or until `stop` is cancelled. `leaving` tells calls that merely wait to end.
    fn serve(
        &self,
        channel: Channel,
        start: Start,
        leaving: CancellationToken,
        stop: CancellationToken,
    ) -> BoxFuture<'static, ()>;

    /// Returns the input schema of a tool; `None` where there is no such tool.
    fn input_schema(&self, tool: &str) -> Option<Arc<JsonObject>>;

    /// Returns why the server cannot do its work now, if so.
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
