//! Makes calls from the arguments of tools: the question, the most that it may cost, the time that it may take.

use std::time::Duration;

use super::Service;
use super::args::Args;
use crate::answers::question::{
    ITERATIONS, QUERIES, RESULTS_PER_QUERY, Range, Research, SECONDS, TOKENS_PER_QUERY,
};
use crate::answers::{Mode, Question, cost};
use crate::jobs::{Call, Micros, SingleUse};

/// The part of a question that every tool has.
#[must_use]
pub fn question(args: &Args) -> Question {
    let text = |name: &str| args.text(name).map(str::to_owned);
    let query = text("query").unwrap_or_default();
    Question::asking(query, text("country"), text("language"))
}

/// The question of a research.
#[must_use]
pub fn research_question(args: &Args) -> Question {
    let whole = |name: &str, range: Range| args.integer(name).unwrap_or(range.default);
    question(args).with_research(Research {
        iterations: whole("research_maximum_number_of_iterations", ITERATIONS),
        seconds: whole("research_maximum_number_of_seconds", SECONDS),
        queries: whole("research_maximum_number_of_queries", QUERIES),
        tokens_per_query: whole(
            "research_maximum_number_of_tokens_per_query",
            TOKENS_PER_QUERY,
        ),
        results_per_query: whole(
            "research_maximum_number_of_results_per_query",
            RESULTS_PER_QUERY,
        ),
        thinking: args.boolean("research_allow_thinking").unwrap_or(true),
    })
}

/// Returns the most that an answer may cost.
#[must_use]
pub const fn answer_cost(_args: &Args) -> Micros {
    cost::ANSWER
}

/// Returns the most that a research with these arguments may cost.
#[must_use]
pub fn research_cost(args: &Args) -> Micros {
    worst_cost(&research_question(args))
}

fn worst_cost(research: &Question) -> Micros {
    let queries = research.research_maximum_number_of_queries;
    cost::research(u32::try_from(queries.unwrap_or_default()).unwrap_or_default())
}

impl Service {
    /// Returns the call of a single answer.
    #[must_use]
    pub fn answer(&self, question: Question, approval: Option<SingleUse>) -> Call {
        let deadline = self.config().answer_deadline;
        let call = self.call("answers", Mode::Answer, question, cost::ANSWER, deadline);
        Call { approval, ..call }
    }

    /// Returns the call of a research.
    #[must_use]
    pub fn research(&self, question: Question, approval: Option<SingleUse>) -> Call {
        let estimate = worst_cost(&question);
        let deadline = self.config().research_deadline;
        let call = self.call("research", Mode::Research, question, estimate, deadline);
        Call { approval, ..call }
    }

    fn call(
        &self,
        tool: &str,
        mode: Mode,
        question: Question,
        estimate: Micros,
        deadline: Duration,
    ) -> Call {
        Call {
            tool: tool.to_owned(),
            mode,
            question,
            estimate,
            deadline,
            idle: self.config().idle,
            max_usd: None,
            approval: None,
            capture: self.config().capture,
            simulate: self.config().simulate.clone(),
        }
    }
}
