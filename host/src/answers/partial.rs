//! What the host makes of an outcome by itself, for a component that failed before it could do that.

use serde_json::json;

use super::{Citation, Event, EventKind, Format, Mode, Outcome, Progress, Source};
use crate::sandbox::SandboxError;

/// Writes an outcome that the component failed to write: its text, and why the rest is missing. As JSON it has the
/// members that need no more than that.
#[must_use]
pub fn unrendered(outcome: &Outcome, format: Format, error: &SandboxError) -> String {
    let message = error.to_string();
    if format == Format::Json {
        let told = outcome.error.as_ref();
        return json!({
            "mode": outcome.mode.name(),
            "complete": false,
            "truncated": outcome.truncated,
            "answer": outcome.answer,
            "text": outcome.text,
            "draft": outcome.draft,
            "error": {
                "kind": told.map_or(error.kind(), |told| &told.kind),
                "message": told.map_or(&message, |told| &told.message),
            },
        })
        .to_string();
    }
    let parts = [&outcome.answer, &outcome.draft, &message];
    let parts: Vec<&str> = parts
        .into_iter()
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect();
    parts.join("\n\n")
}

/// Returns an outcome of nothing: no reply came, or none that could be read.
#[must_use]
pub const fn empty(mode: Mode) -> Outcome {
    Outcome {
        mode,
        complete: false,
        truncated: false,
        finish_reason: None,
        model: None,
        answer: String::new(),
        text: String::new(),
        draft: String::new(),
        sources: Vec::new(),
        entities: Vec::new(),
        queries: Vec::new(),
        blindspots: Vec::new(),
        thinking: Vec::new(),
        progress: Vec::new(),
        usage: None,
        error: None,
        warnings: Vec::new(),
    }
}

/// Collects events into an incomplete outcome. Its answer has no `[n]` markers; the sources stand in their order.
#[derive(Debug)]
pub(super) struct Partial(Outcome);

impl Partial {
    pub(super) const fn new(mode: Mode) -> Self {
        Self(empty(mode))
    }

    /// Returns what was collected.
    pub(super) fn outcome(self) -> Outcome {
        self.0
    }

    /// Adds events, in order.
    pub(super) fn add(&mut self, events: &[Event]) {
        for event in events {
            self.add_one(&event.kind);
        }
    }

    fn add_one(&mut self, kind: &EventKind) {
        let outcome = &mut self.0;
        match kind {
            EventKind::Text(text) => {
                outcome.text.push_str(text);
                outcome.answer.push_str(text);
            }
            EventKind::Draft(text) => outcome.draft.push_str(text),
            EventKind::Answer(text) => {
                // A later answer supersedes the earlier one, which becomes part of the draft.
                let superseded = std::mem::replace(&mut outcome.answer, text.clone());
                outcome.draft.push_str(&superseded);
                outcome.text.clone_from(text);
            }
            EventKind::Citation(citation) => cite(&mut outcome.sources, citation),
            EventKind::Entity(entity) => outcome.entities.push(entity.clone()),
            EventKind::Queries(queries) => add_new(&mut outcome.queries, queries),
            EventKind::Blindspots(blindspots) => add_new(&mut outcome.blindspots, blindspots),
            EventKind::Thinking(thinking) => outcome.thinking.push(thinking.clone()),
            EventKind::Progress(progress) => last_of_iteration(&mut outcome.progress, progress),
            EventKind::Usage(usage) => outcome.usage = Some(*usage),
            EventKind::Warning(warning) => outcome.warnings.push(warning.clone()),
            EventKind::Analyzing(_) => {}
        }
    }
}

fn add_new(all: &mut Vec<String>, more: &[String]) {
    for one in more {
        if !all.contains(one) {
            all.push(one.clone());
        }
    }
}

fn last_of_iteration(all: &mut Vec<Progress>, progress: &Progress) {
    match all
        .iter_mut()
        .find(|known| known.iteration == progress.iteration)
    {
        Some(known) => *known = *progress,
        None => all.push(*progress),
    }
}

fn cite(sources: &mut Vec<Source>, citation: &Citation) {
    let known = sources
        .iter()
        .position(|source| source.number == citation.number);
    let at = known.unwrap_or_else(|| {
        sources.push(Source {
            number: citation.number,
            url: citation.url.clone(),
            snippets: Vec::new(),
            positions: Vec::new(),
            upstream_numbers: Vec::new(),
            cited: true,
        });
        sources.len() - 1
    });
    if let Some(source) = sources.get_mut(at) {
        add_one(&mut source.positions, &citation.position);
        source.upstream_numbers.extend(
            citation
                .upstream_number
                .filter(|number| !source.upstream_numbers.contains(number)),
        );
        if let Some(snippet) = &citation.snippet {
            add_one(&mut source.snippets, snippet);
        }
    }
}

fn add_one<T: Clone + PartialEq>(all: &mut Vec<T>, one: &T) {
    if !all.contains(one) {
        all.push(one.clone());
    }
}
