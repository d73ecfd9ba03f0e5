//! The operator's settings about tools, checked against the tools there are.

use thiserror::Error;

use super::flags::{Safety, ToolFacts};
use crate::money::Micros;

/// The word that selects every tool.
pub const ALL: &str = "all";

/// An entry of the settings that turns a tool on or off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toggle {
    /// The name of the tool.
    pub tool: String,
    /// Whether the tool is turned on.
    pub on: bool,
    /// Where the entry is, for a person.
    pub source: String,
}

/// The operator's settings about tools, as they were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Groups and names of the tools that are selected.
    pub select: Vec<String>,
    /// What is turned on and off. The first entry about a tool counts.
    pub toggles: Vec<Toggle>,
    /// Whether unsafe tools are allowed that need not be named.
    pub allow_unsafe: bool,
    /// Names of unsafe tools that are allowed.
    pub allow_unsafe_tools: Vec<String>,
    /// The cost above which a call needs a person's approval.
    pub confirm_over: Option<Micros>,
    /// How many foreground calls may run at once.
    pub max_concurrent: usize,
}

/// Whether a tool can be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It is listed and can be called.
    Available,
    /// It is not selected.
    NotSelected,
    /// It is turned off. The text says where.
    Disabled(String),
    /// It is unsafe and not allowed.
    UnsafeNotAllowed {
        /// Whether its name has to be listed.
        by_name: bool,
    },
}

/// Why settings about tools cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PolicyError {
    /// A name is no tool.
    #[error("{setting} names {name:?}, which is no tool; there are: {known}")]
    UnknownTool {
        /// The setting or the place that has the name.
        setting: String,
        /// The name.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The tool is not unsafe.
    #[error("tools.allow_unsafe_tools names {0:?}, which is not an unsafe tool; remove it there")]
    NotUnsafe(String),
    /// Nothing is selected.
    #[error("tools.select selects no tool; name a group or tools")]
    NothingSelected,
}

/// A snapshot of the operator's settings about tools. It does not change; a change of the settings makes a new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    tools: Vec<(ToolFacts, Availability)>,
    confirm_over: Option<Micros>,
    max_concurrent: usize,
    allows_unsafe: bool,
}

impl Policy {
    /// Checks settings against the tools there are.
    ///
    /// # Errors
    /// The first name that is wrong.
    pub fn new(tools: &[ToolFacts], rules: &Rules) -> Result<Self, PolicyError> {
        check_names(tools, rules)?;
        let allows_unsafe = rules.allow_unsafe || !rules.allow_unsafe_tools.is_empty();
        let tools = tools
            .iter()
            .map(|tool| (*tool, availability(tool, rules)))
            .collect();
        Ok(Self {
            tools,
            confirm_over: rules.confirm_over,
            max_concurrent: rules.max_concurrent,
            allows_unsafe,
        })
    }

    /// Returns whether a tool can be called. A tool that is not known is not selected.
    #[must_use]
    pub fn availability(&self, tool: &str) -> &Availability {
        let found = self.tools.iter().find(|(known, _)| known.name == tool);
        found.map_or(&Availability::NotSelected, |(_, availability)| availability)
    }

    /// Returns whether a tool is listed.
    #[must_use]
    pub fn lists(&self, tool: &str) -> bool {
        *self.availability(tool) == Availability::Available
    }

    /// Returns the names of the tools that are listed.
    #[must_use]
    pub fn listed(&self) -> Vec<&'static str> {
        let available = self.tools.iter();
        available
            .filter(|(_, availability)| *availability == Availability::Available)
            .map(|(tool, _)| tool.name)
            .collect()
    }

    /// Returns the cost above which a call needs a person's approval.
    #[must_use]
    pub const fn confirm_over(&self) -> Option<Micros> {
        self.confirm_over
    }

    /// Returns how many foreground calls may run at once.
    #[must_use]
    pub const fn max_concurrent(&self) -> usize {
        self.max_concurrent
    }

    /// Returns whether any unsafe tool is allowed.
    #[must_use]
    pub const fn allows_unsafe(&self) -> bool {
        self.allows_unsafe
    }
}

fn availability(tool: &ToolFacts, rules: &Rules) -> Availability {
    let selects =
        |word: &String| word == ALL || word == tool.name || tool.groups.contains(&word.as_str());
    if !rules.select.iter().any(selects) {
        return Availability::NotSelected;
    }
    let toggle = rules.toggles.iter().find(|toggle| toggle.tool == tool.name);
    if let Some(toggle) = toggle.filter(|toggle| !toggle.on) {
        return Availability::Disabled(toggle.source.clone());
    }
    let named = rules
        .allow_unsafe_tools
        .iter()
        .any(|name| name == tool.name);
    match tool.flags.effective_safety() {
        Safety::Unsafe if !named && !rules.allow_unsafe => {
            Availability::UnsafeNotAllowed { by_name: false }
        }
        Safety::UnsafeUnlessNamed if !named => Availability::UnsafeNotAllowed { by_name: true },
        _ => Availability::Available,
    }
}

