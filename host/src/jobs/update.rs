//! The updates that a running call sends to its caller.

use crate::answers::Event;

/// The phase of a running call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallPhase {
    /// The call waits for a slot of the limiter.
    Waiting,
    /// The request is being sent, for the first time or again.
    Sent,
    /// The reply is being read.
    Reading,
}

/// An update from a running call.
#[derive(Clone, Debug)]
pub enum Update {
    /// The call entered a phase.
    Phase(CallPhase),
    /// Events of the reply, in order.
    Events(Vec<Event>),
}
