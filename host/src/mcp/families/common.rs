//! Tools that every selection has.

use super::super::args::Param;
use super::super::family::Family;
use super::super::reply::ResultBounds;
use super::super::tool::{Hints, Tool};
use super::super::tools::status;
use crate::policy::{Safety, ToolFlags};

const NO_PARAMETERS: &[Param] = &[];

/// The family.
pub const FAMILY: Family = Family {
    name: "common",
    instructions: "",
    tools: TOOLS,
    bounds: ResultBounds {
        kept: &["state"],
        cut_first: &["jobs"],
    },
    has_research: false,
};

const TOOLS: &[Tool] = &[Tool {
    name: "status",
    title: "Server status",
    description: "Version, key, sandbox limits, spend and budget, running jobs.",
    groups: &["answers", "traffic-core", "traffic"],
    params: NO_PARAMETERS,
    output: &[
        ("version", "string"),
        ("key", "string"),
        ("sandbox", "object"),
        ("spend", "object"),
        ("jobs", "array"),
        ("advice", "array"),
    ],
    hints: Hints {
        read_only: true,
        destructive: false,
        idempotent: true,
        open_world: false,
    },
    flags: ToolFlags {
        spends: false,
        foreground: false,
        other_hosts: false,
        changes: false,
        safety: Safety::Safe,
    },
    spending: None,
    run: status::status,
}];
