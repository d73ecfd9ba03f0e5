//! The tools of the answers family: cited answers and research jobs.

use super::super::args::{Kind, Param, Presence};
use super::super::family::Family;
use super::super::planned_call;
use super::super::reply::ResultBounds;
use super::super::tool::{Hints, Spending, Tool};
use super::super::tools::{answers, jobs, research};
use crate::answers::cost::{answer_price, query_price, research_price};
use crate::answers::question::{ITERATIONS, QUERIES, RESULTS_PER_QUERY, SECONDS, TOKENS_PER_QUERY};
use crate::policy::{Safety, ToolFlags};

const QUERY: Param = Param {
    name: "query",
    kind: Kind::Text,
    presence: Presence::Required,
    description: "The question, in full sentences",
};

const COUNTRY: Param = Param {
    name: "country",
    kind: Kind::Country,
    presence: Presence::Optional,
    description: "Two letters, or ALL",
};

const LANGUAGE: Param = Param {
    name: "language",
    kind: Kind::Language,
    presence: Presence::Optional,
    description: "en or pt-br",
};

const ID: Param = Param {
    name: "research_id",
    kind: Kind::Text,
    presence: Presence::Required,
    description: "From research_submit or research",
};

/// The longest wait of one call. Many clients give up after 60 seconds, even with progress reports.
pub const LONGEST_WAIT_SECONDS: i64 = 50;

const WAIT: Param = Param {
    name: "wait_seconds",
    kind: Kind::ClampedInteger(0, LONGEST_WAIT_SECONDS),
    presence: Presence::DefaultInteger(0),
    description: "Seconds to wait for the end",
};

const ANSWERS: &[Param] = &[
    QUERY,
    COUNTRY,
    LANGUAGE,
    Param {
        name: "enable_citations",
        kind: Kind::Boolean,
        presence: Presence::DefaultBoolean(true),
        description: "[n] markers and sources",
    },
];

const RESEARCH: &[Param] = &[
    QUERY,
    COUNTRY,
    LANGUAGE,
    Param {
        name: "research_maximum_number_of_iterations",
        kind: Kind::within(ITERATIONS),
        presence: Presence::default_of(ITERATIONS),
        description: "Rounds",
    },
    Param {
        name: "research_maximum_number_of_seconds",
        kind: Kind::within(SECONDS),
        presence: Presence::default_of(SECONDS),
        description: "Soft limit",
    },
    Param {
        name: "research_allow_thinking",
        kind: Kind::Boolean,
        presence: Presence::DefaultBoolean(true),
        description: "",
    },
    Param {
        name: "research_maximum_number_of_queries",
        kind: Kind::within(QUERIES),
        presence: Presence::default_of(QUERIES),
        description: concat!("Each costs ", query_price!()),
    },
    Param {
        name: "research_maximum_number_of_tokens_per_query",
        kind: Kind::within(TOKENS_PER_QUERY),
        presence: Presence::default_of(TOKENS_PER_QUERY),
        description: "",
    },
    Param {
        name: "research_maximum_number_of_results_per_query",
        kind: Kind::within(RESULTS_PER_QUERY),
        presence: Presence::default_of(RESULTS_PER_QUERY),
        description: "",
    },
];

/// The states of a job that a client can filter by.
const STATES: &[&str] = &[
    "queued",
    "running",
    "done",
    "failed",
    "cancelled",
    "interrupted",
];

/// The most jobs in one list.
pub const LONGEST_LIST: i64 = 100;

const LIST: &[Param] = &[
    Param {
        name: "state",
        kind: Kind::OneOf(STATES),
        presence: Presence::Optional,
        description: "",
    },
    Param {
        name: "limit",
        kind: Kind::Integer(1, LONGEST_LIST),
        presence: Presence::DefaultInteger(20),
        description: "",
    },
];

const JOB: &[(&str, &str)] = &[
    ("research_id", "string"),
    ("next", "string"),
    ("note", "string"),
    ("already_running", "boolean"),
    ("progress", "string"),
    ("cost_usd", "number"),
];
const OUTCOME: &[(&str, &str)] = &[
    ("research_id", "string"),
    ("next", "string"),
    ("note", "string"),
    ("resource", "string"),
    ("answer", "string"),
    ("sources", "array"),
    ("cost_usd", "number"),
    ("complete", "boolean"),
    ("progress", "string"),
];

/// A call that costs money is not read-only, because clients run read-only tools without asking.
const ASKS_THE_WEB: Hints = Hints {
    read_only: false,
    destructive: false,
    idempotent: false,
    open_world: true,
};

