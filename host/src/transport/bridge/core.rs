//! What all parts of a bridge share: the client, the server, the session, the requests in flight.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use url::Url;

use super::failure::{Failure, Sent};
use super::headers::Tools;
use super::http::Http;
use super::limits::{TELLING, Waits};
use super::message::{Id, Kind, Message};
use super::older::Older;
use super::pending::{Answer, Flight, Pending};
use super::session::Session;
use super::streamable::Streamable;
use super::{Mode, Report, probe};
use crate::rpc::outgoing::Outgoing;

/// The shared state of a bridge.
pub struct Core {
    pub(super) http: Http,
    pub(super) url: Url,
    pub(super) mode: Mode,
    pub(super) waits: Waits,
    /// What is written to the client.
    pub(super) client: Outgoing,
    pub(super) pending: Pending,
    pub(super) session: Session,
    pub(super) tools: Tools,
    /// Cancelled when the bridge ends.
    pub(super) stop: CancellationToken,
    /// Messages without an answer that are on their way, and how many there may be.
    pub(super) tells: TaskTracker,
    pub(super) telling: Arc<Semaphore>,
    /// Held while the transport is found out.
    pub(super) deciding: tokio::sync::Mutex<()>,
    /// Held while a session is opened in the place of another.
    pub(super) renewing: tokio::sync::Mutex<()>,
    /// Held while the server's list of tools is read.
    pub(super) learning: tokio::sync::Mutex<()>,
    link: Mutex<Link>,
    report: Report,
    own_name: String,
    own_count: AtomicU64,
}

impl fmt::Debug for Core {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Core").finish_non_exhaustive()
    }
}

/// The transport to the server.
#[derive(Clone, Debug)]
pub enum Link {
    /// It is not known yet.
    Undecided,
    /// Streamable HTTP.
    Streamable(Arc<Streamable>),
    /// The older one.
    Older(Arc<Older>),
}

impl Core {
    pub(super) fn new(
        http: Http,
        url: Url,
        mode: Mode,
        waits: Waits,
        client: Outgoing,
        report: Report,
    ) -> Self {
        Self {
            http,
            url,
            mode,
            waits,
            client,
            pending: Pending::default(),
            session: Session::default(),
            tools: Tools::default(),
            stop: CancellationToken::new(),
            tells: TaskTracker::new(),
            telling: Arc::new(Semaphore::new(TELLING)),
            deciding: tokio::sync::Mutex::default(),
            renewing: tokio::sync::Mutex::default(),
            learning: tokio::sync::Mutex::default(),
            link: Mutex::new(Link::Undecided),
            report,
            own_name: format!("glovebox-bridge-{:016x}", fastrand::u64(..)),
            own_count: AtomicU64::new(0),
        }
    }

    /// Tells a person what goes on.
    pub fn say(&self, text: &str) {
        (self.report)(text);
    }

    /// Returns an id for a request of the bridge itself, which no client has.
    pub fn own_id(&self) -> String {
        let count = self.own_count.fetch_add(1, Ordering::Relaxed);
        format!("{}-{count}", self.own_name)
    }

    /// Returns the transport.
    pub fn link(&self) -> Link {
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        link.clone()
    }

    /// Uses a transport from now on.
    pub fn set_link(&self, link: Link) {
        *self.link.lock().unwrap_or_else(PoisonError::into_inner) = link;
    }

    /// Sends a request once and passes on what comes, until its answer was among it.
    ///
    /// # Errors
    /// Why there was no answer.
    pub async fn exchange(
        self: &Arc<Self>,
        message: &Message,
        flight: &Flight,
    ) -> Result<(), Failure> {
        match self.link() {
            Link::Undecided => probe::exchange(self, message, flight).await,
            Link::Streamable(streamable) => streamable.exchange(self, message, flight).await,
            Link::Older(older) => older.exchange(self, message, flight).await,
        }
    }

    /// Sends a message that has no answer, once.
    ///
    /// # Errors
    /// Why the server did not take it.
    pub async fn tell(self: &Arc<Self>, message: &Message) -> Result<(), Failure> {
        match self.link() {
            // Nobody is there yet who could have asked or begun anything.
            Link::Undecided => Ok(()),
            Link::Streamable(streamable) => streamable.tell(self, message).await,
            Link::Older(older) => older.tell(self, message).await,
        }
    }

