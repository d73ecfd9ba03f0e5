//! From a tool's arguments to a call: what is asked, what it may cost, how long it may take.

use std::time::Duration;

use super::Service;
use super::args::Args;
use crate::jobs::{Call, Micros};
use crate::policy::estimate;
use crate::sandbox::answers::{Mode, Question};

/// The model that every call names.
const MODEL: &str = "brave";

/// The part of a question that every tool has.
#[must_use]
pub fn question(args: &Args) -> Question {
    Question {
        model: Some(MODEL.to_owned()),
        stream: Some(true),
        country: args.text("country").map(str::to_owned),
        language: args.text("language").map(str::to_owned),
        ..Question::about(args.text("query").unwrap_or_default().to_owned())
    }
}

/// The question of a research.
#[must_use]
pub fn research_question(args: &Args) -> Question {
    Question {
        enable_research: Some(true),
        research_allow_thinking: args.flag("research_allow_thinking"),
        research_maximum_number_of_tokens_per_query: args
            .whole("research_maximum_number_of_tokens_per_query"),
        research_maximum_number_of_queries: args.whole("research_maximum_number_of_queries"),
        research_maximum_number_of_iterations: args.whole("research_maximum_number_of_iterations"),
        research_maximum_number_of_seconds: args.whole("research_maximum_number_of_seconds"),
        research_maximum_number_of_results_per_query: args
            .whole("research_maximum_number_of_results_per_query"),
        ..question(args)
    }
}

impl Service {
    /// The call of a single answer.
    #[must_use]
    pub fn answer(&self, question: Question) -> Call {
        let deadline = self.config().answer_deadline;
        self.call(
            "answers",
            Mode::Answer,
            question,
            estimate::ANSWER,
            deadline,
        )
    }

    /// The call of a research.
    #[must_use]
    pub fn research(&self, question: Question) -> Call {
        let queries = question
            .research_maximum_number_of_queries
            .unwrap_or_default();
        let estimate = estimate::research(u32::try_from(queries).unwrap_or_default());
        let deadline = self.config().research_deadline;
        self.call("research", Mode::Research, question, estimate, deadline)
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
            capture: self.config().capture,
            simulate: self.config().simulate.clone(),
        }
    }
}
