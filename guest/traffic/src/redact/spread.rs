//! Values that were secrets in one place, looked for in all others.

use std::collections::{BTreeMap, BTreeSet};

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

/// Bytes of a value that the automaton knows. It is built in time that grows with the square of a pattern's length; what follows is
/// compared directly.
const PREFIX: usize = 64;

/// Values with the same prefix that are compared. Tokens of one issuer begin alike.
const ALIKE: usize = 16;

/// How a value may be written, after the prefix.
struct Writing {
    tail: Vec<u8>,
    value: Vec<u8>,
}

/// The values that an exchange was found to hold.
pub(super) struct Values {
    automaton: Option<AhoCorasick>,
    /// For each prefix, what may follow it.
    writings: Vec<Vec<Writing>>,
    /// Whether there were more than are looked for.
    pub(super) more: bool,
}

impl Values {
    /// Collects values, and the ways in which each may be written.
    pub(super) fn new<'a>(all: impl Iterator<Item = &'a [u8]>) -> Self {
        let wanted: BTreeSet<&[u8]> = all.filter(|value| value.len() >= LEAST).collect();
        let mut prefixes: BTreeMap<Vec<u8>, Vec<Writing>> = BTreeMap::new();
        let (mut count, mut bytes) = (0, 0);
        let mut more = false;
        for value in wanted {
            count += 1;
            bytes += value.len();
            if count > VALUES || bytes > BYTES {
                more = true;
                break;
            }
            for mut writing in writings(value) {
                let tail = writing.split_off(PREFIX.min(writing.len()));
                let alike = prefixes.entry(writing).or_default();
                if alike.len() < ALIKE {
                    let value = value.to_vec();
                    alike.push(Writing { tail, value });
                }
            }
        }
        let automaton = (!prefixes.is_empty())
            .then(|| {
                AhoCorasick::builder()
                    .match_kind(MatchKind::LeftmostLongest)
                    .build(prefixes.keys())
                    .ok()
            })
            .flatten();
        Self {
            more: more || (automaton.is_none() && !prefixes.is_empty()),
            automaton,
            writings: prefixes.into_values().collect(),
        }
    }

    /// Adds the places of the values to the finds of a part.
    pub(super) fn find(&self, finds: &mut Finds<'_>) {
        let Some(automaton) = &self.automaton else {
            return;
        };
        let bytes = finds.bytes;
        let mut last = 0;
        for found in automaton.find_iter(bytes) {
            let start = found.start();
            if start < last {
                continue;
            }
            let writings = self.writings.get(found.pattern().as_usize());
            let Some((end, value)) =
                writings.and_then(|writings| extend(bytes, found.end(), writings))
            else {
                continue;
            };
            let ends = !bytes
                .get(end)
                .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
            let certain = end - start >= CERTAIN;
            if certain || (ends && begins_token(bytes, start)) {
                let span = Span::new(start, end);
                let value = value.map_or_else(|| span.of(bytes).to_vec(), <[u8]>::to_vec);
                finds.add(Carrier::Text, "", span, value, false);
                last = end;
            }
        }
    }
}

/// The end of a place that begins with a known prefix, and the value where it is all there. A place that goes on otherwise is taken to
/// the end of its token: a part of a secret is no less secret.
fn extend<'a>(
    bytes: &[u8],
    from: usize,
    writings: &'a [Writing],
) -> Option<(usize, Option<&'a [u8]>)> {
    let rest = bytes.get(from..)?;
    let whole = writings
        .iter()
        .filter(|writing| rest.starts_with(&writing.tail))
        .max_by_key(|writing| writing.tail.len());
    if let Some(writing) = whole {
        return Some((from + writing.tail.len(), Some(&writing.value)));
    }
    let length = rest
        .iter()
        .position(|byte| !(byte.is_ascii_alphanumeric() || b"-_.~+/=%".contains(byte)))
        .unwrap_or(rest.len());
    Some((from + length, None))
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
