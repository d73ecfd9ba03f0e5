//! Finds out which transport a server has, with the client's first request.

use std::sync::Arc;

use url::Url;

use super::config::Mode;
use super::failure::Failure;
use super::message::Message;
use super::older::{self, Older};
use super::pending::Flight;
use super::reply::{Events, Reply, rpc_error};
use super::server::{Link, Server};
use super::streamable::Streamable;
use crate::secrets;

/// The usual path of the older transport.
const OLDER_PATH: &str = "/sse";

/// Sends a request while the transport is not known.
///
/// # Errors
/// Why there was no answer.
pub async fn exchange(server: &Server, message: &Message, flight: &Flight) -> Result<(), Failure> {
    let core = &server.core;
    let deciding = server.deciding.lock().await;
    let (streamable, reply) = match server.link() {
        Link::Streamable(streamable) => {
            drop(deciding);
            return streamable.exchange(core, message, flight).await;
        }
        Link::Older(older) => {
            drop(deciding);
            return older.exchange(core, message, flight).await;
        }
        Link::Undecided if server.mode == Mode::Older => {
            let opened = older::open(core, &core.url).await?;
            let older = use_older(server, core.url.clone(), opened);
            drop(deciding);
            return older.exchange(core, message, flight).await;
        }
        Link::Undecided => {
            let streamable = Arc::new(Streamable::new(core.url.clone()));
            let reply = streamable.post(core, message).await?;
            (streamable, reply)
        }
    };
    let generation = core.session.generation();
    if reply.status.is_success() || server.mode == Mode::Streamable {
        if reply.status.is_success() {
            use_streamable(server, &streamable);
        }
        drop(deciding);
        let taken = streamable
            .take(core, message, flight, generation, reply)
            .await;
        return match taken {
            Err(Failure::OlderTransport) => {
                // The stream of the older transport came in reply to a POST.
                let opened = older::open(core, &core.url).await?;
                use_older(server, core.url.clone(), opened);
                Err(Failure::OlderTransport)
            }
            taken => taken,
        };
    }
    refused(server, message, flight, streamable, reply).await
}

/// Goes on after the server refused the request over streamable HTTP.
async fn refused(
    server: &Server,
    message: &Message,
    flight: &Flight,
    streamable: Arc<Streamable>,
    mut reply: Reply,
) -> Result<(), Failure> {
    let core = &server.core;
    let body = reply.start().await;
    let about_access = matches!(reply.status.as_u16(), 401 | 403 | 407);
    if !about_access
        && let Some(answer) = rpc_error(&body).and_then(|error| message.answer_with(&error))
    {
        use_streamable(server, &streamable);
        core.deliver(answer, core.session.generation()).await;
        return Ok(());
    }
    let refusal = reply.refusal(&body);
    if !matches!(reply.status.as_u16(), 400 | 404 | 405) {
        return Err(refusal);
    }
    let older = match find_older(server).await {
        Ok(older) => older,
        Err(tried) => {
            return Err(Failure::Refused {
                status: reply.status.as_u16(),
                text: format!("{refusal}. The older transport was looked for too: {tried}"),
                retry_after: None,
            });
        }
    };
    if message.is_repeatable() {
        older.exchange(core, message, flight).await
    } else {
        Err(Failure::OlderTransport)
    }
}

/// Looks for the older transport at the address as it was given, then at its usual path.
async fn find_older(server: &Server) -> Result<Arc<Older>, String> {
    let core = &server.core;
    let mut places: Vec<Url> = vec![core.url.clone()];
    if let Ok(usual) = core.url.join(OLDER_PATH)
        && usual.path() != core.url.path()
    {
        places.push(usual);
    }
    let mut tried = Vec::new();
    for place in places {
        match older::open(core, &place).await {
            Ok(opened) => return Ok(use_older(server, place, opened)),
            Err(failure) => tried.push(format!("{}: {failure}", secrets::masked(place.path()))),
        }
    }
    Err(tried.join("; "))
}

fn use_streamable(server: &Server, streamable: &Arc<Streamable>) {
    let core = &server.core;
    server.set_link(Link::Streamable(Arc::clone(streamable)));
    core.say(&format!(
        "{} speaks streamable HTTP",
        secrets::shown(core.url.as_str())
    ));
}

fn use_older(server: &Server, place: Url, opened: (older::Connection, Events)) -> Arc<Older> {
    let core = &server.core;
    core.say(&format!(
        "{} speaks the older transport, HTTP with SSE",
        secrets::shown(place.as_str())
    ));
    let older = Older::start(core, place, opened);
    server.set_link(Link::Older(Arc::clone(&older)));
    older
}
