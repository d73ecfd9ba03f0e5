//! The transport of 2024-11-05: one stream with all that the server says, and an address that messages are posted to. A
//! session ends with its stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use http::HeaderMap;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::core::Core;
use super::events::Event;
use super::failure::{Failure, Sent};
use super::limits::{AFTER_ANSWER, Backoff, ENDPOINT};
use super::message::{INITIALIZE, Message};
use super::pending::Flight;
use super::reply::{Content, Events, Reply, rpc_error};
use super::session::Place;
use crate::secrets;

/// A server that speaks the older transport.
#[derive(Debug)]
pub struct Older {
    url: Url,
    connection: watch::Sender<Option<Arc<Connection>>>,
    /// Why there is no connection.
    failure: Mutex<Option<Failure>>,
}

/// A stream that is open, and where its messages go.
#[derive(Debug)]
pub struct Connection {
    number: u64,
    endpoint: Url,
    ended: CancellationToken,
}

/// The number of the next connection.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Opens a stream.
///
/// # Errors
/// When there is none at this address.
pub async fn open(core: &Core, url: &Url) -> Result<(Connection, Events), Failure> {
    let opening = async {
        let mut reply = core.http.get(url, HeaderMap::new()).await?;
        if !reply.status.is_success() {
            let body = reply.start().await;
            return Err(reply.refusal(&body));
        }
        if reply.content != Content::Events {
            let body = reply.start().await;
            return Err(reply.not_mcp(&body));
        }
        let mut events = reply.events();
        let first = match events.next().await? {
            Some((event, false)) => event,
            _ => {
                let ended = "the stream ended before it began".to_owned();
                return Err(Failure::Broken(ended));
            }
        };
        let endpoint = endpoint(core, url, &first)?;
        let connection = Connection {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            endpoint,
            ended: CancellationToken::new(),
        };
        Ok((connection, events))
    };
    let limit = core.waits.opening;
    timeout(limit, opening)
        .await
        .map_err(|_| Failure::Silent(limit))?
}

/// Returns the address that messages are posted to: relative, a query alone, or absolute, of the same origin.
fn endpoint(core: &Core, url: &Url, event: &Event) -> Result<Url, Failure> {
    let text = String::from_utf8_lossy(&event.data);
    let text = text.trim();
    let named = event.name == "endpoint" || (event.name.is_empty() && !text.starts_with('{'));
    if !named || text.is_empty() || text.len() > ENDPOINT {
        return Err(Failure::NotMcp(
            "the server's stream does not begin with the address to send messages to".to_owned(),
        ));
    }
    let target = url
        .join(text)
        .map_err(|error| Failure::NotMcp(format!("the server names no valid address: {error}")))?;
    if !core.http.is_same_origin(&target) {
        return Err(Failure::Misconfigured(format!(
            "the server wants messages to be sent to {}, which is another origin; nothing was sent there",
            secrets::shown(&core.http.mask_text(target.as_str()))
        )));
    }
    Ok(target)
}

impl Older {
    /// Begins with a stream that was opened.
    pub fn start(core: &Arc<Core>, url: Url, first: (Connection, Events)) -> Arc<Self> {
        let (connection, events) = first;
        let connection = Arc::new(connection);
        let older = Arc::new(Self {
            url,
            connection: watch::Sender::new(Some(Arc::clone(&connection))),
            failure: Mutex::default(),
        });
        let (core, reading) = (Arc::clone(core), Arc::clone(&older));
        tokio::spawn(async move {
            let stop = core.stop.clone();
            tokio::select! {
                () = stop.cancelled() => {}
                () = reading.keep_open(&core, connection, events) => {}
            }
        });
        older
    }

    async fn keep_open(
        &self,
        core: &Arc<Core>,
        mut connection: Arc<Connection>,
        mut events: Events,
    ) {
        loop {
            let ended = tokio::select! {
                ended = read(core, &mut events) => ended,
                () = connection.ended.cancelled() => "the server ended it".to_owned(),
            };
            self.connection.send_replace(None);
            connection.ended.cancel();
            core.say(&format!(
                "the server's stream ended ({ended}); opening it again"
            ));
            let (new, stream) = self.open_again(core).await;
            connection = Arc::new(new);
            events = stream;
            self.connection.send_replace(Some(Arc::clone(&connection)));
            core.lost.notify_one();
        }
    }

