//! The requests of both sides that have no answer yet.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use super::limits::{REQUEST_BYTES, REQUESTS, SERVER_REQUESTS};
use super::message::{Id, LISTEN, Message};

/// A request on its way. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Flight {
    /// Cancelled when the answer was passed on.
    pub answered: CancellationToken,
    /// Cancelled when nobody wants the answer any more.
    pub cancelled: CancellationToken,
}

/// Why a request is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// Another has its id.
    #[error("a request with this id is in flight")]
    InUse,
    /// There are too many.
    #[error(
        "there are {REQUESTS} requests in flight, or {REQUEST_BYTES} bytes of them; wait for answers"
    )]
    Full,
}

/// What to do with an answer of the server.
#[derive(Debug)]
pub enum Answer {
    /// Pass it on to the client.
    Client(Message, Flight),
    /// It was for the bridge itself.
    Own(oneshot::Sender<Message>, Flight),
    /// Nobody waits for it.
    Unknown,
}

/// What to do with a reply of the client.
#[derive(Debug, PartialEq, Eq)]
pub enum Reply {
    /// Send it, with this id where it was changed.
    Send(Option<String>),
    /// The session that asked is gone; nobody else may take the answer for its own.
    Stale,
}

/// All requests without an answer.
#[derive(Debug, Default)]
pub struct Pending {
    requests: Mutex<Requests>,
    /// Told when a request of the client ends.
    ended: Notify,
    asked: Mutex<Asked>,
}

#[derive(Debug, Default)]
struct Requests {
    by_id: HashMap<Id, Entry>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    message: Message,
    flight: Flight,
    own: Option<oneshot::Sender<Message>>,
}

/// The requests of the server, oldest first.
#[derive(Debug, Default)]
struct Asked {
    entries: VecDeque<AskedEntry>,
    renamed: u64,
}

