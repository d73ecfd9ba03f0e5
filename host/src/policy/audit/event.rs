//! What is recorded.

use serde::Serialize;

use crate::money::Micros;

/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A call of a tool begins.
    ToolStart,
    /// A call of a tool has ended.
    ToolEnd,
    /// A call of a tool was denied.
    ToolDenied,
    /// A request over HTTP was denied.
    GateDenied,
    /// A request left for a host that a tool's arguments name.
    RequestSent,
    /// The scope changed.
    ScopeChanged,
    /// The policy changed, or a change was refused.
    PolicyChanged,
    /// A server started.
    ServerStarted,
    /// A server stopped.
    ServerStopped,
    /// A server took the place of another.
    Takeover,
    /// A line that a process left unfinished was closed.
    Recovered,
}

/// An event. What is `None` is left out of the line.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    /// Its kind.
    pub event: Kind,
    /// The transport.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<&'static str>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The client's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The client's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_version: Option<String>,
    /// The tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<&'static str>,
    /// The number of the call in its process, which its start and its end share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<u64>,
    /// What was decided: `allowed`, `approved` or `denied`; of an end: `ok`, `error`, `input_required` or `cancelled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<&'static str>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// HMAC of the arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments_hmac: Option<String>,
    /// HMAC of the result's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_hmac: Option<String>,
    /// Bytes of the arguments as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments_bytes: Option<usize>,
    /// Bytes of the result's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_bytes: Option<usize>,
    /// Milliseconds from the start to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What the call cost, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// How many events this one stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Bytes of the line that was left unfinished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub torn_bytes: Option<usize>,
    /// Hash of the line that was left unfinished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub torn_hash: Option<String>,
}

impl Event {
    /// Returns an event of a kind and nothing else.
    #[must_use]
    pub const fn new(event: Kind) -> Self {
        Self {
            event,
            transport: None,
            session: None,
            client: None,
            client_version: None,
            tool: None,
            call: None,
            decision: None,
            reason: None,
            arguments_hmac: None,
            result_hmac: None,
            arguments_bytes: None,
            result_bytes: None,
            duration_ms: None,
            cost_usd: None,
            count: None,
            torn_bytes: None,
            torn_hash: None,
        }
    }

    /// Sets the cost.
    #[must_use]
    pub fn costing(mut self, cost: Option<Micros>) -> Self {
        self.cost_usd = cost.map(Micros::usd);
        self
    }
}

/// A line: an event with its place in the chain. The order of the members is the order in the line.
#[derive(Debug, Serialize)]
pub(super) struct Line<'a> {
    pub(super) seq: u64,
    pub(super) time: &'a str,
    pub(super) pid: u32,
    #[serde(flatten)]
    pub(super) event: &'a Event,
    /// The id of the key, in the first line of a file alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<&'a str>,
    pub(super) prev: &'a str,
}
