//! Opens a session in the place of one that the server has lost.

use serde_json::{Value, json};

use super::core::Core;
use super::failure::Failure;
use super::message::{CANCELLED, INITIALIZED, Message};
use super::send;
use super::server::Server;
use super::session::again;

/// Opens a session in the place of the one with this number, with its subscriptions. Does nothing where that was done.
///
/// # Errors
/// When the server cannot be reached or does not open one.
pub async fn renew(server: &Server, generation: u64) -> Result<(), Failure> {
    let core = &server.core;
    let _renewing = server.renewing.lock().await;
    if core.session.generation() != generation {
        return Ok(());
    }
    let failed = |why: String| Failure::NotRenewed(why);
    let Some(opening) = core.session.opening(&core.own_id()) else {
        return Err(failed("the client has not opened one yet".to_owned()));
    };
    core.say("the server lost the session; opening another");
    let answer = match send::ask(server, &opening).await {
        Ok(answer) => answer,
        Err(unreachable @ Failure::Unreachable(_)) => return Err(unreachable),
        Err(other) => return Err(failed(other.to_string())),
    };
    if let Some(error) = answer.error() {
        let message = error.get("message").and_then(Value::as_str);
        let message = message.unwrap_or("the server gave no reason");
        return Err(failed(message.to_owned()));
    }
    core.session
        .reopen(&answer)
        .map_err(|error| failed(error.to_string()))?;
    if let Some(initialized) = Message::notification(INITIALIZED, None)
        && let Err(failure) = send::tell(server, &initialized).await
    {
        return Err(failed(failure.to_string()));
    }
    replay(server).await;
    withdraw(core);
    for change in core.session.changes() {
        core.post(change.line());
    }
    core.say("a new session is open");
    Ok(())
}

/// Repeats what the client had set in the session before.
async fn replay(server: &Server) {
    let core = &server.core;
    for request in core.session.replay() {
        let Some(request) = again(&request, &core.own_id()) else {
            continue;
        };
        let failed = match send::ask(server, &request).await {
            Ok(answer) => answer.is_error(),
            Err(_) => true,
        };
        if failed {
            core.say(&format!("{} could not be repeated in it", request.method()));
        }
    }
}

/// Tells the client that requests of the session before are no longer waited for.
fn withdraw(core: &Core) {
    for raw in core.pending.stale(core.session.generation()) {
        let id: Value = serde_json::from_str(&raw).unwrap_or_default();
        let params = json!({ "requestId": id, "reason": "the server lost the session that asked" });
        if let Some(cancelled) = Message::notification(CANCELLED, Some(params)) {
            core.post(cancelled.line());
        }
    }
}

/// Opens a session whenever a connection was lost with its own, so that the server can reach the client without a request.
pub async fn renew_lost(server: &Server) {
    loop {
        server.core.lost.notified().await;
        let generation = server.core.session.generation();
        if generation > 0
            && let Err(failure) = renew(server, generation).await
        {
            server.core.say(&failure.to_string());
        }
    }
}
