//! The tools of the traffic family that need no captured traffic.

use super::super::args::{Kind, Param, Presence};
use super::super::family::Family;
use super::super::reply::ResultBounds;
use super::super::tool::{Hints, Tool};
use super::super::tools::audit;
use crate::policy::{Safety, ToolFlags};

/// The most events that one call gives.
pub const MOST_EVENTS: i64 = 200;

/// The decisions that events can have.
const DECISIONS: &[&str] = &[
    "allowed",
    "approved",
    "denied",
    "ok",
    "error",
    "input_required",
    "cancelled",
];

/// The family.
pub const FAMILY: Family = Family {
    name: "traffic",
    instructions: "`ai_audit_query` shows what was called on this server lately and what was denied.",
    tools: TOOLS,
    bounds: ResultBounds {
        kept: &["state"],
        cut_first: &["events"],
    },
    has_research: false,
};

const TOOLS: &[Tool] = &[Tool {
    name: "ai_audit_query",
    title: "Audit log",
    description: "The newest events of the audit log: calls of tools, denials, changes of the policy. No contents of calls.",
    groups: &["traffic-core", "traffic"],
    params: &[
        Param {
            name: "n",
            kind: Kind::Integer(1, MOST_EVENTS),
            presence: Presence::DefaultInteger(20),
            description: "How many, the newest first",
        },
        Param {
            name: "tool",
            kind: Kind::Text,
            presence: Presence::Optional,
            description: "Only events of this tool",
        },
        Param {
            name: "decision",
            kind: Kind::OneOf(DECISIONS),
            presence: Presence::Optional,
            description: "",
        },
    ],
    output: &[("events", "array")],
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
    run: audit::query,
}];