#[derive(Debug)]
struct AskedEntry {
    /// The id by which the client knows the request.
    id: Id,
    /// The id as the client was given it.
    raw: String,
    /// The id as the server gave it, where the client was given another.
    original: Option<String>,
    /// The session that asked.
    generation: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pending {
    /// Adds a request of the client, or with `own` one of the bridge.
    ///
    /// # Errors
    /// When it is not taken.
    pub fn start(
        &self,
        id: &Id,
        message: &Message,
        own: Option<oneshot::Sender<Message>>,
    ) -> Result<Flight, NotTaken> {
        let mut requests = lock(&self.requests);
        let bytes = requests.bytes + message.text().len();
        if requests.by_id.contains_key(id) {
            return Err(NotTaken::InUse);
        }
        if own.is_none() && (requests.by_id.len() >= REQUESTS || bytes > REQUEST_BYTES) {
            return Err(NotTaken::Full);
        }
        let flight = Flight {
            answered: CancellationToken::new(),
            cancelled: CancellationToken::new(),
        };
        let entry = Entry {
            message: message.clone(),
            flight: flight.clone(),
            own,
        };
        requests.by_id.insert(id.clone(), entry);
        requests.bytes = bytes;
        Ok(flight)
    }

    /// Returns whether a request waits for this answer.
    pub fn contains(&self, id: &Id) -> bool {
        lock(&self.requests).by_id.contains_key(id)
    }

    /// Removes a request, because its answer came.
    pub fn finish(&self, id: &Id) -> Answer {
        let Some(entry) = self.remove(id) else {
            return Answer::Unknown;
        };
        match entry.own {
            Some(own) => Answer::Own(own, entry.flight),
            None => Answer::Client(entry.message, entry.flight),
        }
    }

    /// Removes a request that nobody wants answered any more, and returns it.
    pub fn cancel(&self, id: &Id) -> Option<Message> {
        let entry = self.remove(id)?;
        entry.flight.cancelled.cancel();
        Some(entry.message)
    }

    fn remove(&self, id: &Id) -> Option<Entry> {
        let mut requests = lock(&self.requests);
        let entry = requests.by_id.remove(id)?;
        requests.bytes -= entry.message.text().len();
        drop(requests);
        self.ended.notify_waiters();
        Some(entry)
    }

    /// Waits until every request of the client is answered, but those whose reply has no end.
    pub async fn idle(&self) {
        loop {
            let ended = self.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            let busy = lock(&self.requests)
                .by_id
                .values()
                .any(|entry| entry.own.is_none() && entry.message.method() != LISTEN);
            if !busy {
                return;
            }
            ended.await;
        }
    }

    /// Takes out all requests of the client.
    pub fn take_all(&self) -> Vec<(Message, Flight)> {
        let mut requests = lock(&self.requests);
        requests.bytes = 0;
        let entries = std::mem::take(&mut requests.by_id).into_values();
        let clients = entries.filter(|entry| entry.own.is_none());
        clients.map(|entry| (entry.message, entry.flight)).collect()
    }

    /// Notes a request of the server. Returns the id to give it where the client has a request of an earlier session
    /// with the same id: its answer must not be taken for this one's.
    pub fn asked(&self, id: &Id, raw: &str, generation: u64) -> Option<String> {
        let mut asked = lock(&self.asked);
        let taken = |entry: &AskedEntry| entry.id == *id && entry.generation != generation;
        let renamed = if asked.entries.iter().any(taken) {
            asked.renamed += 1;
            Some(format!(
                "\"glovebox-bridge-{generation}-{}\"",
                asked.renamed
            ))
        } else {
            None
        };
        let (known, shown) = match &renamed {
            Some(new) => (Id::of_raw(new).unwrap_or_else(|| id.clone()), new.clone()),
            None => (id.clone(), raw.to_owned()),
        };
        asked.entries.retain(|entry| entry.id != known);
        if asked.entries.len() >= SERVER_REQUESTS {
            asked.entries.pop_front();
        }
        asked.entries.push_back(AskedEntry {
            id: known,
            raw: shown,
            original: renamed.is_some().then(|| raw.to_owned()),
            generation,
        });
        renamed
    }

    /// Returns what to do with the client's reply to a request of the server.
    pub fn replied(&self, id: &Id, generation: u64) -> Reply {
        let mut asked = lock(&self.asked);
        let found = asked.entries.iter().position(|entry| entry.id == *id);
        match found.and_then(|at| asked.entries.remove(at)) {
            Some(entry) if entry.generation == generation => Reply::Send(entry.original),
            Some(_) => Reply::Stale,
            None => Reply::Send(None),
        }
    }

    /// Returns the ids, as the client knows them, of what was asked in an earlier session.
    pub fn stale(&self, generation: u64) -> Vec<String> {
        let asked = lock(&self.asked);
        let stale = asked
            .entries
            .iter()
            .filter(|entry| entry.generation != generation);
        stale.map(|entry| entry.raw.clone()).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn request(raw: &str) -> (Id, Message) {
        let text = format!(r#"{{"method":"tools/call","id":{raw}}}"#);
        let message = Message::read(text.into()).unwrap().pop().unwrap();
        (Id::of_raw(raw).unwrap(), message)
    }

    #[test]
    fn an_answer_is_passed_on_once() {
        let pending = Pending::default();
        let (id, message) = request("1.0");
        pending.start(&id, &message, None).unwrap();
        assert_eq!(
            pending.start(&id, &message, None).unwrap_err(),
            NotTaken::InUse
        );
        assert!(pending.idle().now_or_never().is_none());
        let one = Id::of_raw("1").unwrap();
        assert!(matches!(pending.finish(&one), Answer::Client(..)));
        assert!(matches!(pending.finish(&one), Answer::Unknown));
        assert!(pending.cancel(&one).is_none());
        assert!(pending.idle().now_or_never().is_some());
    }

    #[test]
    fn requests_are_bounded_in_number_and_bytes() {
        let pending = Pending::default();
        for number in 0..REQUESTS {
            let (id, message) = request(&number.to_string());
            pending.start(&id, &message, None).unwrap();
        }
        let (id, message) = request("\"x\"");
        assert_eq!(
            pending.start(&id, &message, None).unwrap_err(),
            NotTaken::Full
        );
        let long = format!("\"{}\"", "x".repeat(REQUEST_BYTES / 3));
        let pending = Pending::default();
        for (index, taken) in [(0, true), (1, true), (2, true), (3, false)] {
            let (_, message) = request(&long);
            let (id, _) = request(&index.to_string());
            assert_eq!(
                pending.start(&id, &message, None).is_ok(),
                taken && index < 2
            );
        }
    }

    #[test]
    fn an_answer_for_an_earlier_session_reaches_no_later_one() {
        let pending = Pending::default();
        let id = Id::of_raw("0").unwrap();
        assert_eq!(pending.asked(&id, "0", 1), None);
        assert_eq!(pending.stale(2), ["0"]);
        let renamed = pending.asked(&id, "0", 2).unwrap();
        assert_eq!(pending.replied(&id, 2), Reply::Stale);
        let renamed = Id::of_raw(&renamed).unwrap();
        assert_eq!(
            pending.replied(&renamed, 2),
            Reply::Send(Some("0".to_owned()))
        );
        assert_eq!(pending.asked(&id, "0", 2), None);
        assert_eq!(pending.replied(&id, 2), Reply::Send(None));
    }
}