const LOOKS: Hints = Hints {
    read_only: true,
    destructive: false,
    idempotent: true,
    open_world: false,
};

const FREE: ToolFlags = ToolFlags {
    spends: false,
    foreground: false,
    other_hosts: false,
    changes: false,
    safety: Safety::Safe,
};

const GROUPS: &[&str] = &["answers"];

const ANSWER_COST: Spending = Spending {
    worst_cost: planned_call::answer_cost,
    subject: "query",
};

const RESEARCH_COST: Spending = Spending {
    worst_cost: planned_call::research_cost,
    subject: "query",
};

/// The family.
pub const FAMILY: Family = Family {
    name: "answers",
    instructions: INSTRUCTIONS,
    tools: TOOLS,
    bounds: ResultBounds {
        kept: &["state", "research_id"],
        cut_first: &["sources"],
    },
    has_research: true,
};

/// What a model should know before it calls a tool of the family.
const INSTRUCTIONS: &str = concat!(
    "Cited answers and deep research from the live web. `answers` takes seconds and ",
    answer_price!(),
    ". \
For questions that need many sources: `research_submit` returns a research_id at once; call `research_result` with it \
and wait_seconds 50, again while it says running; `research_status` shows progress, `research_cancel` stops it. A \
research takes 1 to 6 minutes and costs money, so do not submit it twice: `research_list` finds a lost research_id."
);

const TOOLS: &[Tool] = &[
    Tool {
        name: "answers",
        title: "Cited answer",
        description: concat!(
            "Answers a question from the live web with [n] citations, in 10 to 30 seconds, for ",
            answer_price!(),
            ". For current facts."
        ),
        groups: GROUPS,
        params: ANSWERS,
        output: OUTCOME,
        hints: ASKS_THE_WEB,
        flags: ToolFlags {
            spends: true,
            foreground: true,
            other_hosts: false,
            changes: false,
            safety: Safety::Safe,
        },
        spending: Some(ANSWER_COST),
        run: answers::answers,
    },
    Tool {
        name: "research_submit",
        title: "Start deep research",
        description: concat!(
            "Starts deep research (1 to 6 minutes, ",
            research_price!(),
            ") in the background and returns research_id at once. Then call research_result with wait_seconds until it is done."
        ),
        groups: GROUPS,
        params: RESEARCH,
        output: JOB,
        hints: ASKS_THE_WEB,
        flags: ToolFlags {
            spends: true,
            foreground: false,
            other_hosts: false,
            changes: false,
            safety: Safety::Safe,
        },
        spending: Some(RESEARCH_COST),
        run: research::submit,
    },
    Tool {
        name: "research_status",
        title: "Research progress",
        description: "How far a research is and what it has cost so far.",
        groups: GROUPS,
        params: &[ID, WAIT],
        output: JOB,
        hints: LOOKS,
        flags: FREE,
        spending: None,
        run: jobs::status,
    },
    Tool {
        name: "research_result",
        title: "Research result",
        description: "The finished report with its sources and cost; before the end, the progress. Results are kept for a day.",
        groups: GROUPS,
        params: &[ID, WAIT],
        output: OUTCOME,
        hints: LOOKS,
        flags: FREE,
        spending: None,
        run: jobs::result,
    },
    Tool {
        name: "research",
        title: "Deep research, waiting",
        description: "Deep research that reports progress and returns the report, or after 50 seconds a research_id to go on with. Prefer research_submit for long ones.",
        groups: GROUPS,
        params: RESEARCH,
        output: OUTCOME,
        hints: ASKS_THE_WEB,
        flags: ToolFlags {
            spends: true,
            foreground: true,
            other_hosts: false,
            changes: false,
            safety: Safety::Safe,
        },
        spending: Some(RESEARCH_COST),
        run: research::research,
    },
    Tool {
        name: "research_cancel",
        title: "Cancel research",
        description: "Stops a research; what had come is kept.",
        groups: GROUPS,
        params: &[ID],
        output: JOB,
        // It stops spending and destroys nothing, so clients need not ask.
        hints: Hints {
            read_only: false,
            destructive: false,
            idempotent: true,
            open_world: false,
        },
        flags: FREE,
        spending: None,
        run: jobs::cancel,
    },
    Tool {
        name: "research_list",
        title: "Recent research",
        description: "Recent researches, newest first: finds a lost research_id.",
        groups: GROUPS,
        params: LIST,
        output: &[("jobs", "array")],
        hints: LOOKS,
        flags: FREE,
        spending: None,
        run: jobs::list,
    },
];
