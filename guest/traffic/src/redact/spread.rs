//! Values that were secrets in one place, looked for in all others.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, MatchKind};

use super::finds::{Carrier, Finds};
use super::shapes::begins_token;
use crate::types::Span;

/// Bytes of a value that is looked for: shorter ones occur by chance.
const LEAST: usize = 8;

/// Bytes of a value from which on it is one wherever it stands, also inside of a longer word.
const CERTAIN: usize = 20;

/// Values of one exchange, and bytes of all together.
const VALUES: usize = 2000;
const BYTES: usize = 512 << 10;

/// The values that an exchange was found to hold.
pub(super) struct Values {
    automaton: Option<AhoCorasick>,
    /// The value that each pattern writes.
    values: Vec<Vec<u8>>,
    /// Whether there were more than are looked for.
    pub(super) more: bool,
}

impl Values {
    /// Collects values, and the ways in which each may be written.
    pub(super) fn new<'a>(all: impl Iterator<Item = &'a [u8]>) -> Self {
        let wanted: BTreeSet<&[u8]> = all.filter(|value| value.len() >= LEAST).collect();
        let mut patterns: Vec<Vec<u8>> = Vec::new();
        let mut values = Vec::new();
        let mut bytes = 0;
        let mut more = false;
        for value in wanted {
            bytes += value.len();
            if values.len() >= VALUES || bytes > BYTES {
                more = true;
                break;
            }
            for pattern in writings(value) {
                patterns.push(pattern);
                values.push(value.to_vec());
            }
        }
        let automaton = (!patterns.is_empty())
            .then(|| {
                AhoCorasick::builder()
                    .match_kind(MatchKind::LeftmostLongest)
                    .build(&patterns)
                    .ok()
            })
            .flatten();
        Self {
            more: more || (automaton.is_none() && !patterns.is_empty()),
            automaton,
            values,
        }
    }

    /// Adds the places of the values to the finds of a part.
    pub(super) fn find(&self, finds: &mut Finds<'_>) {
        let Some(automaton) = &self.automaton else {
            return;
        };
        let bytes = finds.bytes;
        for found in automaton.find_iter(bytes) {
            let (start, end) = (found.start(), found.end());
            let Some(value) = self.values.get(found.pattern().as_usize()) else {
                continue;
            };
            let ends = !bytes
                .get(end)
                .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
            let certain = value.len() >= CERTAIN;
            if certain || (ends && begins_token(bytes, start)) {
                finds.add(
                    Carrier::Text,
                    "",
                    Span::new(start, end),
                    value.clone(),
                    false,
                );
            }
        }
    }
}

/// What percent-encoding leaves as it is.
const UNRESERVED: &percent_encoding::AsciiSet = &percent_encoding::NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The same with `%3d` for `%3D`.
fn lower_escapes(encoded: &str) -> Vec<u8> {
    let mut after = usize::MAX;
    encoded
        .bytes()
        .map(|byte| {
            after = if byte == b'%' {
                0
            } else {
                after.saturating_add(1)
            };
            if after == 1 || after == 2 {
                byte.to_ascii_lowercase()
            } else {
                byte
            }
        })
        .collect()
}

/// A value as it stands, percent-encoded, in JSON and in HTML.
fn writings(value: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![value.to_vec()];
    let mut add = |writing: Vec<u8>| {
        if !all.contains(&writing) {
            all.push(writing);
        }
    };
    let encoded = percent_encoding::percent_encode(value, UNRESERVED).to_string();
    add(lower_escapes(&encoded));
    add(encoded.into_bytes());
    if let Ok(text) = str::from_utf8(value) {
        let json = serde_json::to_string(text).unwrap_or_default();
        let json = json.trim_matches('"').to_owned();
        add(json.replace('/', "\\/").into_bytes());
        add(json.into_bytes());
        let html = text
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;");
        add(html.into_bytes());
    }
    all
}
