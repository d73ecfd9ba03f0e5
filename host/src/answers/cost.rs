//! What a call could cost before it is made, and what it has cost so far while it runs.

use crate::money::Micros;

/// What a single answer is reserved at: $0.051 to $0.055 were measured.
pub const ANSWER: Micros = Micros(60_000);
/// What one query of a research is reserved at: about $0.07 was measured.
pub const RESEARCH_QUERY: Micros = Micros(80_000);

/// What a single answer costs, for people: as measured.
macro_rules! answer_price {
    () => {
        "about $0.05"
    };
}
/// What one query of a research costs, for people: as measured.
macro_rules! query_price {
    () => {
        "about $0.07"
    };
}
/// What a whole research costs, for people: as measured.
macro_rules! research_price {
    () => {
        "about $0.07 a query, usually under $1"
    };
}
pub(crate) use {answer_price, query_price, research_price};

/// What a query costs by the published price.
const QUERY: i64 = 4_000;
/// What a token costs by the published price, read or written.
const TOKEN: i64 = 5;

/// Returns the reservation of a research that may run so many queries.
#[must_use]
pub fn research(query_cap: u32) -> Micros {
    Micros(RESEARCH_QUERY.0.saturating_mul(i64::from(query_cap)))
}

/// Returns the published price of what was used so far.
#[must_use]
pub fn so_far(queries: u64, tokens_in: u64, tokens_out: u64) -> Micros {
    let amount = |count: u64, price: i64| {
        i64::try_from(count)
            .unwrap_or(i64::MAX)
            .saturating_mul(price)
    };
    let tokens = tokens_in.saturating_add(tokens_out);
    Micros(amount(queries, QUERY).saturating_add(amount(tokens, TOKEN)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_cost_model() {
        assert_eq!(so_far(1, 8_625, 150), Micros(47_875));
        assert_eq!(research(20), Micros(1_600_000));
        assert_eq!(so_far(u64::MAX, u64::MAX, 1), Micros(i64::MAX));
    }
}
