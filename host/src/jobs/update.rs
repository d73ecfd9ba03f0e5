//! What a running call reports to the code that waits for it.

use crate::answers::Event;

/// The phase that a running call is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The call waits until the rate allows its request.
    Waiting,
    /// The request is being sent, for the first time or again.
    Sent,
    /// The reply is being read.
    Reading,
}

/// A report from a running call.
#[derive(Clone, Debug)]
pub enum Update {
    /// The call entered a phase.
    Phase(Phase),
    /// Events that the sandbox read, in the order of the reply.
    Events(Vec<Event>),
}
