//! The rate and the budget of requests that a component makes.

mod reserve;

use http::{HeaderMap, StatusCode};
use tokio::time::Instant;

use self::reserve::reservation;
use super::output;
use crate::jobs::{ExternalCall, ExternalCalls, JobsError, Micros};
use crate::wasi::{AdmittedRequest, Asked, Gate, Leave};

/// The tool of such calls in the ledger.
const TOOL: &str = "run";
/// What a blocking reply cost, in US dollars. A stream says it in its body, which is not read here.
const COST_HEADER: &str = "x-request-total-cost";

/// Lets a component's requests through like any other call's.
#[derive(Debug)]
pub struct RunAdmission(pub ExternalCalls);

#[derive(Debug)]
struct RunRequest(ExternalCall);

impl Gate for RunAdmission {
    fn admit<'a>(&'a self, asked: Asked<'a>, deadline: Instant) -> Leave<'a> {
        Box::pin(async move {
            let (mode, estimate) = reservation(&asked);
            let call = self.0.begin(TOOL, mode, asked.body, estimate, deadline);
            let call = call.await;
            let call = call.map_err(|error| error.to_string())?;
            Ok(Box::new(RunRequest(call)) as Box<dyn AdmittedRequest>)
        })
    }
}

impl AdmittedRequest for RunRequest {
    fn replied(self: Box<Self>, status: StatusCode, headers: &HeaderMap) {
        // Only what succeeds is billed.
        let cost = if status.is_success() {
            stated_cost(headers)
        } else {
            Some(Micros(0))
        };
        log(self.0.end(cost, status.is_success()));
    }

    fn unsent(self: Box<Self>) {
        log(self.0.end(Some(Micros(0)), false));
    }
}

/// The cost that a reply states; none where it states none, several, or one that no call can have.
fn stated_cost(headers: &HeaderMap) -> Option<Micros> {
    let mut stated = headers.get_all(COST_HEADER).iter();
    let cost = stated.next()?.to_str().ok()?.parse().ok()?;
    match stated.next() {
        None => Micros::from_reply(cost),
        Some(_) => None,
    }
}

/// A ledger that cannot be written is no reason to keep a reply from the component that paid for it.
fn log(ended: Result<(), JobsError>) {
    if let Err(error) = ended {
        output::message(&format_args!("glovebox run: {error}"));
    }
}
