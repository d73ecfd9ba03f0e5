//! Research about a question, within the caps of its request.

use std::time::Duration;

use serde::Serialize;

use super::check::Asked;
use super::content::{Source, slug, sources, topic};
use super::frames::Usage;
use super::python_json::tag;

/// A delta, after a wait at the measured pace.
pub type Timed = (Duration, String);

/// Iterations of a research of medium breadth.
const ITERATIONS: u64 = 3;
/// Seconds that an iteration takes, as measured.
const ITERATION_SECONDS: f64 = 24.5;
/// Pages read for a query.
const PAGES: u64 = 30;
/// Passages read for a query.
const PASSAGES: u64 = 80;
/// Tokens read for a query, at the default cap of 8192 for one query's results.
const TOKENS_IN: u64 = 11_363;
/// Tokens written in an iteration.
const TOKENS_OUT: u64 = 422;
/// How often progress is reported in an iteration.
const REPORTS: u64 = 4;

/// What a query looks for.
const ANGLES: [&str; 8] = [
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
    asked: &'a Asked,
    topic: String,
    sources: Vec<Source>,
    queries: u64,
    seconds: f64,
    deltas: Vec<Timed>,
}

/// The deltas of the whole research, and what it used.
pub fn research(question: &str, asked: &Asked) -> (Vec<Timed>, Usage) {
    let topic = topic(question);
    let sources = sources(&topic);
    let mut state = State {
        asked,
        topic,
        sources,
        queries: 0,
        seconds: 0.0,
        deltas: Vec::new(),
    };
    let mut iterations = 0;
    while iterations < ITERATIONS.min(asked.iterations) && state.may_go_on(iterations) {
        iterations += 1;
        state.iteration(iterations);
    }
    let usage = Usage {
        queries: state.queries,
        tokens_in: state.tokens_in(),
        tokens_out: iterations * TOKENS_OUT + 600,
    };
    state.after(
        0.2 * ITERATION_SECONDS,
        answer(&state.topic, &state.sources, state.queries),
    );
    (state.deltas, usage)
}

impl State<'_> {
    /// The budget of seconds is soft: what was begun is ended.
    #[allow(clippy::cast_precision_loss)] // at most 300
    fn may_go_on(&self, iterations: u64) -> bool {
        iterations == 0
            || (self.queries < self.asked.queries && self.seconds < self.asked.seconds as f64)
    }

    fn tokens_in(&self) -> u64 {
        self.queries * TOKENS_IN * self.asked.tokens_per_query / 8192
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
                urls: PAGES,
                new_urls: PAGES - 2 * (iteration - 1),
            };
            self.after(0.05 * ITERATION_SECONDS, tag("analyzing", &analyzing));
        }
        let queries_before = self.queries;
        #[allow(clippy::cast_precision_loss)] // small numbers
        for report in 1..=REPORTS {
            self.queries = queries_before + (queries.len() as u64 * report).div_ceil(REPORTS);
            self.seconds += ITERATION_SECONDS / REPORTS as f64;
            self.progress(iteration);
        }
        if self.asked.thinking {
            for query in &queries {
                self.thinking(query);
            }
        }
        if iteration < ITERATIONS.min(self.asked.iterations) {
            let gap = format!("No source gives figures on {} before 2021.", self.topic);
            self.after(0.0, tag("blindspots", &[gap]));
        }
    }

    fn next_queries(&self, iteration: u64) -> Vec<String> {
        let wanted = iteration.min(self.asked.queries - self.queries).max(1);
        let first = usize::try_from(self.queries).unwrap_or_default();
        let angles = ANGLES
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
            chunks_analyzed: PASSAGES,
            chunks_selected: PASSAGES / 5,
            urls_analyzed: PAGES.min(self.asked.results_per_query),
            urls_selected: selected.iter().map(String::as_str).collect(),
        };
        self.after(0.02 * ITERATION_SECONDS, tag("thinking", &thinking));
    }

    fn progress(&mut self, iteration: u64) {
        let progress = Progress {
            elasped_seconds: (self.seconds * 10.0).round() / 10.0,
            number_of_iterations: iteration,
            number_of_queries: self.queries,
            number_of_urls_analyzed: self.queries * PAGES.min(self.asked.results_per_query),
            number_of_snippets_analyzed: self.queries * PASSAGES,
            number_of_input_tokens: self.tokens_in(),
            number_of_thinking_tokens: 0,
            number_of_output_tokens: iteration * TOKENS_OUT,
        };
        self.after(0.2 * ITERATION_SECONDS, tag("progress", &progress));
    }
}

/// The answer, with links as research has them instead of citations.
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
