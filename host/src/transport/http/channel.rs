//! The transport that rmcp's service loop reads from and writes to, for one session or one request.

use std::convert::Infallible;
use std::fmt;
use std::future::ready;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

use crate::policy::Caller;

/// The messages of a client on their way to its service. They are boxed because a queue allocates places for 32 at once,
/// for as long as it exists, and a message takes several hundred bytes.
pub type Incoming = mpsc::Sender<Box<ClientJsonRpcMessage>>;

/// Receives the messages that a service sends. Implementations must not block.
pub trait Sink: Send + Sync + 'static {
    /// Delivers a message to the client.
    fn deliver(&self, message: ServerJsonRpcMessage);
}

/// The transport of one session, or of one request.
pub struct Channel {
    incoming: mpsc::Receiver<Box<ClientJsonRpcMessage>>,
    sink: Arc<dyn Sink>,
    caller: Caller,
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel").finish_non_exhaustive()
    }
}

impl Channel {
    /// Creates a transport from a queue and a sink. When the queue is closed, the client is considered gone.
    #[must_use]
    pub fn new(
        incoming: mpsc::Receiver<Box<ClientJsonRpcMessage>>,
        sink: Arc<dyn Sink>,
        caller: Caller,
    ) -> Self {
        Self {
            incoming,
            sink,
            caller,
        }
    }

    /// Returns who is at the other end.
    #[must_use]
    pub const fn caller(&self) -> &Caller {
        &self.caller
    }
}

impl Transport<RoleServer> for Channel {
    type Error = Infallible;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        self.sink.deliver(message);
        ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.incoming.recv().await.map(|message| *message)
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        self.incoming.close();
        Ok(())
    }
}