    /// Sends a request of the bridge itself, once, and returns its answer.
    ///
    /// # Errors
    /// Why there was no answer.
    pub async fn ask(self: &Arc<Self>, message: &Message) -> Result<Message, Failure> {
        let Kind::Request(id) = message.kind() else {
            return Err(Failure::NotMcp("only requests are answered".to_owned()));
        };
        let (sender, answer) = oneshot::channel();
        let flight = self
            .pending
            .start(id, message, Some(sender))
            .map_err(|error| Failure::NotMcp(error.to_string()))?;
        let result = self.exchange(message, &flight).await;
        self.pending.cancel(id);
        result?;
        answer
            .await
            .map_err(|_| Failure::Broken("its answer was lost".to_owned()))
    }

    /// Takes what the server sent, which may be several messages. What is no message is left out.
    pub async fn take(&self, text: Vec<u8>, generation: u64) {
        match Message::read(Bytes::from(self.http.mask(text))) {
            Ok(messages) => {
                for message in messages {
                    self.deliver(message, generation).await;
                }
            }
            Err(error) => {
                tracing::warn!(?error, "the server sent something that is no message");
            }
        }
    }

    /// Passes a message of the server on, once the client has room for it.
    pub async fn deliver(&self, message: Message, generation: u64) {
        self.client.room().await;
        match message.kind() {
            Kind::Reply(Some(id)) => self.answer(id, &message),
            Kind::Reply(None) => {
                tracing::warn!("the server sent an error that belongs to no request");
            }
            Kind::Request(id) => self.put_question(id, &message, generation),
            Kind::Notification => {
                if message.method() == "notifications/tools/list_changed" {
                    self.tools.forget();
                }
                self.post(message.line());
            }
        }
    }

    fn answer(&self, id: &Id, message: &Message) {
        match self.pending.finish(id) {
            Answer::Client(request, flight) => {
                self.session.answered(&request, message);
                if request.method() == "tools/list" && request.stateless_version().is_some() {
                    self.tools.learn(message);
                }
                self.post(message.line());
                flight.answered.cancel();
            }
            Answer::Own(sender, flight) => {
                // Whoever asked may have given up.
                let _ = sender.send(message.clone());
                flight.answered.cancel();
            }
            Answer::Unknown => tracing::debug!("an answer came that nobody waits for"),
        }
    }

    fn put_question(&self, id: &Id, message: &Message, generation: u64) {
        if generation != self.session.generation() {
            tracing::debug!("a request came from a session that has ended");
            return;
        }
        let raw = message.raw_id().unwrap_or("null");
        let renamed = self.pending.asked(id, raw, generation);
        let changed = renamed.and_then(|new| message.with_id(&new));
        self.post(changed.as_ref().unwrap_or(message).line());
    }

    /// Queues a line for the client.
    pub fn post(&self, mut line: Vec<u8>) {
        line.push(b'\n');
        self.client.post(line);
    }

    /// Answers a request of the client with an error, if it has no answer.
    pub fn fail(&self, message: &Message, failure: &Failure) {
        let Kind::Request(id) = message.kind() else {
            return;
        };
        if let Answer::Client(request, flight) = self.pending.finish(id) {
            self.post(self.http.mask(failure.reply(&request)));
            flight.answered.cancel();
        }
    }

    /// Answers all requests that are left with an error.
    pub fn fail_all(&self) {
        for (request, flight) in self.pending.take_all() {
            self.post(Failure::Ended.reply(&request));
            flight.cancelled.cancel();
        }
    }

    /// Ends the session with the server.
    pub async fn close(&self) {
        if let Link::Streamable(streamable) = self.link() {
            streamable.close(self).await;
        }
    }

    /// Returns the failure of a message in a session that the server does not know.
    pub const fn lost(sent: Sent) -> Failure {
        Failure::SessionLost {
            sent,
            renewed: false,
        }
    }
}
