//! The exit statuses, one table for every command.

use std::process::ExitCode;

/// How a command ended, as the shell sees it. People script against these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// A trap, a limit, any other 422, an unknown or expired id.
    Failed,
    /// Bad usage.
    Usage,
    /// No key or a bad one, no plan, 403, 404.
    Key,
    /// 402, 429, or the budget.
    Money,
    /// Connect, TLS, redirect, 5xx, an error event, a time-out.
    Upstream,
    /// No error, but incomplete or truncated.
    Incomplete,
    /// Not ended yet.
    Running,
    /// Interrupted by the user.
    Interrupted,
}

impl Exit {
    /// The number given to the shell.
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
