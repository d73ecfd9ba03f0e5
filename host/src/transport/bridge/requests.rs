//! Sends messages, and again where that is safe.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::core::Core;
use super::failure::{Failure, Sent};
use super::limits::{ASKED_WAIT, Backoff, REPEATS, TOOL_PAGES};
use super::listen;
use super::message::{CANCELLED, INITIALIZE, INITIALIZED, Kind, LISTEN, Message};
use super::pending::Flight;
use super::renew::renew;
use super::send;
use super::server::{Link, Server};

/// Sends a request until it is answered, fails, or is cancelled.
pub async fn run(server: &Arc<Server>, message: &Message, flight: &Flight) {
    let answered = async {
        if let Err(failure) = answer(server, message, flight).await {
            server.core.fail(message, &failure);
        }
    };
    tokio::select! {
        () = flight.cancelled.cancelled() => {}
        () = answered => {}
    }
}

async fn answer(server: &Arc<Server>, message: &Message, flight: &Flight) -> Result<(), Failure> {
    let core = &server.core;
    let mut attempts = Attempts::new(core);
    loop {
        if message.method() != INITIALIZE {
            // A session that is being opened is waited for.
            drop(server.renewing.lock().await);
        }
        if message.stateless_version().is_some() && core.tools.must_learn(message) {
            learn(server, message).await;
        }
        let generation = core.session.generation();
        let Err(failure) = exchange(server, message, flight).await else {
            return Ok(());
        };
        if flight.answered.is_cancelled() {
            return Ok(());
        }
        tracing::debug!(%failure, method = message.method(), "a request was not answered");
        attempts.next(server, message, failure, generation).await?;
    }
}

/// Sends a request once. The answer to `initialize` must come soon: nothing else goes on before it.
async fn exchange(server: &Arc<Server>, message: &Message, flight: &Flight) -> Result<(), Failure> {
    if message.method() != INITIALIZE {
        return send::exchange(server, message, flight).await;
    }
    let limit = server.core.waits.opening;
    tokio::time::timeout(limit, send::exchange(server, message, flight))
        .await
        .map_err(|_| Failure::Silent(limit))?
}

/// Sends a message that has no answer. Where it cannot be sent, a person is told.
pub async fn tell(server: &Arc<Server>, message: &Message) {
    let core = &server.core;
    let mut attempts = Attempts::new(core);
    loop {
        let generation = core.session.generation();
        let Err(failure) = send::tell(server, message).await else {
            break;
        };
        let is_lost = matches!(failure, Failure::SessionLost { .. });
        let of_session = matches!(message.kind(), Kind::Reply(_))
            || matches!(message.method(), CANCELLED | INITIALIZED);
        let failed = if is_lost && of_session {
            // It means nothing in another session.
            Err(failure)
        } else {
            attempts.next(server, message, failure, generation).await
        };
        if let Err(failure) = failed {
            let what = match message.kind() {
                Kind::Reply(_) => "a reply of the client",
                _ => message.method(),
            };
            core.say(&format!("{what} was not delivered: {failure}"));
            return;
        }
    }
    if message.method() == INITIALIZED
        && let Link::Streamable(streamable) = server.link()
    {
        listen::start(server, &streamable);
    }
}

/// Reads the server's list of tools, to know what headers a call has. Where that fails, the call goes without them and
/// the server says what is missing.
async fn learn(server: &Arc<Server>, call: &Message) {
    let core = &server.core;
    let _learning = server.learning.lock().await;
    if !core.tools.must_learn(call) {
        return;
    }
    let mut meta = call.params().remove("_meta").unwrap_or_default();
    if let Some(meta) = meta.as_object_mut() {
        meta.remove("progressToken");
    }
    let mut params = serde_json::json!({ "_meta": meta });
    for _ in 0..TOOL_PAGES {
        let request = serde_json::value::to_raw_value(&params).ok();
        let request = request
            .and_then(|params| Message::request(&core.own_id(), "tools/list", Some(&params)));
        let Some(request) = request else { return };
        let answer = match send::ask(server, &request).await {
            Ok(answer) if answer.is_error() => break,
            Ok(answer) => answer,
            Err(_) => return,
        };
        match (core.tools.learn(&answer), params.as_object_mut()) {
            (Some(cursor), Some(params)) => {
                params.insert("cursor".to_owned(), cursor.into());
            }
            _ => break,
        }
    }
    core.tools.learned_all();
}

/// What was tried for one message.
struct Attempts {
    /// Until when a server that cannot be reached is tried.
    until: Instant,
    backoff: Backoff,
    repeats: u32,
    renewals: u32,
}

impl Attempts {
    fn new(core: &Core) -> Self {
        Self {
            until: Instant::now() + core.waits.patience,
            backoff: Backoff::default(),
            repeats: 0,
            renewals: 0,
        }
    }

    /// Waits until the message can be sent again.
    ///
    /// # Errors
    /// What to tell its sender, where it cannot be.
    async fn next(
        &mut self,
        server: &Arc<Server>,
        message: &Message,
        failure: Failure,
        generation: u64,
    ) -> Result<(), Failure> {
        let endless = message.method() == LISTEN;
        match &failure {
            Failure::Unreachable(_) => self.wait(failure, endless).await,
            Failure::SessionLost { sent, .. } => {
                let sent = *sent;
                self.renewals += 1;
                if self.renewals > 1 {
                    return Err(failure);
                }
                let mut renewed = renew(server, generation).await;
                while let Err(unreachable @ Failure::Unreachable(_)) = renewed {
                    renewed = match self.wait(unreachable, endless).await {
                        Ok(()) => renew(server, generation).await,
                        Err(failure) => {
                            renewed = Err(failure);
                            break;
                        }
                    };
                }
                if sent == Sent::No || message.is_repeatable() {
                    return renewed;
                }
                Err(Failure::SessionLost {
                    sent,
                    renewed: renewed.is_ok(),
                })
            }
            Failure::Away(_) | Failure::Misconfigured(_) | Failure::NotRenewed(_) => Err(failure),
            _ if !may_repeat(message) => Err(failure),
            Failure::Refused {
                status: 429 | 502..=504,
                retry_after,
                ..
            } => {
                let asked = retry_after.unwrap_or_default();
                self.repeat(failure, asked, endless).await
            }
            Failure::Broken(_) | Failure::Moved | Failure::OlderTransport => {
                self.repeat(failure, Duration::ZERO, endless).await
            }
            Failure::Silent(_) if endless => self.repeat(failure, Duration::ZERO, endless).await,
            _ => Err(failure),
        }
    }

    /// Waits until a server that cannot be reached can be tried again.
    async fn wait(&mut self, failure: Failure, endless: bool) -> Result<(), Failure> {
        let wait = self.backoff.next();
        if !endless && Instant::now() + wait > self.until {
            return Err(failure);
        }
        tokio::time::sleep(wait).await;
        Ok(())
    }

    async fn repeat(
        &mut self,
        failure: Failure,
        asked: Duration,
        endless: bool,
    ) -> Result<(), Failure> {
        self.repeats += 1;
        if (self.repeats > REPEATS && !endless) || asked > ASKED_WAIT {
            return Err(failure);
        }
        tokio::time::sleep(self.backoff.next().max(asked)).await;
        Ok(())
    }
}

/// Returns whether a message that may have been sent may be sent again. A reply that comes twice is ignored.
fn may_repeat(message: &Message) -> bool {
    matches!(message.kind(), Kind::Reply(_)) || message.is_repeatable()
}
