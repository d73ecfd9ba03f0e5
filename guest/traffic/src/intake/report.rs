//! The report at the end of an import: taken, skipped, why, and what was lost.

use serde::Serialize;

use super::{Failure, Skip};
use crate::types::Exchange;

/// Different codes that a report lists. The codes are ours, so there are no more than some dozens.
const CODES: usize = 64;

/// How often something happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tally {
    /// The code of the skip or of the warning.
    pub code: String,
    /// How many items.
    pub count: u64,
    /// The first item it happened to, from 0.
    pub first_index: u64,
    /// What was said of the first.
    pub detail: String,
}

/// The end of an import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The program that wrote the file, with its version, as far as the file says.
    pub writer: String,
    /// The version of the format that the file claims.
    pub version: String,
    /// Items that were taken.
    pub taken: u64,
    /// Items that were skipped.
    pub skipped: u64,
    /// Whether the file was read to its proper end.
    pub complete: bool,
    /// Why it could not be read on.
    pub error: Option<Failure>,
    /// The skipped items by reason.
    pub skips: Vec<Tally>,
    /// What was odd or lost in items that were taken.
    pub warnings: Vec<Tally>,
}

/// Counts while a file is read.
#[derive(Default)]
pub(super) struct Counter {
    taken: u64,
    skipped: u64,
    skips: Vec<Tally>,
    warnings: Vec<Tally>,
}

impl Counter {
    pub(super) fn take(&mut self, exchange: &Exchange) {
        self.taken += 1;
        let mut last = "";
        for warning in &exchange.warnings {
            // Several of a kind in one item count once.
            if warning.code != last {
                count(
                    &mut self.warnings,
                    &warning.code,
                    exchange.index,
                    &warning.detail,
                );
            }
            last = &warning.code;
        }
    }

    pub(super) fn skip(&mut self, skip: &Skip) {
        self.skipped += 1;
        count(&mut self.skips, &skip.code, skip.index, &skip.reason);
    }

    pub(super) fn finish(
        self,
        writer: String,
        version: String,
        complete: bool,
        error: Option<Failure>,
    ) -> Report {
        Report {
            writer,
            version,
            taken: self.taken,
            skipped: self.skipped,
            complete: complete && error.is_none(),
            error,
            skips: self.skips,
            warnings: self.warnings,
        }
    }
}

fn count(tallies: &mut Vec<Tally>, code: &str, index: u64, detail: &str) {
    if let Some(tally) = tallies.iter_mut().find(|tally| tally.code == code) {
        tally.count += 1;
    } else if tallies.len() < CODES {
        tallies.push(Tally {
            code: code.to_owned(),
            count: 1,
            first_index: index,
            detail: detail.to_owned(),
        });
    }
}
