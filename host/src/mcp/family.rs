//! Families of tools: each is a table of tools, with instructions for the model and bounds of its results.

use super::reply::ResultBounds;
use super::tool::Tool;
use crate::policy::{Policy, ToolFacts};

/// A family of tools.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// What a model should know before it calls a tool of the family.
    pub instructions: &'static str,
    /// Its tools, in the order in which they are listed.
    pub tools: &'static [Tool],
    /// How its results are cut.
    pub bounds: ResultBounds,
    /// Whether the resources and prompts of research jobs belong to it.
    pub has_research: bool,
}

/// The families that a server serves.
#[derive(Clone, Copy, Debug)]
pub struct Families(pub &'static [Family]);

impl Families {
    /// Returns every tool, with its family.
    pub fn tools(self) -> impl Iterator<Item = (&'static Family, &'static Tool)> {
        let families = self.0.iter();
        families.flat_map(|family| family.tools.iter().map(move |tool| (family, tool)))
    }

    /// Returns the tool of that name, with its family.
    #[must_use]
    pub fn tool(self, name: &str) -> Option<(&'static Family, &'static Tool)> {
        self.tools().find(|(_, tool)| tool.name == name)
    }

    /// Returns the tools as the policy sees them.
    #[must_use]
    pub fn facts(self) -> Vec<ToolFacts> {
        self.tools().map(|(_, tool)| tool.facts()).collect()
    }

    /// Returns the instructions of the families of which a tool is listed.
    #[must_use]
    pub fn instructions(self, policy: &Policy) -> String {
        let listed = self.0.iter().filter(|family| lists(policy, family));
        let texts = listed.map(|family| family.instructions);
        texts
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("\n\n")
    }

    /// Returns whether research jobs, and so their resources and prompts, are served.
    #[must_use]
    pub fn serve_research(self, policy: &Policy) -> bool {
        self.0
            .iter()
            .any(|family| family.has_research && lists(policy, family))
    }

    /// Returns how results about research jobs are cut.
    #[must_use]
    pub fn research_bounds(self) -> ResultBounds {
        let family = self.0.iter().find(|family| family.has_research);
        family.map_or(ResultBounds::STATE, |family| family.bounds)
    }
}

fn lists(policy: &Policy, family: &Family) -> bool {
    family.tools.iter().any(|tool| policy.lists(tool.name))
}
