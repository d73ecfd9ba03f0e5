//! A list in which everything stands once, in order of arrival, and is found in logarithmic time.

use std::collections::BTreeMap;

/// Values in order of arrival, each once.
#[derive(Clone, Debug)]
pub(crate) struct Ordered<T> {
    places: BTreeMap<T, usize>,
}

impl<T: Ord> Default for Ordered<T> {
    fn default() -> Self {
        Self {
            places: BTreeMap::new(),
        }
    }
}

impl<T: Ord> Ordered<T> {
    /// The value's place and whether it is new.
    pub(crate) fn insert(&mut self, value: T) -> (usize, bool) {
        let next = self.places.len();
        let place = *self.places.entry(value).or_insert(next);
        (place, place == next)
    }

    /// The values in order.
    pub(crate) fn into_vec(self) -> Vec<T> {
        let mut values: Vec<(usize, T)> = self
            .places
            .into_iter()
            .map(|(value, place)| (place, value))
            .collect();
        values.sort_unstable_by_key(|&(place, _)| place);
        values.into_iter().map(|(_, value)| value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_arrival() {
        let mut list = Ordered::default();
        assert_eq!(list.insert("b"), (0, true));
        assert_eq!(list.insert("a"), (1, true));
        assert_eq!(list.insert("b"), (0, false));
        assert_eq!(list.into_vec(), ["b", "a"]);
    }
}
