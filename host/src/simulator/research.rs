//! Generates a research reply within the limits of its request.

use std::time::Duration;

use serde::Serialize;

use super::content::{Source, slug, sources, topic};
use super::events::Usage;
use super::python_json::tag;
use super::validation::RequestFields;

/// A delta with the delay before it at pace 1.
pub type DelayedDelta = (Duration, String);

/// The iterations of a research of medium breadth.
const ITERATIONS: u64 = 3;
/// The measured duration of an iteration in seconds.
const ITERATION_SECONDS: f64 = 24.5;
/// The pages read per query.
const PAGES_PER_QUERY: u64 = 30;
/// The passages read per query.
const PASSAGES_PER_QUERY: u64 = 80;
/// The tokens read per query with the default limit of 8192 tokens per query.
const TOKENS_IN_PER_QUERY: u64 = 11_363;
/// The tokens written per iteration.
const TOKENS_OUT_PER_ITERATION: u64 = 422;
/// The progress tags per iteration.
const REPORTS_PER_ITERATION: u64 = 4;

/// Suffixes that turn a topic into queries.
const QUERY_SUFFIXES: [&str; 8] = [
    "overview",
    "latest results 2026",
    "limits and criticism",
    "comparison of approaches",
    "figures by year",
    "expert opinion",
    "case studies",
    "outlook",
];

#[derive(Serialize)]
struct Progress {
    elasped_seconds: f64,
    number_of_iterations: u64,
    number_of_queries: u64,
    number_of_urls_analyzed: u64,
    number_of_snippets_analyzed: u64,
    number_of_input_tokens: u64,
    number_of_thinking_tokens: u64,
    number_of_output_tokens: u64,
}

#[derive(Serialize)]
struct Analyzing<'a> {
    query: &'a str,
    urls: u64,
    new_urls: u64,
}

#[derive(Serialize)]
struct Thinking<'a> {
    query: &'a str,
    chunks_analyzed: u64,
    chunks_selected: u64,
    urls_analyzed: u64,
    urls_selected: Vec<&'a str>,
}

struct State<'a> {
    fields: &'a RequestFields,
    topic: String,
    sources: Vec<Source>,
    queries: u64,
    seconds: f64,
    deltas: Vec<DelayedDelta>,
}

/// Returns the deltas of a research and its usage.
pub fn research(question: &str, fields: &RequestFields) -> (Vec<DelayedDelta>, Usage) {
    let topic = topic(question);
    let sources = sources(&topic);
    let mut state = State {
        fields,
        topic,
        sources,
        queries: 0,
        seconds: 0.0,
        deltas: Vec::new(),
    };
    let mut iterations = 0;
    while iterations < ITERATIONS.min(fields.iterations) && state.starts_another(iterations) {
        iterations += 1;
        state.iteration(iterations);
    }
    let usage = Usage {
        queries: state.queries,
        tokens_in: state.tokens_in(),
        tokens_out: iterations * TOKENS_OUT_PER_ITERATION + 600,
    };
    state.after(
        0.2 * ITERATION_SECONDS,
        answer(&state.topic, &state.sources, state.queries),
    );
    (state.deltas, usage)
}