    async fn open_again(&self, core: &Core) -> (Connection, Events) {
        let mut backoff = Backoff::default();
        loop {
            tokio::time::sleep(backoff.next()).await;
            match open(core, &self.url).await {
                Ok(opened) => return opened,
                Err(failure) => {
                    tracing::debug!(%failure, "the server's stream cannot be opened");
                    let mut last = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                    *last = Some(failure);
                }
            }
        }
    }

    /// Returns the connection, waiting for one.
    async fn ready(&self, core: &Core) -> Result<Arc<Connection>, Failure> {
        let mut connections = self.connection.subscribe();
        let open = connections.wait_for(Option::is_some);
        if let Ok(Ok(connection)) = timeout(core.waits.patience, open).await
            && let Some(connection) = connection.as_ref()
        {
            return Ok(Arc::clone(connection));
        }
        let last = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        Err(Failure::Away(last.as_ref().map_or_else(
            || format!("{} has no stream open", core.http.shown_origin()),
            ToString::to_string,
        )))
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// Why there was no answer.
    pub async fn exchange(
        &self,
        core: &Core,
        message: &Message,
        flight: &Flight,
    ) -> Result<(), Failure> {
        let connection = self.ready(core).await?;
        if message.method() == INITIALIZE {
            core.session.set_next(Place {
                id: None,
                connection: connection.number,
            });
        } else {
            belongs(core, &connection)?;
        }
        let posting = post(core, &connection, message);
        tokio::pin!(posting);
        let posted = tokio::select! {
            biased;
            posted = &mut posting => Some(posted?),
            () = flight.answered.cancelled() => None,
            () = connection.ended.cancelled() => return Err(broken()),
        };
        let Some(mut reply) = posted else {
            // Some servers say only after the answer that they took the request.
            let _ = timeout(AFTER_ANSWER, posting).await;
            return Ok(());
        };
        if !reply.status.is_success() {
            let body = reply.start().await;
            let error = rpc_error(&body).and_then(|error| message.answer_with(&error));
            let Some(answer) = error else {
                return Err(refusal(&connection, &reply, &body));
            };
            core.deliver(answer, core.session.generation()).await;
            return Ok(());
        }
        tokio::select! {
            biased;
            () = flight.answered.cancelled() => Ok(()),
            () = connection.ended.cancelled() => Err(broken()),
        }
    }

    /// Sends a message that has no answer.
    ///
    /// # Errors
    /// Why the server did not take it.
    pub async fn tell(&self, core: &Core, message: &Message) -> Result<(), Failure> {
        let connection = self.ready(core).await?;
        belongs(core, &connection)?;
        let mut reply = post(core, &connection, message).await?;
        if reply.status.is_success() {
            return Ok(());
        }
        let body = reply.start().await;
        Err(refusal(&connection, &reply, &body))
    }
}

fn broken() -> Failure {
    Failure::Broken("the server's stream ended".to_owned())
}

/// Checks that the session lives in the connection.
fn belongs(core: &Core, connection: &Connection) -> Result<(), Failure> {
    let session = core.session.place().connection;
    if core.session.generation() > 0 && session != connection.number {
        return Err(Core::lost(Sent::No));
    }
    Ok(())
}

async fn post(core: &Core, connection: &Connection, message: &Message) -> Result<Reply, Failure> {
    let headers = core.session.headers();
    core.http.post(&connection.endpoint, headers, message).await
}

/// Returns why a message was refused. Where the server does not know the session, its stream is opened again.
fn refusal(connection: &Connection, reply: &Reply, body: &[u8]) -> Failure {
    if reply.status == http::StatusCode::NOT_FOUND {
        connection.ended.cancel();
        return Core::lost(Sent::Refused);
    }
    reply.refusal(body)
}

/// Reads a stream to its end, and returns why it ended.
async fn read(core: &Core, events: &mut Events) -> String {
    loop {
        match events.next().await {
            Ok(Some((event, cut))) => {
                let is_message = event.name.is_empty() || event.name == "message";
                if is_message && !cut && !event.data.is_empty() {
                    core.take(event.data, core.session.generation()).await;
                }
            }
            Ok(None) => return "its end came".to_owned(),
            Err(failure) => return failure.to_string(),
        }
    }
}
