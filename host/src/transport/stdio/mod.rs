//! MCP over standard input and output: one JSON-RPC message a line, and nothing else on the output, ever.
//!
//! A thread reads lines and a thread writes them, so that a blocked read or write blocks no task. While the client
//! does not take its replies, its input is not read either.

mod lines;

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::rpc::outgoing::{Closed, Outgoing, OutgoingReader, queue};
use crate::rpc::{Connection, ErrorReply, Received, encode};
use lines::{LINE_LIMIT, Line, Lines};

/// Lines that may lie between the reading thread and the handler's loop. Small: what matters is that the reader is
/// ahead, not by how much, and each may be of [`LINE_LIMIT`].
const READ_AHEAD: usize = 16;

/// Bytes that may wait for the client before no more of its input is read. It is far more than the answers of a
/// thousand pipelined requests, and bounds what a client that never reads can make us hold.
const OUTGOING_LIMIT: usize = 32 << 20;

/// How long the end of the connection waits for a client that does not read.
const LAST_WRITE: Duration = Duration::from_secs(1);

/// The transport of one client.
#[derive(Debug)]
pub struct Stdio {
    lines: mpsc::Receiver<Line>,
    outgoing: Outgoing,
    connection: Arc<Connection>,
    ended: CancellationToken,
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
        let (sender, lines) = mpsc::channel(READ_AHEAD);
        let (outgoing, replies) = queue(OUTGOING_LIMIT);
        let stdio = Self {
            lines,
            outgoing,
            connection: Arc::default(),
            ended: CancellationToken::new(),
        };
        thread::Builder::new()
            .name("stdout".into())
            .spawn(move || write_all(output, replies))?;
        let ended = stdio.ended.clone().drop_guard();
        thread::Builder::new().name("stdin".into()).spawn(move || {
            let _ended = ended;
            read_all(Lines::new(input, LINE_LIMIT), &sender);
        })?;
        Ok(stdio)
    }

    /// Returns what is cancelled when the client has closed its end: whatever merely waits should then end.
    #[must_use]
    pub fn ended(&self) -> CancellationToken {
        self.ended.clone()
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
            .then(|| self.outgoing.send(line(&message)));
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
                    self.outgoing.room().await;
                    self.lines.recv().await
                } => next?,
                () = self.outgoing.closed() => return None,
            };
            match self.read(next) {
                Received::Message(message) => return Some(*message),
                Received::Refused(reply) => self.outgoing.post(line(&reply)),
                Received::Ignored => {}
            }
        }
    }

    async fn close(&mut self) -> Result<(), Closed> {
        match tokio::time::timeout(LAST_WRITE, self.outgoing.flush()).await {
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

fn read_all(mut lines: Lines<impl BufRead>, sender: &mpsc::Sender<Line>) {
    loop {
        match lines.next_line() {
            Ok(Some(line)) => {
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(%error, "standard input cannot be read");
                return;
            }
        }
    }
}

fn write_all(mut output: impl Write, mut replies: OutgoingReader) {
    while let Some(reply) = replies.blocking_next() {
        // Written at once and whole: what a reader sees of a line never waits for the next one.
        if let Err(error) = output
            .write_all(reply.bytes())
            .and_then(|()| output.flush())
        {
            tracing::debug!(%error, "the client closed its end of the output");
            return;
        }
        reply.sent();
    }
}
