//! Streamable HTTP: every message is posted, and its answer comes in the reply.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tokio::time::{Instant, timeout};
use url::Url;

use super::core::Core;
use super::events::Event;
use super::failure::{Failure, Sent};
use super::limits::{AFTER_ANSWER, Backoff};
use super::message::{INITIALIZE, Kind, Message};
use super::pending::Flight;
use super::reply::{Content, Events, Reply, rpc_error};
use super::session::{Place, SESSION_ID};

/// The header with the id of the last event that was seen.
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// A server that speaks streamable HTTP.
#[derive(Debug)]
pub struct Streamable {
    url: Url,
    listening: AtomicBool,
}

/// How far a stream was read.
#[derive(Debug, Default)]
pub struct Mark {
    /// The id of the last event.
    pub id: Option<String>,
    /// How long the server asks to wait before the stream is opened again.
    pub retry: Option<Duration>,
    /// The events that were read.
    pub events: u64,
}

impl Mark {
    fn note(&mut self, event: &Event) {
        if event.id.is_some() {
            self.id.clone_from(&event.id);
        }
        self.retry = event.retry.or(self.retry);
        self.events += 1;
    }
}

/// A request that is being answered, and the session it was sent in.
#[derive(Clone, Copy, Debug)]
struct Call<'a> {
    message: &'a Message,
    flight: &'a Flight,
    generation: u64,
}

impl Streamable {
    /// A server at this address.
    #[must_use]
    pub const fn new(url: Url) -> Self {
        Self {
            url,
            listening: AtomicBool::new(false),
        }
    }

    /// Returns whether this is the first time that the stream of what the server says by itself is wanted.
    pub fn begin_listening(&self) -> bool {
        !self.listening.swap(true, Ordering::AcqRel)
    }

    /// Posts a message.
    ///
    /// # Errors
    /// When no reply came.
    pub async fn post(&self, core: &Core, message: &Message) -> Result<Reply, Failure> {
        let headers = match message.stateless_version() {
            Some(version) => core.tools.headers(message, &version),
            None if message.method() == INITIALIZE => HeaderMap::new(),
            None => core.session.headers(),
        };
        core.http.post(&self.url, headers, message).await
    }

    /// Sends a request and passes on what comes, until its answer was among it.
    ///
    /// # Errors
    /// Why there was no answer.
    pub async fn exchange(
        &self,
        core: &Core,
        message: &Message,
        flight: &Flight,
    ) -> Result<(), Failure> {
        let generation = core.session.generation();
        let reply = self.post(core, message).await?;
        self.take(core, message, flight, generation, reply).await
    }

    /// Passes on the reply to a request.
    ///
    /// # Errors
    /// Why the answer was not in it.
    pub async fn take(
        &self,
        core: &Core,
        message: &Message,
        flight: &Flight,
        generation: u64,
        mut reply: Reply,
    ) -> Result<(), Failure> {
        let call = Call {
            message,
            flight,
            generation,
        };
        if !reply.status.is_success() {
            let body = reply.start().await;
            return refused(core, call, &reply, &body).await;
        }
        if message.method() == INITIALIZE {
            let id = reply.headers.get(SESSION_ID).cloned();
            let id = id.filter(|id| !id.is_empty());
            core.session.set_next(Place { id, connection: 0 });
        }
        if reply.content == Content::Events {
            return self.stream(core, call, reply).await;
        }
        let body = reply.whole().await?;
        let empty = body.trim_ascii().is_empty();
        if empty && reply.status != StatusCode::OK {
            return elsewhere(core, flight).await;
        }
        if empty || Message::read(Bytes::copy_from_slice(&body)).is_err() {
            return Err(reply.not_mcp(&body));
        }
        whole(core, call, body).await
    }

    async fn stream(&self, core: &Core, call: Call<'_>, reply: Reply) -> Result<(), Failure> {
        let mut mark = Mark::default();
        let mut events = reply.events();
        let Err(failure) = read(core, call, &mut events, &mut mark).await else {
            return Ok(());
        };
        drop(events);
        let resumable = mark.id.is_some() && call.message.stateless_version().is_none();
        if resumable && matches!(failure, Failure::Broken(_)) {
            self.resume(core, call, mark, failure).await
        } else {
            Err(failure)
        }
    }

    /// Opens a stream that was broken again, until the answer comes.
    async fn resume(
        &self,
        core: &Core,
        call: Call<'_>,
        mut mark: Mark,
        first: Failure,
    ) -> Result<(), Failure> {
        let mut backoff = Backoff::default();
        let mut until = Instant::now() + core.waits.resume;
        loop {
            let wait = backoff.next().max(mark.retry.unwrap_or_default());
            if Instant::now() + wait > until {
                return Err(first);
            }
            tokio::time::sleep(wait).await;
            if call.flight.answered.is_cancelled() {
                return Ok(());
            }
            if core.session.generation() != call.generation {
                return Err(Core::lost(Sent::Maybe));
            }
            let reply = match self.reopen(core, mark.id.as_deref()).await {
                Ok(reply) => reply,
                Err(failure @ Failure::Misconfigured(_)) => return Err(failure),
                Err(_) => continue,
            };
            match reply.status.as_u16() {
                200 if reply.content == Content::Events => {}
                404 => return Err(Core::lost(Sent::Maybe)),
                429 | 500..=599 => continue,
                _ => return Err(first),
            }
            let before = mark.events;
            let read = read(core, call, &mut reply.events(), &mut mark).await;
            if read.is_ok() {
                return Ok(());
            }
            if mark.events > before {
                until = Instant::now() + core.waits.resume;
                backoff = Backoff::default();
            }
        }
    }

