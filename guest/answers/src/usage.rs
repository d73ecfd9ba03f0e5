//! Reads what a call used from usage tags, `X-Request-*` headers and the token counts of a completion.
//!
//! Each figure comes from the first of these that has it: the last usage tag, the headers, the completion's `usage` object
//! (tokens only, and only if there was no tag).

use crate::event::{Header, Usage};
use crate::text::first_chars;
use markdown::invisible;
use stream::json::Json;

/// Micro-dollars of a query, by the published price of $4 a thousand.
const QUERY_MICROS: u64 = 4000;

/// Micro-dollars of a token read or written, by the published price of $5 a million.
const TOKEN_MICROS: u64 = 5;

/// Highest cost of a call in US dollars; a higher one is taken for an error. The most expensive research costs some 3.
const MAX_COST_USD: f64 = 1000.0;

/// Reads the payload of a usage tag. Also returns the costs that are out of range. `None` if it has no known member.
pub(crate) fn from_tag(payload: &Json<'_>) -> Option<(Usage, Vec<String>)> {
    let Json::Object(members) = payload else {
        return None;
    };
    let (mut usage, mut bad) = (Usage::default(), Vec::new());
    let mut known = [false; NAMES.len()];
    // Of members of one name the last counts.
    for (name, value) in members.iter().rev() {
        if let Some(place) = place(name)
            && let Some(known) = known.get_mut(place)
            && !std::mem::replace(known, true)
        {
            bad.extend(set(&mut usage, place, value));
        }
    }
    known.contains(&true).then(|| (with_estimate(usage), bad))
}

/// Reads the headers of a reply. Also returns the costs that are out of range. `None` if no header is about usage.
pub(crate) fn from_headers(headers: &[Header]) -> (Option<Usage>, Vec<String>) {
    let (mut usage, mut bad) = (Usage::default(), Vec::new());
    for header in headers {
        if let Some(place) = place(&header.name) {
            bad.extend(set(
                &mut usage,
                place,
                &Json::Text(header.value.as_str().into()),
            ));
        }
    }
    let usage = (usage != Usage::default()).then(|| with_estimate(usage));
    (usage, bad)
}

/// Reads the token counts in the `usage` object of a completion.
pub(crate) fn from_completion(usage: &Json<'_>) -> Option<Usage> {
    let count = |name| usage.get(name).and_then(Json::count);
    let usage = Usage {
        tokens_in: count("prompt_tokens"),
        tokens_out: count("completion_tokens"),
        ..Usage::default()
    };
    (usage != Usage::default()).then_some(usage)
}

/// Fills absent figures from a second usage. Returns whether there were any.
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
    TOTAL,
];

/// The name of what the whole call cost.
const TOTAL: &str = "Total-Cost";

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

/// Returns the index of a name in [`NAMES`].
fn place(name: &str) -> Option<usize> {
    const PREFIX: &str = "X-Request-";
    let (prefix, name) = name.split_at_checked(PREFIX.len())?;
    if !prefix.eq_ignore_ascii_case(PREFIX) {
        return None;
    }
    NAMES
        .iter()
        .position(|known| name.eq_ignore_ascii_case(known))
}

/// Sets the member with this index in [`NAMES`]. Returns a cost that is out of range, with its name.
fn set(usage: &mut Usage, place: usize, value: &Json<'_>) -> Option<String> {
    if let Some(slot) = counts(usage).get_mut(place) {
        **slot = value.count();
        return None;
    }
    let cost = value
        .float()
        .filter(|cost| (0.0..=MAX_COST_USD).contains(cost));
    if let Some(slot) = costs(usage).get_mut(place - 4) {
        **slot = cost;
    }
    let name = NAMES.get(place).copied().unwrap_or_default();
    let sent = match value.scalar() {
        Some(sent) => sent,
        // NaN and Infinity, which Python writes, are null here. Of the other costs, one that is absent is null as well.
        None if name == TOTAL => "no number",
        None => return None,
    };
    if cost.is_some() || sent.trim_ascii().is_empty() {
        return None;
    }
    Some(format!(
        "X-Request-{name}: {}",
        invisible::spelt_out(first_chars(sent, 40))
    ))
}

/// Sets the estimate, if the total is absent and the figures suffice. It is computed in whole micro-dollars, which keeps it
/// free of rounding errors.
fn with_estimate(mut usage: Usage) -> Usage {
    let micros = || {
        let queries = usage.queries?.checked_mul(QUERY_MICROS)?;
        let tokens = usage.tokens_in?.checked_add(usage.tokens_out?)?;
        tokens.checked_mul(TOKEN_MICROS)?.checked_add(queries)
    };
    usage.cost_usd_estimate = match usage.cost_usd.total {
        Some(_) => None,
        None => micros()
            .map(|micros| micros as f64 / 1e6)
            .filter(|&estimate| estimate <= MAX_COST_USD),
    };
    usage
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests {
    use super::*;

    fn tag(json: &str) -> Option<Usage> {
        from_tag(&Json::parse(json).unwrap()).map(|(usage, _)| usage)
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
    fn a_total_that_is_no_number_is_named() {
        for total in ["NaN", "Infinity", "-Infinity", "null"] {
            let text = format!(r#"{{"X-Request-Queries":1,"X-Request-Total-Cost":{total}}}"#);
            let (usage, bad) = from_tag(&Json::parse(&text).unwrap()).unwrap();
            assert_eq!(usage.cost_usd.total, None);
            assert_eq!(bad, ["X-Request-Total-Cost: no number"], "{total}");
        }
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
        let (headers, _) = from_headers(&[
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
        assert_eq!(from_headers(&[header("date", "today")]), (None, vec![]));
    }

    #[test]
    fn a_cost_that_cannot_be_is_unknown_and_named() {
        for cost in ["1000", "0", "1e-1150", "\"0.5\"", "-0.0"] {
            let json = format!(r#"{{"X-Request-Total-Cost":{cost}}}"#);
            let (usage, bad) = from_tag(&Json::parse(&json).unwrap()).unwrap();
            assert!(usage.cost_usd.total.is_some() && bad.is_empty(), "{cost}");
        }
        for cost in [
            "1000.01",
            "-1",
            "1e300",
            "1e400",
            "\"1e300\"",
            "\"inf\"",
            "\"NaN\"",
        ] {
            let json = format!(r#"{{"X-Request-Total-Cost":{cost}}}"#);
            let (usage, bad) = from_tag(&Json::parse(&json).unwrap()).unwrap();
            assert_eq!(usage.cost_usd.total, None, "{cost}");
            let sent = cost.trim_matches('"');
            assert_eq!(bad, [format!("X-Request-Total-Cost: {sent}")]);
        }
        let usage = tag(
            r#"{"X-Request-Queries":9000000,"X-Request-Tokens-In":1,"X-Request-Tokens-Out":1}"#,
        );
        assert_eq!(usage.unwrap().cost_usd_estimate, None);
    }
}
