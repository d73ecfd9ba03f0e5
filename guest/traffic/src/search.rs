//! Regular expressions over parts of exchanges, in linear time.

use regex::bytes::{Regex, RegexBuilder};
use serde::Serialize;

use crate::types::Span;

/// Characters of a pattern.
const PATTERN: usize = 4096;

/// Bytes of a compiled pattern, and of the states that are kept while it runs.
const COMPILED: usize = 4 << 20;

/// A place that was redacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask {
    /// The place in the part as it was.
    pub place: Span,
    /// Bytes that stand in its place in the redacted part.
    pub shown: u32,
}

/// One match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Match {
    /// The place in the part as it was.
    pub place: Span,
    /// The place in the redacted part.
    pub shown: Span,
}

/// What a search found in one part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Matches {
    /// All matches.
    pub total: u32,
    /// The first ones, in order.
    pub matches: Vec<Match>,
}

/// A compiled pattern.
pub struct Pattern(Regex);

impl Pattern {
    /// Compiles a pattern. Classes such as `\w` are ASCII; `^` and `$` match at lines.
    ///
    /// # Errors
    /// One sentence: what is wrong with the pattern.
    pub fn new(pattern: &str, literal: bool, ignore_case: bool) -> Result<Self, String> {
        if pattern.chars().count() > PATTERN {
            return Err(format!("the pattern has more than {PATTERN} characters"));
        }
        let escaped = if literal {
            regex::escape(pattern)
        } else {
            pattern.to_owned()
        };
        RegexBuilder::new(&escaped)
            .case_insensitive(ignore_case)
            .multi_line(true)
            .unicode(false)
            .size_limit(COMPILED)
            .dfa_size_limit(COMPILED)
            .build()
            .map(Self)
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => {
                    "the pattern is too large; make its repetitions smaller".to_owned()
                }
                other => {
                    // The parser's message is several lines; the last says what is wrong.
                    let text = other.to_string();
                    let last = text.lines().last().unwrap_or_default();
                    format!(
                        "the pattern is not valid: {}",
                        last.trim_start_matches("error: ")
                    )
                }
            })
    }

    /// Returns the matches in a part. A match that touches a redacted place does not exist: it is neither counted nor shown. `masks` are
    /// in order of their places; at most `most` matches are listed.
    #[must_use]
    pub fn find(&self, part: &[u8], masks: &[Mask], most: u32) -> Matches {
        let mut found = Matches::default();
        let mut from = 0_u32;
        let mut shift = 0_i64;
        let end = Span::new(0, part.len()).end;
        let mut masks = masks.iter();
        loop {
            let mask = masks.next();
            // Between two redacted places is a text of its own: what is redacted cannot even be looked at.
            let to = mask.map_or(end, |mask| mask.place.start.min(end));
            if from < to || (from == to && mask.is_none() && part.is_empty()) {
                self.gap(
                    part,
                    Span {
                        start: from,
                        end: to,
                    },
                    shift,
                    most,
                    &mut found,
                );
            }
            let Some(mask) = mask else {
                return found;
            };
            let length = i64::from(mask.place.end) - i64::from(mask.place.start);
            shift += i64::from(mask.shown) - length;
            from = from.max(mask.place.end);
        }
    }

    fn gap(&self, part: &[u8], gap: Span, shift: i64, most: u32, found: &mut Matches) {
        for matched in self.0.find_iter(gap.of(part)) {
            found.total = found.total.saturating_add(1);
            if found.total > most {
                continue;
            }
            let place = Span::new(
                gap.start as usize + matched.start(),
                gap.start as usize + matched.end(),
            );
            let moved = |offset: u32| u32::try_from(i64::from(offset) + shift).unwrap_or(0);
            found.matches.push(Match {
                place,
                shown: Span {
                    start: moved(place.start),
                    end: moved(place.end),
                },
            });
        }
    }

    /// Whether there is a match that touches no redacted place.
    #[must_use]
    pub fn is_match(&self, part: &[u8], masks: &[Mask]) -> bool {
        if masks.is_empty() {
            return self.0.is_match(part);
        }
        self.find(part, masks, 0).total > 0
    }
}
