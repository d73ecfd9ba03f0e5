//! What all parts of a bridge share: the client, the server, the session, the requests in flight.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use url::Url;

use super::config::Report;
use super::failure::{Failure, Sent};
use super::headers::Tools;
use super::http::Http;
use super::limits::{TELLING, Waits};
use super::message::{Id, Kind, Message};
use super::pending::{Answer, Pending};
use super::session::Session;
use crate::rpc::outgoing::Outgoing;

/// The shared state of a bridge.
pub struct Core {
    pub(super) http: Http,
    pub(super) url: Url,
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
    /// Told when a connection was lost with its session and another is open.
    pub(super) lost: Notify,
    report: Report,
    own_name: String,
    own_count: AtomicU64,
}

impl fmt::Debug for Core {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Core").finish_non_exhaustive()
    }
}

impl Core {
    pub(super) fn new(
        http: Http,
        url: Url,
        waits: Waits,
        client: Outgoing,
        report: Report,
    ) -> Self {
        Self {
            http,
            url,
            waits,
            client,
            pending: Pending::default(),
            session: Session::default(),
            tools: Tools::default(),
            stop: CancellationToken::new(),
            tells: TaskTracker::new(),
            telling: Arc::new(Semaphore::new(TELLING)),
            lost: Notify::new(),
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

    /// Returns the failure of a message in a session that the server does not know.
    pub const fn lost(sent: Sent) -> Failure {
        Failure::SessionLost {
            sent,
            renewed: false,
        }
    }
}
