//! What a call used: from the usage tag, from `X-Request-*` headers, from a completion's token counts.
//!
//! Where several speak, each figure comes from the first of these that has it: the last usage tag, the
//! headers, the completion's `usage` object (tokens alone, and only where there was no tag).

use crate::event::{Header, Usage};
use crate::json::Json;

/// Micro-dollars of a query, by the published price of $4 a thousand.
const QUERY_MICROS: u64 = 4000;

/// Micro-dollars of a token read or written, by the published price of $5 a million.
const TOKEN_MICROS: u64 = 5;

/// The payload of a usage tag; `None` where it has no member that is known.
pub(crate) fn from_tag(payload: &Json) -> Option<Usage> {
    let Json::Object(members) = payload else {
        return None;
    };
    let mut usage = Usage::default();
    let mut known = false;
    for (name, value) in members {
        known |= set(&mut usage, name, value);
    }
    known.then(|| with_estimate(usage))
}

/// The headers of a reply; `None` where they say nothing about it.
pub(crate) fn from_headers(headers: &[Header]) -> Option<Usage> {
    let mut usage = Usage::default();
    for header in headers {
        set(&mut usage, &header.name, &Json::Text(header.value.clone()));
    }
    (usage != Usage::default()).then(|| with_estimate(usage))
}

/// The `usage` object of a completion: token counts.
pub(crate) fn from_completion(usage: &Json) -> Option<Usage> {
    let count = |name| usage.get(name).and_then(Json::count);
    let usage = Usage {
        tokens_in: count("prompt_tokens"),
        tokens_out: count("completion_tokens"),
        ..Usage::default()
    };
    (usage != Usage::default()).then_some(usage)
}

/// Fills what is absent from a second usage; whether anything was.
pub(crate) fn fill(usage: &mut Option<Usage>, mut second: Usage) -> bool {
    let first = usage.get_or_insert_default();
    let mut filled = false;
    for (slot, more) in counts(first).into_iter().zip(counts(&mut second)) {
        filled |= slot.is_none() && more.is_some();
        *slot = slot.or(*more);
    }
    for (slot, more) in costs(first).into_iter().zip(costs(&mut second)) {
        filled |= slot.is_none() && more.is_some();
        *slot = slot.or(*more);
    }
    *first = with_estimate(*first);
    filled
}

/// The names of [`counts`] and [`costs`], after `X-Request-`.
const NAMES: [&str; 9] = [
    "Requests",
    "Queries",
    "Tokens-In",
    "Tokens-Out",
    "Requests-Cost",
    "Queries-Cost",
    "Tokens-In-Cost",
    "Tokens-Out-Cost",
    "Total-Cost",
];

fn counts(usage: &mut Usage) -> [&mut Option<u64>; 4] {
    [
        &mut usage.requests,
        &mut usage.queries,
        &mut usage.tokens_in,
        &mut usage.tokens_out,
    ]
}

fn costs(usage: &mut Usage) -> [&mut Option<f64>; 5] {
    let cost = &mut usage.cost_usd;
    [
        &mut cost.requests,
        &mut cost.queries,
        &mut cost.tokens_in,
        &mut cost.tokens_out,
        &mut cost.total,
    ]
}

/// Sets the member of that name; whether there is one.
fn set(usage: &mut Usage, name: &str, value: &Json) -> bool {
    const PREFIX: &str = "X-Request-";
    let Some((prefix, name)) = name.split_at_checked(PREFIX.len()) else {
        return false;
    };
    if !prefix.eq_ignore_ascii_case(PREFIX) {
        return false;
    }
    let known = |known: &&str| name.eq_ignore_ascii_case(known);
    let Some(place) = NAMES.iter().position(known) else {
        return false;
    };
    if let Some(slot) = counts(usage).get_mut(place) {
        **slot = value.count();
    } else if let Some(slot) = costs(usage).get_mut(place - 4) {
        **slot = value.float();
    }
    true
}

/// The estimate, where the total is absent and the figures suffice. Reckoned in whole micro-dollars, so
/// that it has no binary noise of its own.
fn with_estimate(mut usage: Usage) -> Usage {
    let micros = || {
        let queries = usage.queries?.checked_mul(QUERY_MICROS)?;
        let tokens = usage.tokens_in?.checked_add(usage.tokens_out?)?;
        tokens.checked_mul(TOKEN_MICROS)?.checked_add(queries)
    };
    usage.cost_usd_estimate = match usage.cost_usd.total {
        Some(_) => None,
        None => micros().map(|micros| micros as f64 / 1e6),
    };
    usage
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests {
    use super::*;

    fn tag(json: &str) -> Option<Usage> {
        from_tag(&Json::parse(json).unwrap())
    }

    #[test]
    fn numbers_and_strings() {
        let usage = tag(r#"{"X-Request-Queries":"2","X-Request-Tokens-In-Cost":0.043125000000000004,"X-Request-Total-Cost":"0.047875"}"#).unwrap();
        assert_eq!(usage.queries, Some(2));
        assert_eq!(usage.requests, None);
        assert_eq!(usage.cost_usd.tokens_in, Some(0.043125000000000004));
        assert_eq!(usage.cost_usd.total, Some(0.047875));
        assert_eq!(usage.cost_usd_estimate, None);
        assert_eq!(tag(r#"{"other":1}"#), None);
    }

    #[test]
    fn the_estimate_needs_every_figure() {
        let usage =
            tag(r#"{"X-Request-Queries":1,"X-Request-Tokens-In":8625,"X-Request-Tokens-Out":150}"#);
        assert_eq!(usage.unwrap().cost_usd_estimate, Some(0.047875));
        let usage = tag(r#"{"X-Request-Queries":1,"X-Request-Tokens-In":8625}"#);
        assert_eq!(usage.unwrap().cost_usd_estimate, None);
    }

    #[test]
    fn headers_fill_what_the_tag_lacks() {
        let header = |name: &str, value: &str| Header {
            name: name.into(),
            value: value.into(),
        };
        let headers = from_headers(&[
            header("x-request-queries", "3"),
            header("X-Request-Total-Cost", "0.5"),
            header("content-type", "text/plain"),
        ]);
        let mut usage = tag(r#"{"X-Request-Queries":1}"#);
        assert!(fill(&mut usage, headers.unwrap()));
        assert!(!fill(&mut usage, headers.unwrap()));
        let merged = usage.unwrap();
        assert_eq!(merged.queries, Some(1));
        assert_eq!(merged.cost_usd.total, Some(0.5));
        assert_eq!(from_headers(&[header("date", "today")]), None);
    }
}