impl State<'_> {
    /// Returns whether another iteration starts. The limit on seconds is soft: an iteration that started is completed.
    #[allow(clippy::cast_precision_loss)] // at most 300
    fn starts_another(&self, iterations: u64) -> bool {
        iterations == 0
            || (self.queries < self.fields.queries && self.seconds < self.fields.seconds as f64)
    }

    fn tokens_in(&self) -> u64 {
        self.queries * TOKENS_IN_PER_QUERY * self.fields.tokens_per_query / 8192
    }

    fn after(&mut self, seconds: f64, delta: String) {
        self.deltas.push((Duration::from_secs_f64(seconds), delta));
    }

    fn iteration(&mut self, iteration: u64) {
        let queries = self.next_queries(iteration);
        self.after(
            0.1 * ITERATION_SECONDS,
            tag("queries", &serde_json::json!({ "queries": queries })),
        );
        for query in &queries {
            let analyzing = Analyzing {
                query,
                urls: PAGES_PER_QUERY,
                new_urls: PAGES_PER_QUERY - 2 * (iteration - 1),
            };
            self.after(0.05 * ITERATION_SECONDS, tag("analyzing", &analyzing));
        }
        let queries_before = self.queries;
        #[allow(clippy::cast_precision_loss)] // small numbers
        for report in 1..=REPORTS_PER_ITERATION {
            self.queries =
                queries_before + (queries.len() as u64 * report).div_ceil(REPORTS_PER_ITERATION);
            self.seconds += ITERATION_SECONDS / REPORTS_PER_ITERATION as f64;
            self.progress(iteration);
        }
        if self.fields.thinking {
            for query in &queries {
                self.thinking(query);
            }
        }
        if iteration < ITERATIONS.min(self.fields.iterations) {
            let gap = format!("No source gives figures on {} before 2021.", self.topic);
            self.after(0.0, tag("blindspots", &[gap]));
        }
    }

    fn next_queries(&self, iteration: u64) -> Vec<String> {
        let wanted = iteration.min(self.fields.queries - self.queries).max(1);
        let first = usize::try_from(self.queries).unwrap_or_default();
        let angles = QUERY_SUFFIXES
            .iter()
            .cycle()
            .skip(first)
            .take(usize::try_from(wanted).unwrap_or(1));
        angles
            .map(|angle| format!("{} {angle}", self.topic))
            .collect()
    }

    fn thinking(&mut self, query: &str) {
        let selected: Vec<String> = self
            .sources
            .iter()
            .map(|source| source.url.clone())
            .collect();
        let thinking = Thinking {
            query,
            chunks_analyzed: PASSAGES_PER_QUERY,
            chunks_selected: PASSAGES_PER_QUERY / 5,
            urls_analyzed: PAGES_PER_QUERY.min(self.fields.results_per_query),
            urls_selected: selected.iter().map(String::as_str).collect(),
        };
        self.after(0.02 * ITERATION_SECONDS, tag("thinking", &thinking));
    }

    fn progress(&mut self, iteration: u64) {
        let progress = Progress {
            elasped_seconds: (self.seconds * 10.0).round() / 10.0,
            number_of_iterations: iteration,
            number_of_queries: self.queries,
            number_of_urls_analyzed: self.queries
                * PAGES_PER_QUERY.min(self.fields.results_per_query),
            number_of_snippets_analyzed: self.queries * PASSAGES_PER_QUERY,
            number_of_input_tokens: self.tokens_in(),
            number_of_thinking_tokens: 0,
            number_of_output_tokens: iteration * TOKENS_OUT_PER_ITERATION,
        };
        self.after(0.2 * ITERATION_SECONDS, tag("progress", &progress));
    }
}

/// Returns the answer. Research answers contain links instead of citation tags.
fn answer(topic: &str, sources: &[Source], queries: u64) -> String {
    let link = |number: usize, text: &str| {
        let url = sources
            .get(number)
            .map(|source| source.url.as_str())
            .unwrap_or_default();
        format!("[{text}]({url})")
    };
    let text = format!(
        "# {topic}\n\n## In short\n\nOver {queries} queries the picture is consistent: the outline is settled \
         ({overview}), the size of the effect is not ({review}).\n\n## What is known\n\n\
         - The terms are stable since 2021, with a narrower meaning in older texts ({overview}).\n\
         - Publications agree on the mechanism and spread by about 20 % in the measured effect ({review}).\n\
         - Yearly figures rose in every region that reports them ({data}).\n\n## What is disputed\n\n\
         Whether progress of the last two years lasts: {news} reports gains, {forum} reports failures for simple \
         reasons.\n\n## Conclusion\n\nFor {topic}, rely on the review for conditions and on the tables for figures. \
         *This reply was written by a simulator; its sources are examples.*\n",
        overview = link(0, "overview"),
        review = link(1, "review of 48 publications"),
        news = link(2, "the press"),
        data = link(3, &format!("tables on {}", slug(topic))),
        forum = link(4, "a forum"),
    );
    tag("answer", &serde_json::json!({ "answer": text }))
}
