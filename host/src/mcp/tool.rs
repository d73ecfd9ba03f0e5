//! A tool: its name, its parameters, its result, what a client and the policy may assume, and the function that runs it.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use rmcp::model::{Tool as Listed, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::Service;
use super::args::{Args, Param, schema};
use super::reply::Reply;
use super::tool_call::ToolCall;
use crate::money::Micros;
use crate::policy::{ToolFacts, ToolFlags};

/// What a client may assume about a tool, as MCP's annotations.
#[derive(Clone, Copy, Debug)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: bool,
    /// It can undo something that somebody wanted.
    pub destructive: bool,
    /// A second call with the same arguments changes nothing more.
    pub idempotent: bool,
    /// It reaches the open web.
    pub open_world: bool,
}

/// What a call of a tool that costs money can cost.
#[derive(Clone, Copy, Debug)]
pub struct Spending {
    /// Returns the most that a call with these arguments may cost.
    pub worst_cost: fn(&Args) -> Micros,
    /// The parameter that a person is shown who is asked for approval.
    pub subject: &'static str,
}

/// The function that runs a tool.
pub type Run = for<'a> fn(&'a Service, Args, &'a ToolCall) -> BoxFuture<'a, Reply>;

/// One tool. No field has a default: a tool whose flags somebody forgot would be one that nothing holds back.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// Its name, which people have in their configurations and prompts.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does and when to use it, for the model.
    pub description: &'static str,
    /// The words, beside the name, that select it.
    pub groups: &'static [&'static str],
    /// Its parameters.
    pub params: &'static [Param],
    /// The members of its structured content beside `state`, with their types.
    pub output: &'static [(&'static str, &'static str)],
    /// What a client may assume.
    pub hints: Hints,
    /// What the policy decides by.
    pub flags: ToolFlags,
    /// What a call can cost; `None` exactly where the flags say that it costs nothing.
    pub spending: Option<Spending>,
    /// The function that runs it.
    pub run: Run,
}

impl Tool {
    /// Returns the tool as the policy sees it.
    #[must_use]
    pub const fn facts(&self) -> ToolFacts {
        ToolFacts {
            name: self.name,
            groups: self.groups,
            flags: self.flags,
        }
    }

    /// Returns the tool as clients see it. `structured` says whether structured content is announced.
    #[must_use]
    pub fn listed(&self, structured: bool) -> Listed {
        let description = Cow::Borrowed(self.description);
        let mut listed = Listed::new(self.name, description, Arc::new(schema(self.params)));
        listed.annotations = Some(ToolAnnotations::from_raw(
            Some(self.title.to_owned()),
            Some(self.hints.read_only),
            Some(self.hints.destructive),
            Some(self.hints.idempotent),
            Some(self.hints.open_world),
        ));
        if structured {
            listed.output_schema = Some(Arc::new(self.output_schema()));
        }
        listed
    }

    /// Returns the output schema, which names top-level keys only: the shape of an outcome is in the documentation, and a
    /// key that the upstream adds breaks no client.
    fn output_schema(&self) -> Map<String, Value> {
        let mut properties = Map::new();
        properties.insert("state".into(), json!({ "type": "string" }));
        for (name, kind) in self.output {
            properties.insert((*name).to_owned(), json!({ "type": kind }));
        }
        let mut output = Map::new();
        output.insert("type".into(), "object".into());
        output.insert("properties".into(), Value::Object(properties));
        output.insert("required".into(), json!(["state"]));
        output
    }
}
