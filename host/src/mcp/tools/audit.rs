//! The tool `ai_audit_query`: the newest events of the audit log.

use std::fmt::Write as _;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::super::Service;
use super::super::args::Args;
use super::super::reply::{Reply, ToolResult};
use super::super::tool_call::ToolCall;
use crate::policy::audit::{Query, newest};

/// The members of an event that its line in the text has, in this order.
const SHOWN: [&str; 7] = [
    "time",
    "event",
    "tool",
    "decision",
    "reason",
    "client",
    "duration_ms",
];

/// Runs the tool.
pub fn query<'a>(service: &'a Service, args: Args, _call: &'a ToolCall) -> BoxFuture<'a, Reply> {
    async move { found(service, &args).await.into() }.boxed()
}

async fn found(service: &Service, args: &Args) -> ToolResult {
    let Some(audit) = service.control().audit() else {
        return ToolResult::failure(
            "There is no audit log: the operator's setting audit turns one on.",
        );
    };
    let query = Query {
        count: usize::try_from(args.integer("n").unwrap_or_default()).unwrap_or_default(),
        tool: args.text("tool").map(str::to_owned),
        decision: args.text("decision").map(str::to_owned),
    };
    let dir = audit.log().dir().clone();
    let events = tokio::task::spawn_blocking(move || newest(&dir, &query)).await;
    match events {
        Ok(Ok(events)) => listed(events),
        // The path of the log is no business of a client.
        Ok(Err(error)) => {
            tracing::warn!(%error, "the audit log cannot be read");
            ToolResult::failure("The audit log cannot be read; the server's own messages say why.")
        }
        Err(error) => ToolResult::failure(format!("The audit log cannot be read: {error}.")),
    }
}

fn listed(events: Vec<Value>) -> ToolResult {
    let mut text = match events.len() {
        0 => "No event matches.".to_owned(),
        1 => "1 event:".to_owned(),
        count => format!("{count} events, newest first:"),
    };
    for event in &events {
        text.push_str("\n-");
        for value in SHOWN.iter().filter_map(|name| event.get(name)) {
            let _ = match value.as_str() {
                Some(word) => write!(text, " {word}"),
                None => write!(text, " {value}"),
            };
        }
    }
    ToolResult::new(text, json!({ "state": "listed", "events": events }))
}
