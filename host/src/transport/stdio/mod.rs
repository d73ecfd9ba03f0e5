//! MCP over standard input and output: one JSON-RPC message a line, and nothing else on the output, ever.
//!
//! A thread reads and judges lines, a thread writes; neither blocks a task. The transport also keeps
//! what the library leaves to chance: it answers what cannot be parsed, ignores what comes before the
//! conversation is open, and sends nothing more for a request that was cancelled.

mod flights;
mod lines;
mod outbox;
mod verdict;

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::thread;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, GetMeta as _,
    JsonRpcMessage, ProtocolVersion, RequestId, ServerJsonRpcMessage, ServerNotification,
};
use rmcp::transport::Transport;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use flights::Flights;
use lines::{LINE_LIMIT, Line, Lines};
use outbox::{Gone, Outbox};
use verdict::{Verdict, judge, refusal};

/// Messages that may lie between the reading thread and the handler's loop. Small: what matters is that
/// the reader is ahead, not by how much.
const READ_AHEAD: usize = 64;

/// How long the end of the connection waits for a client that does not read.
const LAST_WRITE: std::time::Duration = std::time::Duration::from_secs(1);

/// The transport of one client.
#[derive(Debug)]
pub struct Stdio {
    incoming: mpsc::Receiver<ClientJsonRpcMessage>,
    outbox: Outbox,
    flights: Arc<Flights>,
    ended: CancellationToken,
    open: bool,
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
        let (sender, incoming) = mpsc::channel(READ_AHEAD);
        let outbox = Outbox::start(output)?;
        let stdio = Self {
            incoming,
            outbox: outbox.clone(),
            flights: Arc::default(),
            ended: CancellationToken::new(),
            open: false,
        };
        let (flights, ended) = (stdio.flights.clone(), stdio.ended.clone());
        thread::Builder::new().name("stdin".into()).spawn(move || {
            let _ended = ended.drop_guard();
            read_all(Lines::new(input, LINE_LIMIT), &sender, &outbox, &flights);
        })?;
        Ok(stdio)
    }

    /// Cancelled when the client closed its end: whatever merely waits should then end.
    #[must_use]
    pub fn ended(&self) -> CancellationToken {
        self.ended.clone()
    }

    /// Whether the handler's loop may see the message. Before a conversation is open the library ends
    /// at the first notification, so those are ignored.
    fn admits(&mut self, message: &ClientJsonRpcMessage) -> bool {
        match message {
            JsonRpcMessage::Request(request) => {
                self.open = self.open || opens(&request.request);
                true
            }
            JsonRpcMessage::Notification(_) => self.open,
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => false,
        }
    }

    /// Whether a message may still go out.
    fn releases(&self, message: &ServerJsonRpcMessage) -> bool {
        match message {
            JsonRpcMessage::Response(response) => self.flights.end(&response.id),
            JsonRpcMessage::Error(error) => match &error.id {
                Some(id) => self.flights.end(id),
                None => true,
            },
            JsonRpcMessage::Notification(notification) => match &notification.notification {
                ServerNotification::ProgressNotification(progress) => {
                    self.flights.may_report(&progress.params.progress_token)
                }
                _ => true,
            },
            JsonRpcMessage::Request(_) => true,
        }
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = Gone;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Gone>> + Send + 'static {
        let queued = self
            .releases(&message)
            .then(|| self.outbox.send(encode(&message)));
        async move {
            match queued {
                Some(queued) => queued.await,
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let message = tokio::select! {
                message = async {
                    self.outbox.room().await;
                    self.incoming.recv().await
                } => message?,
                () = self.outbox.gone() => return None,
            };
            if self.admits(&message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Gone> {
        // An empty queue is known by a parcel that comes through.
        match tokio::time::timeout(LAST_WRITE, self.outbox.drained()).await {
            Ok(drained) => drained,
            Err(_) => Err(Gone),
        }
    }
}

/// Whether a request settles how the conversation goes on, as the library below sees it.
fn opens(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => {
            let meta = request.get_meta();
            let complete = meta
                .missing_required_keys(&ProtocolVersion::V_2026_07_28)
                .is_empty();
            let served = meta
                .protocol_version()
                .is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version));
            complete && served
        }
    }
}

fn read_all(
    mut lines: Lines<impl BufRead>,
    incoming: &mpsc::Sender<ClientJsonRpcMessage>,
    outbox: &Outbox,
    flights: &Flights,
) {
    loop {
        let verdict = match lines.next_line() {
            Ok(Some(Line::Whole(line))) => judge(&line),
            Ok(Some(Line::Oversized)) => Verdict::Refuse(Box::new(refusal(
                None,
                ErrorCode::PARSE_ERROR,
                format!("the line is longer than {LINE_LIMIT} bytes"),
            ))),
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(%error, "standard input cannot be read");
                return;
            }
        };
        match verdict {
            Verdict::Leave => {}
            Verdict::Refuse(error) => outbox.post(encode(&error)),
            Verdict::Pass(message) => match note(&message, flights) {
                Ok(()) => {
                    if incoming.blocking_send(*message).is_err() {
                        return;
                    }
                }
                Err(id) => outbox.post(encode(&refusal(
                    Some(id),
                    ErrorCode::INVALID_REQUEST,
                    "a request with this id is still being served",
                ))),
            },
        }
    }
}

/// Keeps the books on what is on its way. An error is an id that is taken.
fn note(message: &ClientJsonRpcMessage, flights: &Flights) -> Result<(), RequestId> {
    match message {
        JsonRpcMessage::Request(request) => {
            let token = request.request.get_meta().get_progress_token();
            if flights.start(&request.id, token) {
                Ok(())
            } else {
                Err(request.id.clone())
            }
        }
        JsonRpcMessage::Notification(notification) => {
            if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                && let Some(id) = &cancelled.params.request_id
            {
                flights.end(id);
            }
            Ok(())
        }
        JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => Ok(()),
    }
}

fn encode(message: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(message).unwrap_or_else(|error| {
        // Cannot happen with what the model can hold; a client must get something it can read all the same.
        tracing::error!(%error, "a message could not be written as JSON");
        br#"{"jsonrpc":"2.0","error":{"code":-32603,"message":"a reply could not be written"}}"#
            .to_vec()
    })
}
