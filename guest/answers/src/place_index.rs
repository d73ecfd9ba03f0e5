//! An index over a growing list, for finding an equal item in logarithmic time.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher as _};

/// The places of the items of a list, by the hash of each item.
///
/// An ordered map of 64-bit hashes and not a hash table: a hostile stream can choose items that share a bucket of a
/// table, but not items that share all bits of the hash. Two that do are told apart by comparing them.
#[derive(Debug, Default)]
pub(crate) struct PlaceIndex(BTreeMap<u64, u32>);

/// Bytes of memory that an entry of the map takes, in nodes that are on average two thirds full.
pub(crate) const ENTRY_BYTES: usize = 24;

impl PlaceIndex {
    /// Returns the place of the item that `same` says is equal; else adds the item with the place `next` and returns `None`.
    pub(crate) fn find(
        &mut self,
        item: &impl Hash,
        next: usize,
        same: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let mut hasher = DefaultHasher::new();
        item.hash(&mut hasher);
        let mut hash = hasher.finish();
        loop {
            match self.0.entry(hash) {
                Entry::Vacant(entry) => {
                    entry.insert(u32::try_from(next).unwrap_or(u32::MAX));
                    return None;
                }
                Entry::Occupied(entry) => {
                    let place = *entry.get() as usize;
                    if same(place) {
                        return Some(place);
                    }
                    hash = hash.wrapping_add(1);
                }
            }
        }
    }

    /// Appends the text to the list that this is the index of, unless it is in it. Returns whether it was new.
    pub(crate) fn push(&mut self, text: &str, list: &mut Vec<String>) -> bool {
        let same = |place: usize| list.get(place).is_some_and(|known| known == text);
        let new = self.find(&text, list.len(), same).is_none();
        if new {
            list.push(text.to_owned());
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_kept_once_in_order() {
        let mut seen = PlaceIndex::default();
        let mut list = Vec::new();
        for (text, new) in [
            ("a", true),
            ("b", true),
            ("a", false),
            ("", true),
            ("b", false),
        ] {
            assert_eq!(seen.push(text, &mut list), new, "{text}");
        }
        assert_eq!(list, ["a", "b", ""]);
    }

    #[test]
    fn equal_hashes_are_told_apart() {
        /// An item whose hash is always the same.
        struct Same;
        impl Hash for Same {
            fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
        }
        let mut seen = PlaceIndex::default();
        assert_eq!(seen.find(&Same, 0, |_| false), None);
        assert_eq!(seen.find(&Same, 1, |place| place == 1), None);
        assert_eq!(seen.find(&Same, 2, |place| place == 1), Some(1));
    }
}
