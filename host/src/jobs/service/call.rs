//! A call as its caller describes it, and what the caller gets back for it.

use std::time::Duration;

use crate::answers::{Mode, Question};
use crate::jobs::model::{Job, Micros};
use crate::jobs::storage::rows::SingleUse;
use crate::jobs::stored_request::Simulate;

/// A call to be made.
#[derive(Clone, Debug)]
pub struct Call {
    /// The name of the tool that makes the call, as the ledger stores it.
    pub tool: String,
    /// How the reply is read.
    pub mode: Mode,
    /// The question and its options.
    pub question: Question,
    /// The most that the call may cost. This amount is reserved until the call ends.
    pub estimate: Micros,
    /// The longest time from sending the request to the last byte of the reply.
    pub deadline: Duration,
    /// The longest time in which the upstream may send nothing. `None` takes the default of the mode.
    pub idle: Option<Duration>,
    /// The limit that the caller sets on the cost, in US dollars.
    pub max_usd: Option<f64>,
    /// Whether the raw stream of the reply is kept.
    pub capture: bool,
    /// The simulator that a detached worker starts and calls, instead of the upstream.
    pub simulate: Option<Simulate>,
    /// A permission that the call uses up, where it needs one.
    pub approval: Option<SingleUse>,
}

/// A call that was stored as a job.
#[derive(Clone, Debug)]
pub struct Submitted {
    /// The job of the call.
    pub job: Job,
    /// Whether the job is an older one that asks the same and has not ended. The caller does not own it and
    /// cannot run it.
    pub already_running: bool,
    /// Problems that do not prevent the call.
    pub warnings: Vec<String>,
}

/// What a worker needs to know about a job that it took over.
#[derive(Clone, Debug)]
pub struct Adopted {
    /// The simulator that the worker starts, if the call is simulated.
    pub simulate: Option<Simulate>,
    /// The longest time that the call may take.
    pub deadline: Duration,
}
