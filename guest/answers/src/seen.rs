//! What was seen before, found in logarithmic time: a list may be as long as a stream is.

use alloc::vec::Vec;
use alloc::collections::BTreeMap;

/// What a value is. One map for all of them keeps the component small.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// The URL of a source.
    Url,
    /// A snippet of a source.
    Snippet,
    /// A position of a source.
    Position,
    /// An upstream number of a source.
    UpstreamNumber,
    /// A query.
    Query,
    /// A blind spot.
    Blindspot,
}

/// Values, each with the place it was given first.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    places: BTreeMap<Vec<u8>, u32>,
}

impl Seen {
    /// The place of a value of this kind and owner, and whether it is new; a new one gets `place`.
    pub(crate) fn place(
        &mut self,
        kind: Kind,
        owner: u32,
        value: &[u8],
        place: u32,
    ) -> (u32, bool) {
        let mut key = Vec::with_capacity(value.len() + 5);
        key.push(kind as u8);
        key.extend_from_slice(&owner.to_le_bytes());
        key.extend_from_slice(value);
        let mut new = false;
        let place = *self.places.entry(key).or_insert_with(|| {
            new = true;
            place
        });
        (place, new)
    }

    /// Whether a value is new.
    pub(crate) fn is_new(&mut self, kind: Kind, owner: u32, value: &[u8]) -> bool {
        self.place(kind, owner, value, 0).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_owners_are_told_apart() {
        let mut seen = Seen::default();
        assert_eq!(seen.place(Kind::Url, 0, b"a", 1), (1, true));
        assert_eq!(seen.place(Kind::Url, 0, b"b", 2), (2, true));
        assert_eq!(seen.place(Kind::Url, 0, b"a", 3), (1, false));
        assert!(seen.is_new(Kind::Snippet, 1, b"a"));
        assert!(seen.is_new(Kind::Snippet, 2, b"a"));
        assert!(!seen.is_new(Kind::Snippet, 2, b"a"));
    }
}
