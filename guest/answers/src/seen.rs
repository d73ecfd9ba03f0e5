//! What was seen before, found in a time that is linear in the value's length, however many there are: a list may
//! be as long as a stream is.
//!
//! A crit-bit tree: each inner node names the first bit in which the values below it differ, so it is
//! never deeper than a value has bits and needs no balance. It is a fifth of the code of an ordered map.

use alloc::vec::Vec;

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
    branches: Vec<Branch>,
    /// Each value, with its kind and owner before it, and its place.
    leaves: Vec<(Vec<u8>, u32)>,
    root: Node,
}

/// Where values part: at this bit of this symbol.
#[derive(Clone, Copy, Debug)]
struct Branch {
    index: usize,
    bit: u16,
    /// Below, where the bit is not set, and where it is.
    below: (Node, Node),
}

impl Branch {
    /// Whether it tells values apart at an earlier bit, bits counting from the highest.
    fn is_before(&self, (index, bit): (usize, u16)) -> bool {
        self.index < index || (self.index == index && self.bit > bit)
    }

    fn is_set(&self, key: &[u8]) -> bool {
        symbol(key, self.index) & self.bit != 0
    }

    fn side(&self, key: &[u8]) -> Node {
        if self.is_set(key) {
            self.below.1
        } else {
            self.below.0
        }
    }

    fn side_mut(&mut self, key: &[u8]) -> &mut Node {
        if self.is_set(key) {
            &mut self.below.1
        } else {
            &mut self.below.0
        }
    }
}

/// A node by its index.
#[derive(Clone, Copy, Debug)]
enum Node {
    Branch(usize),
    Leaf(usize),
}

impl Default for Node {
    fn default() -> Self {
        Self::Leaf(0)
    }
}

/// A byte of a key as nine bits, so that the end of a key is unlike any byte.
fn symbol(key: &[u8], index: usize) -> u16 {
    key.get(index).map_or(0, |&byte| 0x100 | u16::from(byte))
}

/// Where two keys part first: the symbol, and its highest bit that differs.
fn parting(a: &[u8], b: &[u8]) -> Option<(usize, u16)> {
    let index = (0..a.len().max(b.len())).find(|&index| symbol(a, index) != symbol(b, index))?;
    let differing = symbol(a, index) ^ symbol(b, index);
    Some((index, 1 << differing.ilog2()))
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
        let (_, nearest) = self.walk(&key, None);
        if let Node::Leaf(leaf) = nearest
            && let Some((nearest, known)) = self.leaves.get(leaf)
        {
            let Some(parting) = parting(nearest, &key) else {
                return (*known, false);
            };
            self.part(&key, parting);
        }
        self.leaves.push((key, place));
        (place, true)
    }

    /// The node that the key leads to, and the branch above it: a leaf, or the first node that lies beyond where
    /// the key parts.
    fn walk(&self, key: &[u8], parting: Option<(usize, u16)>) -> (Option<usize>, Node) {
        let (mut above, mut node) = (None, self.root);
        while let Node::Branch(at) = node
            && let Some(branch) = self.branches.get(at)
            && parting.is_none_or(|parting| branch.is_before(parting))
        {
            above = Some(at);
            node = branch.side(key);
        }
        (above, node)
    }

    /// Puts a branch where the key parts from all others; one of its sides is the leaf that comes next.
    fn part(&mut self, key: &[u8], (index, bit): (usize, u16)) {
        let (above, beyond) = self.walk(key, Some((index, bit)));
        let mut branch = Branch {
            index,
            bit,
            below: (beyond, beyond),
        };
        *branch.side_mut(key) = Node::Leaf(self.leaves.len());
        let new = Node::Branch(self.branches.len());
        match above.and_then(|above| self.branches.get_mut(above)) {
            Some(above) => *above.side_mut(key) = new,
            None => self.root = new,
        }
        self.branches.push(branch);
    }

    /// Whether a value is new.
    pub(crate) fn is_new(&mut self, kind: Kind, owner: u32, value: &[u8]) -> bool {
        self.place(kind, owner, value, 0).1
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
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

    #[test]
    fn it_remembers_as_an_ordered_map_does() {
        let mut seen = Seen::default();
        let mut map = std::collections::BTreeMap::new();
        // Short words over few letters meet every case: equal, prefix, and parting at each bit.
        let letters = [0, 1, 0x7f, 0x80, 0xff];
        let mut state = 1_u32;
        for round in 0..20_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let mut rest = state >> 8;
            let mut word = Vec::new();
            while rest % 6 != 5 && word.len() < 8 {
                word.push(letters[rest as usize % 5]);
                rest /= 6;
            }
            let fresh = !map.contains_key(&word);
            let place = *map.entry(word.clone()).or_insert(round);
            assert_eq!(seen.place(Kind::Query, 0, &word, round), (place, fresh));
        }
        assert!(map.len() > 1_000);
    }
}
