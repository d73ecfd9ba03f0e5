//! The decision about one call of a tool.

use std::time::Duration;

use super::denial::Denial;
use super::flags::ToolFacts;
use super::snapshot::{Availability, Policy};
use crate::money::Micros;

/// What is known about a person's approval of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Nobody was asked.
    NotAsked,
    /// The person approved.
    Given,
    /// The person refused.
    Refused,
    /// The person did not answer in this time.
    NoAnswer(Duration),
    /// The client sent an approval that cannot be used, for this reason.
    Invalid(&'static str),
}

/// The facts of a call that the decision depends on, in the order in which they are looked at.
#[derive(Clone, Debug)]
pub struct CallFacts<'a> {
    /// What is wrong with the arguments, a sentence each.
    pub wrong_arguments: &'a [String],
    /// What the tool needs and does not have.
    pub missing: Option<&'a str>,
    /// The most that the call may cost; `None` where it costs nothing.
    pub worst_cost: Option<Micros>,
    /// What is known about a person's approval.
    pub approval: Approval,
    /// Whether the client can ask the person.
    pub can_ask: bool,
}

/// What is to become of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It runs.
    Run {
        /// Whether it needs a place among the foreground calls first.
        takes_place: bool,
        /// Whether a person approved it.
        approved: bool,
    },
    /// A person has to be asked first.
    Ask {
        /// The most that the call may cost.
        worst_cost: Micros,
        /// The cost above which a person is asked.
        limit: Micros,
    },
    /// It does not run.
    Deny(Denial),
}

/// Decides about a call. Selection comes first, then the toggle, safety, the arguments, what the tool needs, approval.
#[must_use]
pub fn decide(policy: &Policy, tool: &ToolFacts, call: &CallFacts<'_>) -> Decision {
    match checked(policy, tool, call) {
        Ok(decision) => decision,
        Err(denial) => Decision::Deny(denial),
    }
}

fn checked(policy: &Policy, tool: &ToolFacts, call: &CallFacts<'_>) -> Result<Decision, Denial> {
    match policy.availability(tool.name) {
        Availability::Available => {}
        Availability::NotSelected => return Err(Denial::NotSelected),
        Availability::Disabled(source) => return Err(Denial::Disabled(source.clone())),
        Availability::UnsafeNotAllowed { by_name } => {
            return Err(Denial::Unsafe { by_name: *by_name });
        }
    }
    if !call.wrong_arguments.is_empty() {
        return Err(Denial::Arguments(call.wrong_arguments.to_vec()));
    }
    if let Some(missing) = call.missing {
        return Err(Denial::NotReady(missing.to_owned()));
    }
    let run = |approved| Decision::Run {
        takes_place: tool.flags.foreground,
        approved,
    };
    let (Some(worst_cost), Some(limit)) = (call.worst_cost, policy.confirm_over()) else {
        return Ok(run(false));
    };
    if worst_cost <= limit {
        return Ok(run(false));
    }
    match call.approval {
        Approval::Given => Ok(run(true)),
        Approval::NotAsked if call.can_ask => Ok(Decision::Ask { worst_cost, limit }),
        Approval::NotAsked => Err(Denial::CannotAsk { worst_cost, limit }),
        Approval::Refused => Err(Denial::Refused),
        Approval::NoAnswer(wait) => Err(Denial::NoAnswer(wait)),
        Approval::Invalid(why) => Err(Denial::InvalidApproval(why)),
    }
}
