//! The tools: one hand-written table of what each is called, takes, gives, may do, and what carries it out.
//!
//! No field has a default. A tool whose flags somebody forgot would be one that nothing holds back.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use rmcp::model::{Tool as Listed, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::Service;
use super::args::{Absent, Args, Kind, Param, schema};
use super::reply::Reply;
use super::tool_call::ToolCall;
use super::tools::{answers, jobs, research, status};
use crate::answers::cost::{answer_price, query_price, research_price};
use crate::answers::question::{ITERATIONS, QUERIES, RESULTS_PER_QUERY, SECONDS, TOKENS_PER_QUERY};

/// What a client may assume of a tool, as MCP's annotations.
#[derive(Clone, Copy, Debug)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: bool,
    /// It can undo what somebody wanted.
    pub destructive: bool,
    /// Once more changes nothing more.
    pub idempotent: bool,
    /// It reaches the open web.
    pub open_world: bool,
}

/// What a policy needs to know of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// A call costs money.
    pub spends: bool,
    /// The client waits while the upstream works, so that only so many may run at once.
    pub foreground: bool,
    /// It can be made to act on hosts other than the configured upstream.
    pub other_hosts: bool,
}

/// What carries a tool out.
pub type Run = for<'a> fn(&'a Service, Args, &'a ToolCall) -> BoxFuture<'a, Reply>;

/// One tool.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// Its name, which people have in their configurations and prompts.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does and when to use it, for the model.
    pub about: &'static str,
    /// What it takes.
    pub params: &'static [Param],
    /// The members of its structured content beside `state`, with their types.
    pub gives: &'static [(&'static str, &'static str)],
    /// What a client may assume.
    pub hints: Hints,
    /// What a policy needs to know.
    pub policy: Policy,
    /// What carries it out.
    pub run: Run,
}

impl Tool {
    /// The tool of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == name)
    }

    /// As clients see it; `structured` says whether structured content is announced.
    #[must_use]
    pub fn listed(&self, structured: bool) -> Listed {
        let about = Cow::Borrowed(self.about);
        let mut listed = Listed::new(self.name, about, Arc::new(schema(self.params)));
        listed.annotations = Some(ToolAnnotations::from_raw(
            Some(self.title.to_owned()),
            Some(self.hints.read_only),
            Some(self.hints.destructive),
            Some(self.hints.idempotent),
            Some(self.hints.open_world),
        ));
        if structured {
            listed.output_schema = Some(Arc::new(self.output()));
        }
        listed
    }

    /// Top-level keys only: whoever needs the shape of an outcome finds it in the documentation, and what
    /// the upstream adds one day breaks no client.
    fn output(&self) -> Map<String, Value> {
        let mut properties = Map::new();
        properties.insert("state".into(), json!({ "type": "string" }));
        for (name, kind) in self.gives {
            properties.insert((*name).to_owned(), json!({ "type": kind }));
        }
        let mut output = Map::new();
        output.insert("type".into(), "object".into());
        output.insert("properties".into(), Value::Object(properties));
        output.insert("required".into(), json!(["state"]));
        output
    }
}

const QUERY: Param = Param {
    name: "query",
    kind: Kind::Text,
    absent: Absent::Refused,
    about: "The question, in full sentences",
};

const COUNTRY: Param = Param {
    name: "country",
    kind: Kind::Country,
    absent: Absent::Nothing,
    about: "Two letters, or ALL",
};

const LANGUAGE: Param = Param {
    name: "language",
    kind: Kind::Language,
    absent: Absent::Nothing,
    about: "en or pt-br",
};

const ID: Param = Param {
    name: "research_id",
    kind: Kind::Text,
    absent: Absent::Refused,
    about: "From research_submit or research",
};

/// The longest wait of one call. Many clients give up after 60 seconds, whatever is reported meanwhile.
pub const LONGEST_WAIT_SECONDS: i64 = 50;

const WAIT: Param = Param {
    name: "wait_seconds",
    kind: Kind::Clamped(0, LONGEST_WAIT_SECONDS),
    absent: Absent::Whole(0),
    about: "Seconds to wait for the end",
};

const ANSWERS: &[Param] = &[
    QUERY,
    COUNTRY,
    LANGUAGE,
    Param {
        name: "enable_citations",
        kind: Kind::Flag,
        absent: Absent::Flag(true),
        about: "[n] markers and sources",
    },
];

