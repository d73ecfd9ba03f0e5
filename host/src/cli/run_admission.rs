//! Admits the requests that a component makes under `glovebox run`, by the rate and the budget.

mod reserve;

use std::sync::atomic::{AtomicBool, Ordering};

use http::{HeaderMap, StatusCode};
use tokio::time::Instant;

use self::reserve::reservation;
use super::confirm::refusal;
use super::output;
use crate::jobs::{ExternalCall, ExternalCalls, JobsError, Micros};
use crate::upstream::KeyError;
use crate::wasi::{AdmitFuture, AdmittedRequest, OutgoingRequest, RequestAdmission, SettleFuture};

/// The tool of such calls in the ledger.
const TOOL: &str = "run";
/// What a blocking reply cost, in US dollars. A stream says it in its body, which is not read here.
const COST_HEADER: &str = "x-request-total-cost";

/// Admits a component's requests as any other call is admitted.
#[derive(Debug)]
pub struct RunAdmission {
    /// Where the requests are counted.
    pub calls: ExternalCalls,
    /// The cost above which a request is refused, because nobody confirmed it.
    pub unconfirmed_over: Option<Micros>,
    /// The reason why there is no key, if there is none: then no request is admitted.
    pub no_key: Option<KeyError>,
    /// Whether a request was refused for want of a key.
    pub refused_for_key: AtomicBool,
}

impl RunAdmission {
    /// Returns whether a request was refused because there is no key.
    #[must_use]
    pub fn is_refused_for_key(&self) -> bool {
        self.refused_for_key.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
struct RunRequest(ExternalCall);

impl RequestAdmission for RunAdmission {
    fn admit<'a>(&'a self, request: OutgoingRequest<'a>, deadline: Instant) -> AdmitFuture<'a> {
        Box::pin(async move {
            if let Some(error) = &self.no_key {
                self.refused_for_key.store(true, Ordering::Relaxed);
                return Err(error.to_string());
            }
            let (mode, estimate) = reservation(&request);
            if let Some(limit) = self.unconfirmed_over.filter(|limit| estimate > *limit) {
                return Err(refusal(estimate, limit));
            }
            let call = self
                .calls
                .begin(TOOL, mode, request.body, estimate, deadline);
            let call = call.await;
            let call = call.map_err(|error| error.to_string())?;
            Ok(Box::new(RunRequest(call)) as Box<dyn AdmittedRequest>)
        })
    }
}

impl AdmittedRequest for RunRequest {
    fn replied(self: Box<Self>, status: StatusCode, headers: &HeaderMap) -> SettleFuture<'static> {
        // Only what succeeds is billed.
        let cost = if status.is_success() {
            stated_cost(headers)
        } else {
            Some(Micros(0))
        };
        Box::pin(async move { log(self.0.end(cost, status.is_success()).await) })
    }

    fn unsent(self: Box<Self>) -> SettleFuture<'static> {
        Box::pin(async move { log(self.0.end(Some(Micros(0)), false).await) })
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

/// Prints the error of a settlement. The component gets its reply all the same: it was paid for.
fn log(ended: Result<(), JobsError>) {
    if let Err(error) = ended {
        output::message(&format_args!("glovebox run: {error}"));
    }
}