    /// Opens a stream after an event, or the one of what the server says by itself.
    ///
    /// # Errors
    /// When no reply came.
    pub async fn reopen(&self, core: &Core, after: Option<&str>) -> Result<Reply, Failure> {
        let mut headers = core.session.headers();
        if let Some(id) = after.and_then(|id| HeaderValue::from_bytes(id.as_bytes()).ok()) {
            headers.insert(LAST_EVENT, id);
        }
        core.http.get(&self.url, headers).await
    }

    /// Sends a message that has no answer.
    ///
    /// # Errors
    /// Why the server did not take it.
    pub async fn tell(&self, core: &Core, message: &Message) -> Result<(), Failure> {
        let mut reply = self.post(core, message).await?;
        if reply.status.is_success() {
            return Ok(());
        }
        let body = reply.start().await;
        if is_lost(core, message, &reply, &body) {
            return Err(Core::lost(Sent::Refused));
        }
        Err(reply.refusal(&body))
    }

    /// Ends the session.
    pub async fn close(&self, core: &Core) {
        if core.session.place().id.is_some() {
            // The server finds out by itself otherwise.
            let _ = core.http.delete(&self.url, core.session.headers()).await;
        }
    }
}

/// Reads a stream until the answer to the call was passed on.
async fn read(
    core: &Core,
    call: Call<'_>,
    events: &mut Events,
    mark: &mut Mark,
) -> Result<(), Failure> {
    loop {
        let Some((event, cut)) = events.next().await? else {
            return Err(Failure::Broken("the stream ended without it".to_owned()));
        };
        if event.name == "endpoint" && mark.events == 0 {
            return Err(Failure::OlderTransport);
        }
        pass(core, event, cut, mark, call.generation).await;
        if call.flight.answered.is_cancelled() {
            // Its connection can be used again only after its end.
            let rest = async {
                while let Ok(Some((event, cut))) = events.next().await {
                    pass(core, event, cut, mark, call.generation).await;
                }
            };
            let _ = timeout(AFTER_ANSWER, rest).await;
            return Ok(());
        }
    }
}

/// Passes an event's message on. One that was cut is none, unless it is whole.
pub async fn pass(core: &Core, event: Event, cut: bool, mark: &mut Mark, generation: u64) {
    let is_message = event.name.is_empty() || event.name == "message";
    let whole = !cut || Message::read(Bytes::copy_from_slice(&event.data)).is_ok();
    if whole {
        mark.note(&event);
    }
    if is_message && whole && !event.data.is_empty() {
        core.take(event.data, generation).await;
    }
}

/// Passes on a reply that is one JSON text. A single answer with an id that nobody waits for can only be meant for the
/// request: servers that read numbers as floating point change long ids.
async fn whole(core: &Core, call: Call<'_>, body: Vec<u8>) -> Result<(), Failure> {
    let mut messages = Message::read(Bytes::from(core.http.mask(body))).unwrap_or_default();
    if let [only] = messages.as_mut_slice()
        && let Kind::Reply(id) = only.kind()
        && !id.as_ref().is_some_and(|id| core.pending.contains(id))
        && let Some(changed) = call.message.raw_id().and_then(|id| only.with_id(id))
    {
        *only = changed;
    }
    for message in messages {
        core.deliver(message, call.generation).await;
    }
    if call.flight.answered.is_cancelled() {
        Ok(())
    } else {
        Err(Failure::NotMcp(
            "the server's reply held no answer to the request".to_owned(),
        ))
    }
}

/// Waits for an answer that the server sends in another stream.
async fn elsewhere(core: &Core, flight: &Flight) -> Result<(), Failure> {
    let limit = core.waits.silence;
    timeout(limit, flight.answered.cancelled())
        .await
        .map_err(|_| Failure::Silent(limit))
}

/// Passes on a reply with an unsuccessful status.
async fn refused(core: &Core, call: Call<'_>, reply: &Reply, body: &[u8]) -> Result<(), Failure> {
    if is_lost(core, call.message, reply, body) {
        return Err(Core::lost(Sent::Refused));
    }
    let about_access = matches!(reply.status.as_u16(), 401 | 403 | 407);
    let error = if about_access { None } else { rpc_error(body) };
    match error.and_then(|error| call.message.answer_with(&error)) {
        Some(answer) => {
            core.deliver(answer, call.generation).await;
            Ok(())
        }
        None => Err(reply.refusal(body)),
    }
}

/// Returns whether a refusal says that the session is unknown. Many servers say so with status 400.
fn is_lost(core: &Core, message: &Message, reply: &Reply, body: &[u8]) -> bool {
    let in_session = core.session.place().id.is_some()
        && message.method() != INITIALIZE
        && message.stateless_version().is_none();
    let says_session = || {
        String::from_utf8_lossy(body)
            .to_ascii_lowercase()
            .contains("session")
    };
    in_session
        && match reply.status {
            StatusCode::NOT_FOUND => true,
            StatusCode::BAD_REQUEST => says_session(),
            _ => false,
        }
}