fn check_names(tools: &[ToolFacts], rules: &Rules) -> Result<(), PolicyError> {
    let tool = |name: &str| tools.iter().find(|tool| tool.name == name);
    let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
    let unknown = |setting: &str, name: &str, known: &[&str]| PolicyError::UnknownTool {
        setting: setting.to_owned(),
        name: name.chars().take(64).collect(),
        known: known.join(", "),
    };
    if rules.select.is_empty() {
        return Err(PolicyError::NothingSelected);
    }
    let mut words: Vec<&str> = vec![ALL];
    for group in tools.iter().flat_map(|tool| tool.groups) {
        if !words.contains(group) {
            words.push(group);
        }
    }
    words.extend(&names);
    for word in &rules.select {
        if !words.contains(&word.as_str()) {
            return Err(unknown("tools.select", word, &words));
        }
    }
    for toggle in &rules.toggles {
        if tool(&toggle.tool).is_none() {
            return Err(unknown(&toggle.source, &toggle.tool, &names));
        }
    }
    for name in &rules.allow_unsafe_tools {
        match tool(name) {
            None => return Err(unknown("tools.allow_unsafe_tools", name, &names)),
            Some(tool) if tool.flags.effective_safety() == Safety::Safe => {
                return Err(PolicyError::NotUnsafe(name.clone()));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::flags::ToolFlags;
    use super::*;

    const fn tool(
        name: &'static str,
        groups: &'static [&'static str],
        safety: Safety,
    ) -> ToolFacts {
        ToolFacts {
            name,
            groups,
            flags: ToolFlags {
                spends: false,
                foreground: false,
                other_hosts: false,
                changes: false,
                safety,
            },
        }
    }

    const TOOLS: [ToolFacts; 4] = [
        tool("read", &["core", "more"], Safety::Safe),
        tool("write", &["more"], Safety::Safe),
        tool("send", &["more"], Safety::Unsafe),
        tool("widen", &["more"], Safety::UnsafeUnlessNamed),
    ];

    fn rules(select: &[&str]) -> Rules {
        Rules {
            select: select.iter().map(|word| (*word).to_owned()).collect(),
            toggles: Vec::new(),
            allow_unsafe: false,
            allow_unsafe_tools: Vec::new(),
            confirm_over: None,
            max_concurrent: 1,
        }
    }

    #[test]
    fn groups_and_names_select() {
        for (select, expected) in [
            (&["core"][..], &["read"][..]),
            (&["more"], &["read", "write"]),
            (&["all"], &["read", "write"]),
            (&["write", "send"], &["write"]),
        ] {
            let policy = Policy::new(&TOOLS, &rules(select)).unwrap();
            assert_eq!(policy.listed(), expected, "{select:?}");
        }
    }

    #[test]
    fn the_first_toggle_counts() {
        let toggle = |on, source: &str| Toggle {
            tool: "write".to_owned(),
            on,
            source: source.to_owned(),
        };
        let mut rules = rules(&["all"]);
        rules.toggles = vec![toggle(false, "a flag"), toggle(true, "the file")];
        let policy = Policy::new(&TOOLS, &rules).unwrap();
        let off = Availability::Disabled("a flag".to_owned());
        assert_eq!(*policy.availability("write"), off);
        rules.toggles.reverse();
        assert!(Policy::new(&TOOLS, &rules).unwrap().lists("write"));
    }

    #[test]
    fn allowing_unsafe_tools_does_not_cover_those_that_must_be_named() {
        let mut rules = rules(&["all"]);
        rules.allow_unsafe = true;
        let policy = Policy::new(&TOOLS, &rules).unwrap();
        assert_eq!(policy.listed(), ["read", "write", "send"]);
        rules.allow_unsafe = false;
        rules.allow_unsafe_tools = vec!["widen".to_owned()];
        let policy = Policy::new(&TOOLS, &rules).unwrap();
        assert_eq!(policy.listed(), ["read", "write", "widen"]);
    }

    #[test]
    fn unknown_names_are_errors() {
        let refused = |rules: &Rules| Policy::new(&TOOLS, rules).unwrap_err().to_string();
        assert!(refused(&rules(&["corn"])).contains("\"corn\""));
        assert!(refused(&rules(&[])).contains("tools.select"));
        let mut wrong = rules(&["all"]);
        wrong.allow_unsafe_tools = vec!["read".to_owned()];
        assert!(refused(&wrong).contains("not an unsafe tool"));
        wrong.allow_unsafe_tools = vec!["rad".to_owned()];
        assert!(refused(&wrong).contains("\"rad\""));
    }
}