const RESEARCH: &[Param] = &[
    QUERY,
    COUNTRY,
    LANGUAGE,
    Param {
        name: "research_maximum_number_of_iterations",
        kind: Kind::within(ITERATIONS),
        absent: Absent::default_of(ITERATIONS),
        about: "Rounds",
    },
    Param {
        name: "research_maximum_number_of_seconds",
        kind: Kind::within(SECONDS),
        absent: Absent::default_of(SECONDS),
        about: "Soft limit",
    },
    Param {
        name: "research_allow_thinking",
        kind: Kind::Flag,
        absent: Absent::Flag(true),
        about: "",
    },
    Param {
        name: "research_maximum_number_of_queries",
        kind: Kind::within(QUERIES),
        absent: Absent::default_of(QUERIES),
        about: concat!("Each costs ", query_price!()),
    },
    Param {
        name: "research_maximum_number_of_tokens_per_query",
        kind: Kind::within(TOKENS_PER_QUERY),
        absent: Absent::default_of(TOKENS_PER_QUERY),
        about: "",
    },
    Param {
        name: "research_maximum_number_of_results_per_query",
        kind: Kind::within(RESULTS_PER_QUERY),
        absent: Absent::default_of(RESULTS_PER_QUERY),
        about: "",
    },
];

/// The states of a job, as a client may ask for them.
const STATES: &[&str] = &[
    "queued",
    "running",
    "done",
    "failed",
    "cancelled",
    "interrupted",
];

/// The most jobs that one list shows.
pub const LONGEST_LIST: i64 = 100;

const LIST: &[Param] = &[
    Param {
        name: "state",
        kind: Kind::Word(STATES),
        absent: Absent::Nothing,
        about: "",
    },
    Param {
        name: "limit",
        kind: Kind::Whole(1, LONGEST_LIST),
        absent: Absent::Whole(20),
        about: "",
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

/// A call that costs money is not read-only: clients run what is read-only without asking.
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

const FREE: Policy = Policy {
    spends: false,
    foreground: false,
    other_hosts: false,
};

/// Every tool, in the order in which it is listed.
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "answers",
        title: "Cited answer",
        about: concat!(
            "Answers a question from the live web with [n] citations, in 10 to 30 seconds, for ",
            answer_price!(),
            ". For current facts."
        ),
        params: ANSWERS,
        gives: OUTCOME,
        hints: ASKS_THE_WEB,
        policy: Policy {
            spends: true,
            foreground: true,
            other_hosts: false,
        },
        run: answers::answers,
    },
    Tool {
        name: "research_submit",
        title: "Start deep research",
        about: concat!(
            "Starts deep research (1 to 6 minutes, ",
            research_price!(),
            ") in the background and returns research_id at once. Then call research_result with wait_seconds until it is done."
        ),
        params: RESEARCH,
        gives: JOB,
        hints: ASKS_THE_WEB,
        policy: Policy {
            spends: true,
            foreground: false,
            other_hosts: false,
        },
        run: research::submit,
    },
    Tool {
        name: "research_status",
        title: "Research progress",
        about: "How far a research is and what it has cost so far.",
        params: &[ID, WAIT],
        gives: JOB,
        hints: LOOKS,
        policy: FREE,
        run: jobs::status,
    },
    Tool {
        name: "research_result",
        title: "Research result",
        about: "The finished report with its sources and cost; before the end, the progress. Results are kept for a day.",
        params: &[ID, WAIT],
        gives: OUTCOME,
        hints: LOOKS,
        policy: FREE,
        run: jobs::result,
    },
    Tool {
        name: "research",
        title: "Deep research, waiting",
        about: "Deep research that reports progress and returns the report, or after 50 seconds a research_id to go on with. Prefer research_submit for long ones.",
        params: RESEARCH,
        gives: OUTCOME,
        hints: ASKS_THE_WEB,
        policy: Policy {
            spends: true,
            foreground: true,
            other_hosts: false,
        },
        run: research::research,
    },
    Tool {
        name: "research_cancel",
        title: "Cancel research",
        about: "Stops a research; what had come is kept.",
        params: &[ID],
        gives: JOB,
        // What stops spending and destroys nothing should need no approval.
        hints: Hints {
            read_only: false,
            destructive: false,
            idempotent: true,
            open_world: false,
        },
        policy: FREE,
        run: jobs::cancel,
    },
    Tool {
        name: "research_list",
        title: "Recent research",
        about: "Recent researches, newest first: finds a lost research_id.",
        params: LIST,
        gives: &[("jobs", "array")],
        hints: LOOKS,
        policy: FREE,
        run: jobs::list,
    },
    Tool {
        name: "status",
        title: "Server status",
        about: "Version, key, sandbox limits, spend and budget, running jobs.",
        params: &[],
        gives: &[
            ("version", "string"),
            ("key", "string"),
            ("sandbox", "object"),
            ("spend", "object"),
            ("jobs", "array"),
            ("advice", "array"),
        ],
        hints: LOOKS,
        policy: FREE,
        run: status::status,
    },
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_list_stays_small() {
        let listed: Vec<_> = TOOLS.iter().map(|tool| tool.listed(true)).collect();
        let bytes = serde_json::to_vec(&listed).unwrap().len();
        assert!(bytes < 8 << 10, "{bytes} bytes");
    }

    #[test]
    fn names_differ_and_are_short() {
        for (index, tool) in TOOLS.iter().enumerate() {
            assert!(tool.name.len() <= 32);
            assert_eq!(
                TOOLS.iter().position(|other| other.name == tool.name),
                Some(index)
            );
        }
    }
}
