//! The amounts spent by day and by tool, and the rest of today's budget.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::jobs::clock::day_name;
use crate::jobs::{Micros, SpendRow};

/// Sums of calls and amounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// The number of calls.
    pub calls: i64,
    /// The sum of the known costs.
    pub spent: Micros,
    /// The amount reserved by calls that have not ended.
    pub reserved: Micros,
    /// The number of calls with an unknown cost.
    pub unknown_calls: i64,
    /// The sum of the reservations of calls with an unknown cost.
    pub unknown: Micros,
}

impl Sums {
    fn add(&mut self, row: &SpendRow) {
        self.calls += row.calls;
        self.spent = self.spent.plus(row.settled);
        self.reserved = self.reserved.plus(row.open);
        self.unknown_calls += row.unknown_calls;
        self.unknown = self.unknown.plus(row.unknown);
    }

    fn to_json(self) -> Value {
        json!({
            "calls": self.calls,
            "cost_usd": self.spent.usd(),
            "reserved_usd": self.reserved.usd(),
            "unknown_calls": self.unknown_calls,
            "unknown_counted_usd": self.unknown.usd(),
        })
    }
}

/// Today's budget and what is left of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetLeft {
    /// The budget of the day.
    pub limit: Micros,
    /// The amount spent today. Unknown costs count as their reservations.
    pub spent: Micros,
    /// The amount reserved by running calls.
    pub reserved: Micros,
    /// The amount that a new call may still reserve.
    pub left: Micros,
}

/// A report of the amounts spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpendReport {
    /// Today as `YYYY-MM-DD` in UTC.
    pub today: String,
    /// The sums of each day, newest first.
    pub days: Vec<(String, Sums)>,
    /// The sums of each tool, sorted by name.
    pub tools: Vec<(String, Sums)>,
    /// The sums of all days and tools.
    pub total: Sums,
    /// The sums of simulated calls, which are not part of the other sums.
    pub simulated: Sums,
    /// Today's budget, if one is set.
    pub budget: Option<BudgetLeft>,
}

impl SpendReport {
    /// Creates a report from the rows of the store.
    #[must_use]
    pub fn new(rows: &[SpendRow], today: i64, budget: Option<Micros>) -> Self {
        let mut days: BTreeMap<i64, Sums> = BTreeMap::new();
        let mut tools: BTreeMap<&str, Sums> = BTreeMap::new();
        let mut total = Sums::default();
        let mut simulated = Sums::default();
        for row in rows {
            if row.simulated {
                simulated.add(row);
                continue;
            }
            days.entry(row.day).or_default().add(row);
            tools.entry(&row.tool).or_default().add(row);
            total.add(row);
        }
        let now = days.get(&today).copied().unwrap_or_default();
        Self {
            today: day_name(today),
            days: days
                .iter()
                .rev()
                .map(|(day, sums)| (day_name(*day), *sums))
                .collect(),
            tools: tools
                .into_iter()
                .map(|(tool, sums)| (tool.to_owned(), sums))
                .collect(),
            total,
            simulated,
            budget: budget.map(|limit| left(limit, now)),
        }
    }

    /// Returns the JSON form of the report.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let named = |key: &str, all: &[(String, Sums)]| -> Vec<Value> {
            all.iter()
                .map(|(name, sums)| {
                    let mut value = sums.to_json();
                    if let Some(object) = value.as_object_mut() {
                        object.insert(key.to_owned(), Value::String(name.clone()));
                    }
                    value
                })
                .collect()
        };
        json!({
            "today": self.today,
            "days": named("day", &self.days),
            "tools": named("tool", &self.tools),
            "total": self.total.to_json(),
            "simulated": self.simulated.to_json(),
            "budget": self.budget.map(|budget| json!({
                "limit_usd": budget.limit.usd(),
                "spent_usd": budget.spent.usd(),
                "reserved_usd": budget.reserved.usd(),
                "left_usd": budget.left.usd(),
            })),
        })
    }
}

fn left(limit: Micros, today: Sums) -> BudgetLeft {
    let spent = today.spent.plus(today.unknown);
    BudgetLeft {
        limit,
        spent,
        reserved: today.reserved,
        left: limit.less(spent.plus(today.reserved)),
    }
}
