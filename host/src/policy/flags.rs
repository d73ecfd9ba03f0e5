//! What the policy knows about a tool.

/// Whether a tool needs the operator's permission before it can be called at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Safety {
    /// No permission is needed.
    Safe,
    /// Needs `tools.allow_unsafe`, or its name in `tools.allow_unsafe_tools`.
    Unsafe,
    /// Needs its name in `tools.allow_unsafe_tools`: `tools.allow_unsafe` does not cover it, because the tool widens
    /// what the other unsafe tools can reach.
    UnsafeUnlessNamed,
}

/// The properties of a tool that the policy decides by. There is no default: each tool states all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolFlags {
    /// A call costs money.
    pub spends: bool,
    /// The client waits while the network works, so the number of calls at once is limited.
    pub foreground: bool,
    /// It acts on hosts that its arguments name. Such a tool is unsafe whatever `safety` says.
    pub other_hosts: bool,
    /// It changes what the operator keeps.
    pub changes: bool,
    /// Whether the operator has to allow it.
    pub safety: Safety,
}

impl ToolFlags {
    /// Returns whether the operator has to allow the tool, and how.
    #[must_use]
    pub const fn effective_safety(self) -> Safety {
        match self.safety {
            Safety::Safe if self.other_hosts => Safety::Unsafe,
            safety => safety,
        }
    }
}

/// A tool as the policy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolFacts {
    /// The name of the tool.
    pub name: &'static str,
    /// The words, beside the name, that select the tool.
    pub groups: &'static [&'static str],
    /// Its properties.
    pub flags: ToolFlags,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_acts_on_other_hosts_is_unsafe() {
        let flags = |other_hosts, safety| ToolFlags {
            spends: false,
            foreground: false,
            other_hosts,
            changes: false,
            safety,
        };
        for (flags, expected) in [
            (flags(false, Safety::Safe), Safety::Safe),
            (flags(true, Safety::Safe), Safety::Unsafe),
            (
                flags(true, Safety::UnsafeUnlessNamed),
                Safety::UnsafeUnlessNamed,
            ),
        ] {
            assert_eq!(flags.effective_safety(), expected);
        }
    }
}
