//! The outcome as JSON: compact, one line, members in the order of the contract.

use crate::event::{Entity, Mode, Progress, Thinking, Usage};
use crate::json::writer::Writer;
use crate::outcome::{Outcome, Source};
use alloc::string::String;

pub(super) fn render(outcome: &Outcome) -> String {
    let mut json = Writer::default();
    json.open('{');
    json.key("mode");
    json.text(match outcome.mode {
        Mode::Answer => "answer",
        Mode::Research => "research",
    });
    json.key("complete");
    json.bool(outcome.complete);
    json.key("truncated");
    json.bool(outcome.truncated);
    json.key("finish_reason");
    json.text_or_null(outcome.finish_reason.as_deref());
    json.key("model");
    json.text_or_null(outcome.model.as_deref());
    json.key("answer");
    json.text(&outcome.answer);
    json.key("text");
    json.text(&outcome.text);
    json.key("draft");
    json.text(&outcome.draft);
    list(&mut json, "sources", &outcome.sources, source);
    list(&mut json, "entities", &outcome.entities, entity);
    json.key("queries");
    json.texts(&outcome.queries);
    json.key("blindspots");
    json.texts(&outcome.blindspots);
    list(&mut json, "thinking", &outcome.thinking, thinking);
    list(&mut json, "progress", &outcome.progress, progress);
    json.key("usage");
    match &outcome.usage {
        Some(value) => usage(&mut json, value),
        None => json.raw("null"),
    }
    json.key("error");
    match &outcome.error {
        Some(error) => pair(
            &mut json,
            ("kind", &error.kind),
            ("message", &error.message),
        ),
        None => json.raw("null"),
    }
    list(&mut json, "warnings", &outcome.warnings, |json, warning| {
        pair(json, ("code", &warning.code), ("detail", &warning.detail));
    });
    json.close('}');
    json.finish()
}

fn list<T>(json: &mut Writer, name: &str, items: &[T], item: impl Fn(&mut Writer, &T)) {
    json.key(name);
    json.open('[');
    for one in items {
        item(json, one);
    }
    json.close(']');
}

fn pair(json: &mut Writer, first: (&str, &str), second: (&str, &str)) {
    json.open('{');
    for (name, text) in [first, second] {
        json.key(name);
        json.text(text);
    }
    json.close('}');
}

fn source(json: &mut Writer, source: &Source) {
    json.open('{');
    json.key("number");
    json.count(Some(source.number.into()));
    json.key("url");
    json.text(&source.url);
    json.key("snippets");
    json.texts(&source.snippets);
    json.key("positions");
    json.numbers(&source.positions);
    json.key("upstream_numbers");
    json.numbers(&source.upstream_numbers);
    json.key("cited");
    json.bool(source.cited);
    json.close('}');
}

fn entity(json: &mut Writer, entity: &Entity) {
    json.open('{');
    json.key("name");
    json.text(&entity.name);
    json.key("href");
    json.text_or_null(entity.href.as_deref());
    json.key("text");
    json.text(&entity.text);
    json.key("instance_of");
    json.text_or_null(entity.instance_of.as_deref());
    json.key("images");
    json.texts(&entity.images);
    json.key("citations");
    json.raw(&entity.citations);
    json.close('}');
}

fn thinking(json: &mut Writer, thinking: &Thinking) {
    let count = |json: &mut Writer, name: &str, value: Option<u32>| {
        json.key(name);
        json.count(value.map(u64::from));
    };
    json.open('{');
    json.key("query");
    json.text(&thinking.query);
    count(json, "urls_analyzed", thinking.urls_analyzed);
    json.key("urls_selected");
    json.texts(&thinking.urls_selected);
    count(json, "chunks_analyzed", thinking.chunks_analyzed);
    count(json, "chunks_selected", thinking.chunks_selected);
    json.close('}');
}

fn progress(json: &mut Writer, progress: &Progress) {
    json.open('{');
    json.key("iteration");
    json.count(Some(progress.iteration.into()));
    json.key("elapsed_seconds");
    json.float(progress.elapsed_seconds);
    for (name, value) in [
        ("queries", progress.queries),
        ("urls_analyzed", progress.urls_analyzed),
        ("snippets_analyzed", progress.snippets_analyzed),
        ("tokens_in", progress.tokens_in),
        ("tokens_thinking", progress.tokens_thinking),
        ("tokens_out", progress.tokens_out),
    ] {
        json.key(name);
        json.count(value);
    }
    json.close('}');
}

fn usage(json: &mut Writer, usage: &Usage) {
    json.open('{');
    for (name, value) in [
        ("requests", usage.requests),
        ("queries", usage.queries),
        ("tokens_in", usage.tokens_in),
        ("tokens_out", usage.tokens_out),
    ] {
        json.key(name);
        json.count(value);
    }
    json.key("cost_usd");
    json.open('{');
    let cost = &usage.cost_usd;
    for (name, value) in [
        ("requests", cost.requests),
        ("queries", cost.queries),
        ("tokens_in", cost.tokens_in),
        ("tokens_out", cost.tokens_out),
        ("total", cost.total),
    ] {
        json.key(name);
        json.float(value);
    }
    json.close('}');
    json.key("cost_usd_estimate");
    json.float(usage.cost_usd_estimate);
    json.close('}');
}
