//! MCP over standard input and output: one JSON-RPC message a line, and nothing else on the output, ever.
//!
//! A thread reads lines and a thread writes them, so that a blocked read or write blocks no task. While the client
//! does not take its replies, its input is not read either.

mod lines;
mod pipes;

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio_util::sync::CancellationToken;

use crate::rpc::outgoing::Closed;
use crate::rpc::{Connection, ErrorReply, Received, encode};
use lines::LINE_LIMIT;
pub use lines::Line;
pub use pipes::Pipes;

/// Bytes that may wait for the client before no more of its input is read. It is far more than the answers of a
/// thousand pipelined requests, and bounds what a client that never reads can make us hold.
const OUTGOING_LIMIT: usize = 32 << 20;

/// How long the end of the connection waits for a client that does not read.
const LAST_WRITE: Duration = Duration::from_secs(1);

/// The transport of one client.
#[derive(Debug)]
pub struct Stdio {
    pipes: Pipes,
    connection: Arc<Connection>,
}

impl Stdio {
    /// Serves the process's own standard input and output.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn new() -> io::Result<Self> {
        let input = io::BufReader::new(io::stdin());
        Self::over(input, io::stdout())
    }

    /// Serves any pair of streams.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn over(
        input: impl BufRead + Send + 'static,
        output: impl Write + Send + 'static,
    ) -> io::Result<Self> {
        Ok(Self {
            pipes: Pipes::over(input, output, LINE_LIMIT, OUTGOING_LIMIT)?,
            connection: Arc::default(),
        })
    }

    /// Returns what is cancelled when the client has closed its end: whatever merely waits should then end.
    #[must_use]
    pub fn ended(&self) -> CancellationToken {
        self.pipes.ended.clone()
    }

    fn read(&self, line: Line) -> Received {
        match line {
            Line::Whole(line) => self.connection.receive(&line),
            Line::Oversized { id } => Received::Refused(ErrorReply::of(
                id,
                ErrorCode::PARSE_ERROR,
                format!("the line is longer than {LINE_LIMIT} bytes"),
            )),
        }
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = Closed;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Closed>> + Send + 'static {
        let sent = self
            .connection
            .may_send(&message)
            .then(|| self.pipes.outgoing.send(line(&message)));
        async move {
            match sent {
                Some(sent) => sent.await,
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let next = tokio::select! {
                next = async {
                    self.pipes.outgoing.room().await;
                    self.pipes.lines.recv().await
                } => next?,
                () = self.pipes.outgoing.closed() => return None,
            };
            match self.read(next) {
                Received::Message(message) => return Some(*message),
                Received::Refused(reply) => self.pipes.outgoing.post(line(&reply)),
                Received::Ignored => {}
            }
        }
    }

    async fn close(&mut self) -> Result<(), Closed> {
        match tokio::time::timeout(LAST_WRITE, self.pipes.outgoing.flush()).await {
            Ok(flushed) => flushed,
            Err(_) => Err(Closed),
        }
    }
}

fn line(message: &impl serde::Serialize) -> Vec<u8> {
    let mut line = encode(message);
    line.push(b'\n');
    line
}
