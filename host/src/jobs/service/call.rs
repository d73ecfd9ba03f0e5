//! A call as its caller describes it, and the result of submitting it.

use std::time::Duration;

use crate::answers::{Mode, Question};
use crate::jobs::model::{Job, Micros};
use crate::jobs::storage::rows::SingleUse;
use crate::jobs::stored_request::Simulate;

/// A call to be made.
#[derive(Clone, Debug)]
pub struct Call {
    /// The name of the tool that makes the call, as stored in the ledger.
    pub tool: String,
    /// How the reply is read.
    pub mode: Mode,
    /// The question and its options.
    pub question: Question,
    /// The most that the call may cost. This amount is reserved until the call ends.
    pub estimate: Micros,
    /// The maximum time from sending the request to the last byte of the reply.
    pub deadline: Duration,
    /// The maximum time without data from the upstream. `None` uses the default of the mode.
    pub idle: Option<Duration>,
    /// The caller's limit on the cost, in US dollars.
    pub max_usd: Option<f64>,
    /// Whether the raw stream of the reply is stored.
    pub capture: bool,
    /// The simulator that a detached worker starts and calls instead of the upstream.
    pub simulate: Option<Simulate>,
    /// A permission that the call uses up, where it needs one.
    pub approval: Option<SingleUse>,
}

/// A call that was stored as a job.
#[derive(Clone, Debug)]
pub struct Submitted {
    /// The job of the call.
    pub job: Job,
    /// Whether the job already existed: it has the same request and has not ended. The caller does not own it and
    /// cannot run it.
    pub already_running: bool,
    /// Problems that do not prevent the call.
    pub warnings: Vec<String>,
}

/// The settings of a job that a worker adopted.
#[derive(Clone, Debug)]
pub struct Adopted {
    /// The simulator that the worker starts, if the call is simulated.
    pub simulate: Option<Simulate>,
    /// The maximum time of the call.
    pub deadline: Duration,
}
