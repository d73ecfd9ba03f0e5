//! Takes the key out of what comes back: an upstream, or a proxy in between, may repeat what it was sent, and
//! from there it would reach logs, captures and the component. It is looked for in the bytes: an upstream that
//! spreads it over several events of a stream does so on purpose, and has it anyway.

use std::borrow::Cow;
use std::fmt;

use bytes::{Bytes, BytesMut};
use memchr::memmem::Finder;

/// A shorter key is none, and taking it out would tear up text.
const SHORTEST: usize = 8;

/// Replaces the key in bytes that come in pieces. Only what could be the start of the key is held back.
pub struct Strip {
    key: Option<Finder<'static>>,
    instead: &'static [u8],
    held: BytesMut,
}

impl fmt::Debug for Strip {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Strip(…)")
    }
}

impl Strip {
    /// Puts `instead` in the place of the key.
    #[must_use]
    pub fn new(key: &[u8], instead: &'static str) -> Self {
        Self {
            key: (key.len() >= SHORTEST).then(|| Finder::new(key).into_owned()),
            instead: instead.as_bytes(),
            held: BytesMut::new(),
        }
    }

    /// Where there is no key, all is passed on.
    #[must_use]
    pub fn nothing() -> Self {
        Self::new(&[], "")
    }

    /// The next piece, and what may be passed on.
    pub fn push(&mut self, piece: Bytes) -> Bytes {
        let Some(key) = &self.key else {
            return piece;
        };
        let mut all = if self.held.is_empty() {
            if key.find(&piece).is_none() && possible_start(&piece, key.needle()) == 0 {
                return piece;
            }
            BytesMut::from(&piece[..])
        } else {
            let mut all = std::mem::take(&mut self.held);
            all.extend_from_slice(&piece);
            all
        };
        let mut clean = BytesMut::with_capacity(all.len());
        while let Some(at) = key.find(&all) {
            clean.extend_from_slice(&all.split_to(at));
            clean.extend_from_slice(self.instead);
            drop(all.split_to(key.needle().len()));
        }
        let held = possible_start(&all, key.needle());
        self.held = all.split_off(all.len() - held);
        clean.unsplit(all);
        clean.freeze()
    }

    /// What was held back, at the end.
    pub fn rest(&mut self) -> Bytes {
        std::mem::take(&mut self.held).freeze()
    }

    /// Bytes that are all there.
    #[must_use]
    pub fn whole<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let Some(key) = self.key.as_ref().filter(|key| key.find(bytes).is_some()) else {
            return Cow::Borrowed(bytes);
        };
        let mut clean = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some((before, after)) = key.find(rest).and_then(|at| rest.split_at_checked(at)) {
            clean.extend_from_slice(before);
            clean.extend_from_slice(self.instead);
            rest = after.get(key.needle().len()..).unwrap_or_default();
        }
        clean.extend_from_slice(rest);
        Cow::Owned(clean)
    }
}

/// The length of the longest end of `bytes` that begins the key.
fn possible_start(bytes: &[u8], key: &[u8]) -> usize {
    let longest = bytes.len().min(key.len().saturating_sub(1));
    (1..=longest)
        .rev()
        .find(|&length| key.starts_with(bytes.get(bytes.len() - length..).unwrap_or_default()))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_never_comes_back_however_it_is_cut() {
        let body = b"a BSAkeyBSA1 b BSAkeyBSAkeyBSA1 c BSAkey".as_slice();
        let expected = b"a [key] b BSAkey[key] c BSAkey".as_slice();
        for step in 1..=body.len() {
            let mut strip = Strip::new(b"BSAkeyBSA1", "[key]");
            let mut seen = Vec::new();
            for piece in body.chunks(step) {
                seen.extend_from_slice(&strip.push(Bytes::copy_from_slice(piece)));
            }
            seen.extend_from_slice(&strip.rest());
            assert_eq!(seen, expected, "step {step}");
            assert_eq!(&*strip.whole(body), expected);
        }
    }

    #[test]
    fn what_holds_no_key_is_passed_on_as_it_is() {
        let piece = Bytes::from_static(b"nothing of it");
        for mut strip in [
            Strip::nothing(),
            Strip::new(b"short", "x"),
            Strip::new(b"BSAkeyBSA1", "x"),
        ] {
            assert_eq!(strip.push(piece.clone()).as_ptr(), piece.as_ptr());
            assert!(strip.rest().is_empty());
        }
    }
}
