//! The stream of what the server says by itself, over streamable HTTP: opened again whenever it ends.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::core::Core;
use super::failure::Failure;
use super::limits::Backoff;
use super::renew::renew;
use super::reply::{Content, Reply};
use super::server::Server;
use super::streamable::{Mark, Streamable, pass};

/// A stream that lived so long was no failure: the next wait is short again.
const LIVED: Duration = Duration::from_secs(10);

/// How long to wait after a denied access: the token may be replaced.
const DENIED: Duration = Duration::from_secs(30);

/// Begins to listen, once for a server.
pub fn start(server: &Arc<Server>, streamable: &Arc<Streamable>) {
    if !streamable.begin_listening() {
        return;
    }
    let (server, streamable) = (Arc::clone(server), Arc::clone(streamable));
    tokio::spawn(async move {
        tokio::select! {
            () = server.core.stop.cancelled() => {}
            () = listen(&server, &streamable) => {}
        }
    });
}

/// What became of a stream.
enum Ended {
    /// The server has none.
    Never,
    /// The server does not know the session.
    Lost,
    /// It ended, or was not opened.
    Once(String),
}

async fn listen(server: &Server, streamable: &Streamable) {
    let core = &server.core;
    let mut generations = core.session.generations();
    let mut mark = Mark::default();
    let mut backoff = Backoff::default();
    let mut away = false;
    loop {
        let generation = *generations.borrow_and_update();
        let opened = Instant::now();
        let ended = tokio::select! {
            changed = generations.changed() => {
                // The session was opened anew, and with it the stream.
                if changed.is_err() { return; }
                mark = Mark::default();
                continue;
            }
            ended = once(core, streamable, &mut mark, generation, &mut away) => ended,
        };
        if opened.elapsed() > LIVED {
            backoff = Backoff::default();
        }
        match ended {
            Ended::Never => return,
            Ended::Lost => {
                mark = Mark::default();
                if let Err(failure) = renew(server, generation).await {
                    core.say(&failure.to_string());
                }
            }
            Ended::Once(why) => {
                if !std::mem::replace(&mut away, true) {
                    tracing::info!(why, "the server's own stream ended");
                }
            }
        }
        let wait = backoff.next().max(mark.retry.unwrap_or_default());
        tokio::time::sleep(wait).await;
    }
}

/// Opens the stream and reads it to its end.
async fn once(
    core: &Core,
    streamable: &Streamable,
    mark: &mut Mark,
    generation: u64,
    away: &mut bool,
) -> Ended {
    let reply = match streamable.reopen(core, mark.id.as_deref()).await {
        Ok(reply) => reply,
        Err(failure) => return Ended::Once(failure.to_string()),
    };
    match reply.status.as_u16() {
        200 if reply.content == Content::Events => {}
        404 if core.session.place().id.is_some() => return Ended::Lost,
        429 | 500..=599 => return Ended::Once(format!("status {}", reply.status)),
        401 | 403 => {
            mark.retry = Some(DENIED);
            return Ended::Once("access is denied".to_owned());
        }
        400 if mark.id.is_some() => {
            // The server does not know the event any more.
            mark.id = None;
            return Ended::Once("the last event is unknown".to_owned());
        }
        status => {
            tracing::debug!(status, "the server has no stream of its own");
            return Ended::Never;
        }
    }
    *away = false;
    match read(core, reply, mark, generation).await {
        Ok(()) => Ended::Once("its end came".to_owned()),
        Err(failure) => Ended::Once(failure.to_string()),
    }
}

async fn read(core: &Core, reply: Reply, mark: &mut Mark, generation: u64) -> Result<(), Failure> {
    let mut events = reply.events();
    while let Some((event, cut)) = events.next().await? {
        pass(core, event, cut, mark, generation).await;
    }
    Ok(())
}
