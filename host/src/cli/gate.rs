//! The rate and the budget of requests that a component makes.

use http::HeaderMap;
use serde_json::Value;
use tokio::time::Instant;

use super::output;
use crate::engine::answers::Mode;
use crate::jobs::{JobsError, Micros, Outside, OutsideCall};
use crate::policy::estimate;
use crate::wasi::{Gate, Leave, Ticket};

/// The tool of such calls in the ledger.
const TOOL: &str = "run";
/// The upstream's default where a research names no cap.
const QUERIES: u32 = 20;
/// The most that it takes.
const MOST_QUERIES: u64 = 50;
/// What a blocking reply cost, in US dollars. A stream says it in its body, which is not read here.
const COST_HEADER: &str = "x-request-total-cost";

/// Lets a component's requests through like any other call's.
#[derive(Debug)]
pub struct RunGate(pub Outside);

#[derive(Debug)]
struct RunTicket(OutsideCall);

impl Gate for RunGate {
    fn admit<'a>(&'a self, body: &'a [u8], deadline: Instant) -> Leave<'a> {
        Box::pin(async move {
            let (mode, estimate) = estimate_of(body);
            let call = self.0.begin(TOOL, mode, body, estimate, deadline).await;
            let call = call.map_err(|error| error.to_string())?;
            Ok(Box::new(RunTicket(call)) as Box<dyn Ticket>)
        })
    }
}

impl Ticket for RunTicket {
    fn replied(self: Box<Self>, status: u16, headers: &HeaderMap) {
        let told = headers
            .get(COST_HEADER)
            .and_then(|cost| cost.to_str().ok()?.parse().ok());
        // Only what succeeds is billed.
        let cost = if status == 200 {
            told.map(Micros::from_usd)
        } else {
            Some(Micros(0))
        };
        log(self.0.end(cost, status == 200));
    }

    fn unsent(self: Box<Self>) {
        log(self.0.end(Some(Micros(0)), false));
    }
}

/// What a request could cost. Whatever mentions research is taken for it.
fn estimate_of(body: &[u8]) -> (Mode, Micros) {
    let text = String::from_utf8_lossy(body);
    if !text.contains("enable_research") {
        return (Mode::Answer, estimate::ANSWER);
    }
    let fields: Value = serde_json::from_str(&text).unwrap_or_default();
    let cap = fields
        .get("research_maximum_number_of_queries")
        .and_then(Value::as_u64);
    let cap = cap.map_or(QUERIES, |cap| {
        u32::try_from(cap.min(MOST_QUERIES)).unwrap_or(QUERIES)
    });
    (Mode::Research, estimate::research(cap))
}

/// A ledger that cannot be written is no reason to keep a reply from the component that paid for it.
fn log(ended: Result<(), JobsError>) {
    if let Err(error) = ended {
        output::message(&format_args!("glovebox run: {error}"));
    }
}
