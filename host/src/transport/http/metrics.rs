//! Metrics of the transport in Prometheus' text format. No label holds text that a client chose.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use http::StatusCode;
use rmcp::model::{JsonRpcMessage, ServerJsonRpcMessage, ServerResult};

use super::endpoint::Endpoint;
use super::gate::Reason;
use crate::rpc::Envelope;

/// A counter with one value for each pair of labels.
type Counts = Mutex<BTreeMap<(String, String), u64>>;

#[derive(Debug, Default)]
struct Inner {
    requests: Counts,
    calls: Counts,
    denials: Mutex<BTreeMap<Reason, u64>>,
    streams: AtomicUsize,
    connections: AtomicUsize,
}

/// The metrics of a server. Clones share their values.
#[derive(Clone, Debug, Default)]
pub struct Metrics(Arc<Inner>);

impl Metrics {
    /// Counts a request by its route and the status of its reply.
    pub fn request(&self, route: &'static str, status: StatusCode) {
        add(&self.0.requests, route, status.as_str());
    }

    /// Counts a denial.
    pub fn denial(&self, reason: Reason) {
        let mut denials = self
            .0
            .denials
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *denials.entry(reason).or_default() += 1;
    }

    /// Counts an open stream until the returned value is dropped.
    #[must_use]
    pub fn stream(&self) -> Counted {
        Counted::new(Arc::clone(&self.0), |inner| &inner.streams)
    }

    /// Counts an open connection until the returned value is dropped.
    #[must_use]
    pub fn connection(&self) -> Counted {
        Counted::new(Arc::clone(&self.0), |inner| &inner.connections)
    }

    /// Returns how many streams are open.
    #[must_use]
    pub fn streams(&self) -> usize {
        self.0.streams.load(Ordering::Relaxed)
    }

    /// Returns how many connections are open.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.0.connections.load(Ordering::Relaxed)
    }

    /// Returns what counts a tool call by its result, or `None` if the message is not a tool call.
    #[must_use]
    pub fn call(&self, endpoint: &dyn Endpoint, message: &Envelope) -> Option<ToolCall> {
        if message.method() != Some("tools/call") {
            return None;
        }
        let name = message.param("name")?.as_str()?;
        let known = endpoint.input_schema(name).is_some();
        Some(ToolCall {
            tool: if known { name } else { "unknown" }.to_owned(),
            metrics: self.clone(),
        })
    }

    /// Returns all metrics as text. `sessions` is the current number of sessions.
    #[must_use]
    pub fn text(&self, sessions: usize) -> String {
        let mut text = String::new();
        let inner = &*self.0;
        counters(
            &mut text,
            "glovebox_http_requests_total",
            ["route", "status"],
            &inner.requests,
        );
        counters(
            &mut text,
            "glovebox_tool_calls_total",
            ["tool", "result"],
            &inner.calls,
        );
        let _ = writeln!(text, "# TYPE glovebox_http_denials_total counter");
        let denials = inner.denials.lock().unwrap_or_else(PoisonError::into_inner);
        for (reason, count) in &*denials {
            let name = reason.name();
            let _ = writeln!(
                text,
                "glovebox_http_denials_total{{reason=\"{name}\"}} {count}"
            );
        }
        for (name, value) in [
            ("glovebox_http_sessions", sessions),
            ("glovebox_http_streams", self.streams()),
            ("glovebox_http_connections", self.connections()),
        ] {
            let _ = writeln!(text, "# TYPE {name} gauge\n{name} {value}");
        }
        text
    }
}

fn add(counts: &Counts, left: &str, right: &str) {
    let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
    *counts
        .entry((left.to_owned(), right.to_owned()))
        .or_default() += 1;
}

fn counters(text: &mut String, name: &str, labels: [&str; 2], counts: &Counts) {
    let _ = writeln!(text, "# TYPE {name} counter");
    let [first, second] = labels;
    let counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
    for ((left, right), count) in &*counts {
        let _ = writeln!(
            text,
            "{name}{{{first}=\"{left}\",{second}=\"{right}\"}} {count}"
        );
    }
}

/// Something that is counted until it is dropped.
#[derive(Debug)]
pub struct Counted {
    inner: Arc<Inner>,
    gauge: fn(&Inner) -> &AtomicUsize,
}

impl Counted {
    fn new(inner: Arc<Inner>, gauge: fn(&Inner) -> &AtomicUsize) -> Self {
        gauge(&inner).fetch_add(1, Ordering::Relaxed);
        Self { inner, gauge }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.gauge)(&self.inner).fetch_sub(1, Ordering::Relaxed);
    }
}

/// A running call of a tool.
#[derive(Clone, Debug)]
pub struct ToolCall {
    tool: String,
    metrics: Metrics,
}

impl ToolCall {
    /// Counts the call by the kind of its answer.
    pub fn ended(&self, answer: &ServerJsonRpcMessage) {
        let result = match answer {
            JsonRpcMessage::Response(response) => match &response.result {
                ServerResult::CallToolResult(result) if result.is_error == Some(true) => {
                    "tool_error"
                }
                _ => "ok",
            },
            _ => "error",
        };
        add(&self.metrics.0.calls, &self.tool, result);
    }
}
