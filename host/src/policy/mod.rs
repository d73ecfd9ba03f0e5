//! The operator's control over tools: which ones are available, which calls run, and a log of what was done.
//!
//! [`decide`] is a pure function of a tool's flags, the facts of a call and a [`Policy`], a snapshot of the settings. It
//! is called from one place in `mcp`, for every transport. [`Control`] holds what the calls of a process share: the
//! snapshot in force, the places for foreground calls and the audit log.

mod admission;
mod advice;
mod approval;
pub mod audit;
mod caller;
mod control;
mod denial;
mod flags;
mod places;
mod snapshot;

pub use admission::{Approval, CallFacts, Decision, decide};
pub use advice::{Advice, Reach, Situation, advice};
pub use approval::{Approvals, Binding, InvalidApproval, LIFETIME};
pub use caller::{Caller, Client};
pub use control::Control;
pub use denial::Denial;
pub use flags::{Safety, ToolFacts, ToolFlags};
pub use places::{DEFAULT_PLACES, MOST_PLACES, Place, SERVE_PLACES};
pub use snapshot::{ALL, Availability, Policy, PolicyError, Rules, Toggle};
