//! What an inspection adds up to. Every list is bounded, and what has no room is counted.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::exit::Exit;
use crate::traffic::{Carrier, Finding, Inspected, InspectedExchange, Replacement, Skip};

/// Findings that are kept. Findings with the same key are one; a file of a hundred sites has some thousands.
const FINDINGS: usize = 10_000;
/// Places of secrets that are told apart.
const PLACES: usize = 1_000;
/// Different values that are counted of one place.
const VALUES: usize = 10_000;

/// What an inspection adds up to.
#[derive(Debug, Default)]
pub(super) struct Summary {
    /// Exchanges that were read.
    pub(super) taken: u64,
    /// Items that the reader skipped.
    pub(super) skipped: u64,
    /// Exchanges that the component failed on.
    pub(super) failed: u64,
    /// Exchanges that were not checked, since the checks failed on them.
    pub(super) unchecked: u64,
    /// The findings, in the order in which they came.
    pub(super) findings: Vec<Found>,
    /// Findings that had no room.
    pub(super) findings_left_out: u64,
    /// What was replaced, by kind and place.
    pub(super) replaced: BTreeMap<(String, &'static str, String), Replaced>,
    /// Replacements whose place had no room.
    pub(super) replaced_left_out: u64,
    /// Why the exchange that was asked for was skipped.
    pub(super) wanted_skip: Option<Skip>,
    by_key: HashMap<String, usize>,
}

/// A finding, and how often it came.
#[derive(Debug)]
pub(super) struct Found {
    /// As it came first.
    pub(super) finding: Finding,
    /// The number of the exchange that it came with first.
    pub(super) exchange: u64,
    /// How many exchanges it came with.
    pub(super) count: u64,
}

/// What was replaced in one place.
#[derive(Debug, Default)]
pub(super) struct Replaced {
    /// How often.
    pub(super) count: u64,
    /// The placeholders, one for each value.
    values: BTreeSet<String>,
}

impl Replaced {
    /// Returns how many different values there were.
    pub(super) fn values(&self) -> usize {
        self.values.len()
    }
}

impl Summary {
    /// Adds an item.
    pub(super) fn add(&mut self, item: &Inspected) {
        match item {
            Inspected::Exchange(exchange) => self.add_exchange(exchange),
            Inspected::Passed(_) => self.taken += 1,
            Inspected::Skip(_) => self.skipped += 1,
            Inspected::Failed { .. } => {
                self.taken += 1;
                self.failed += 1;
            }
        }
    }

    fn add_exchange(&mut self, exchange: &InspectedExchange) {
        self.taken += 1;
        self.unchecked += u64::from(exchange.unchecked.is_some());
        for finding in &exchange.findings {
            self.add_finding(finding, exchange.exchange.index);
        }
        for replacement in &exchange.replaced {
            self.add_replacement(replacement);
        }
    }

    fn add_finding(&mut self, finding: &Finding, exchange: u64) {
        if let Some(known) = self
            .by_key
            .get(&finding.key)
            .and_then(|&at| self.findings.get_mut(at))
        {
            known.count += 1;
            if finding.severity.rank() > known.finding.severity.rank() {
                known.finding.severity = finding.severity;
            }
            return;
        }
        if self.findings.len() >= FINDINGS {
            self.findings_left_out += 1;
            return;
        }
        self.by_key.insert(finding.key.clone(), self.findings.len());
        self.findings.push(Found {
            finding: finding.clone(),
            exchange,
            count: 1,
        });
    }

    fn add_replacement(&mut self, replacement: &Replacement) {
        let place = place(replacement);
        if self.replaced.len() >= PLACES && !self.replaced.contains_key(&place) {
            self.replaced_left_out += 1;
            return;
        }
        let replaced = self.replaced.entry(place).or_default();
        replaced.count += 1;
        if replaced.values.len() < VALUES {
            replaced.values.insert(replacement.placeholder.clone());
        }
    }

    /// Returns the findings, worst first.
    pub(super) fn worst_first(&self) -> Vec<&Found> {
        let mut findings: Vec<&Found> = self.findings.iter().collect();
        findings.sort_by_key(|found| std::cmp::Reverse(found.finding.severity.rank()));
        findings
    }

    /// Returns the exit status of a file that was read to its end.
    pub(super) const fn exit(&self) -> Exit {
        if self.failed + self.unchecked == 0 {
            Exit::Done
        } else {
            Exit::Failed
        }
    }

    /// Returns what the component failed on, in words.
    pub(super) fn problem(&self, name: &str) -> Option<String> {
        (self.failed + self.unchecked > 0).then(|| {
            format!(
                "{name}: the component failed on {} exchanges, which are not shown, and could not check {} more; \
                 the others are complete. Please report it, together with the file",
                self.failed, self.unchecked
            )
        })
    }

    /// Returns why there is no such exchange, in words.
    pub(super) fn missing(&self, wanted: u64, name: &str) -> String {
        let items = self.taken + self.skipped;
        match (&self.wanted_skip, items.checked_sub(1)) {
            (Some(skip), _) => format!(
                "exchange {wanted} of {name} was skipped: {} ({})",
                skip.reason, skip.code
            ),
            (None, None) => format!("{name} has no exchanges"),
            (None, Some(last)) => {
                format!("{name} has no exchange {wanted}; they are numbered from 0 to {last}")
            }
        }
    }
}

/// Returns the kind, carrier and name of a replacement.
fn place(replacement: &Replacement) -> (String, &'static str, String) {
    let carrier: Carrier = replacement.carrier;
    (
        replacement.kind.clone(),
        carrier.name(),
        replacement.name.clone(),
    )
}
