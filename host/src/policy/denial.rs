//! Why a call was denied, and the sentence that a client gets.

use std::time::Duration;

use crate::money::Micros;

/// Why a call of a tool was denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denial {
    /// The tool is not selected.
    NotSelected,
    /// The tool is turned off. The text says where.
    Disabled(String),
    /// The tool is unsafe and not allowed.
    Unsafe {
        /// Whether its name has to be listed.
        by_name: bool,
    },
    /// The arguments cannot be read. Each problem is a sentence.
    Arguments(Vec<String>),
    /// Something that the tool needs is missing. The text says what.
    NotReady(String),
    /// The call needs an approval and the client cannot ask for one.
    CannotAsk {
        /// The most that the call may cost.
        worst_cost: Micros,
        /// The cost above which an approval is needed.
        limit: Micros,
    },
    /// The person refused.
    Refused,
    /// The person did not answer in time.
    NoAnswer(Duration),
    /// The approval that was sent cannot be used. The text says why.
    InvalidApproval(&'static str),
    /// Too many foreground calls run.
    Busy {
        /// How many may run at once.
        limit: usize,
    },
    /// The audit log is required and cannot be written. The text says why.
    Audit(String),
}

impl Denial {
    /// Returns the name of the reason, for programs.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::NotSelected => "not_selected",
            Self::Disabled(_) => "disabled",
            Self::Unsafe { .. } => "unsafe",
            Self::Arguments(_) => "arguments",
            Self::NotReady(_) => "not_ready",
            Self::CannotAsk { .. } => "approval_unavailable",
            Self::Refused => "approval_refused",
            Self::NoAnswer(_) => "approval_timeout",
            Self::InvalidApproval(_) => "approval_invalid",
            Self::Busy { .. } => "busy",
            Self::Audit(_) => "audit_unavailable",
        }
    }

    /// Returns the sentence for the client of a tool: what was denied and which setting allows it.
    #[must_use]
    pub fn sentence(&self, tool: &str) -> String {
        match self {
            Self::NotSelected => format!(
                "Denied: the tool {tool} is not selected; the operator's setting tools.select selects tools."
            ),
            Self::Disabled(source) => format!(
                "Denied: the tool {tool} is turned off by {source}; the operator's settings tools.disable and tools.enable decide."
            ),
            Self::Unsafe { by_name: false } => format!(
                "Denied: the tool {tool} is unsafe and not allowed; the operator's setting tools.allow_unsafe or tools.allow_unsafe_tools allows it."
            ),
            Self::Unsafe { by_name: true } => format!(
                "Denied: the tool {tool} is unsafe and not allowed; the operator's setting tools.allow_unsafe_tools allows it by name."
            ),
            Self::Arguments(wrong) => {
                let mut text = match wrong.len() {
                    1 => "One argument is wrong; nothing was sent and nothing billed.".to_owned(),
                    count => {
                        format!("{count} arguments are wrong; nothing was sent and nothing billed.")
                    }
                };
                for problem in wrong {
                    text.push_str("\n- ");
                    text.push_str(problem);
                }
                text
            }
            Self::NotReady(missing) => format!("Nothing was sent: {missing}."),
            Self::CannotAsk { worst_cost, limit } => format!(
                "Denied: this call could cost {worst_cost}, calls above {limit} need a person's approval, and this client cannot ask for one; nothing was sent. Ask for less, or have the operator raise the setting confirm_over_usd."
            ),
            Self::Refused => format!(
                "Denied: the person did not approve this call of {tool}; nothing was sent. The operator's setting confirm_over_usd decides which calls are asked about."
            ),
            Self::NoAnswer(wait) => format!(
                "Denied: nobody approved this call of {tool} within {} seconds; nothing was sent. The operator's setting confirm_over_usd decides which calls are asked about.",
                wait.as_secs()
            ),
            Self::InvalidApproval(why) => format!(
                "Denied: the approval of this call of {tool} cannot be used: {why}; nothing was sent. Call the tool again without it to be asked again. The operator's setting confirm_over_usd decides which calls are asked about."
            ),
            Self::Busy { limit } => format!(
                "Denied: {limit} calls that wait for the network already run, as many as the operator's setting max_concurrent allows; nothing was sent. Try again when one has ended."
            ),
            Self::Audit(problem) => format!(
                "Denied: the audit log is required by the operator's setting audit and cannot be written: {problem}; nothing was sent."
            ),
        }
    }
}
