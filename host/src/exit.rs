//! The exit statuses of all commands.

use std::process::ExitCode;

/// The exit status of a command. Scripts depend on these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Done,
    /// A trap, a limit, another 422, or an unknown or expired id.
    Failed,
    /// Invalid usage.
    Usage,
    /// A missing or invalid key, no plan, 403 or 404.
    Key,
    /// 402, 429, or the budget.
    Money,
    /// A connection error, TLS, a redirect, 5xx, an error event or a time-out.
    Upstream,
    /// No error, but the result is incomplete or truncated.
    Incomplete,
    /// The job has not ended.
    Running,
    /// Interrupted by the user.
    Interrupted,
}

impl Exit {
    /// Returns the number of the status.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Key => 3,
            Self::Money => 4,
            Self::Upstream => 5,
            Self::Incomplete => 6,
            Self::Running => 7,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
