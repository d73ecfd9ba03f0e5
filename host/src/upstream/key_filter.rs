//! Takes the key out of what comes back: an upstream, or a proxy in between, may repeat what it was sent, and
//! from there it would reach logs, captures and the component. It is found however its characters are written (as they
//! are, or escaped for JSON, an address or HTML), since whoever reads the reply decodes it. It is looked for in the bytes:
//! an upstream that spreads it over several events of a stream does so on purpose, and has it anyway.

use std::borrow::Cow;
use std::fmt;

use bytes::{Bytes, BytesMut};
use memchr::memchr3_iter;
use memchr::memmem::Finder;

use super::spelling::{BEGINNINGS, Found, LONGEST, escape};

/// A shorter key is none, and taking it out would tear up text.
const SHORTEST: usize = 8;

/// Replaces the key in bytes that come in pieces. Only what could be the start of the key is held back.
pub struct KeyFilter {
    key: Option<Finder<'static>>,
    instead: &'static [u8],
    held: BytesMut,
}

impl fmt::Debug for KeyFilter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("KeyFilter(…)")
    }
}

impl KeyFilter {
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
            if find(key, &piece).is_none() && possible_start(&piece, key.needle()) == 0 {
                return piece;
            }
            BytesMut::from(&piece[..])
        } else {
            let mut all = std::mem::take(&mut self.held);
            all.extend_from_slice(&piece);
            all
        };
        let mut clean = BytesMut::with_capacity(all.len());
        while let Some((at, length)) = find(key, &all) {
            clean.extend_from_slice(&all.split_to(at));
            clean.extend_from_slice(self.instead);
            drop(all.split_to(length));
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
        let Some(key) = self.key.as_ref().filter(|key| find(key, bytes).is_some()) else {
            return Cow::Borrowed(bytes);
        };
        let mut clean = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some((at, length)) = find(key, rest) {
            clean.extend_from_slice(rest.get(..at).unwrap_or_default());
            clean.extend_from_slice(self.instead);
            rest = rest.get(at + length..).unwrap_or_default();
        }
        clean.extend_from_slice(rest);
        Cow::Owned(clean)
    }

    /// Text that is all there.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.whole(text.as_bytes())).into_owned()
    }
}

/// Where the key is first, and how many bytes it takes there.
fn find(key: &Finder<'static>, bytes: &[u8]) -> Option<(usize, usize)> {
    let plain = key.find(bytes);
    let [first, second, third] = BEGINNINGS;
    let escaped = memchr3_iter(first, second, third, bytes)
        .take_while(|escape| plain.is_none_or(|plain| *escape < plain))
        .find_map(|escape| around(bytes, escape, key.needle()));
    escaped.or_else(|| plain.map(|plain| (plain, key.needle().len())))
}

/// The key around an escape that is the first in it.
fn around(bytes: &[u8], at: usize, key: &[u8]) -> Option<(usize, usize)> {
    let Found::Here(letter, _) = escape(bytes.get(at..)?) else {
        return None;
    };
    let places = key.iter().enumerate().filter(|(_, byte)| **byte == letter);
    places
        .filter_map(|(place, _)| at.checked_sub(place))
        .find_map(|start| match spelled(bytes.get(start..)?, key) {
            Spelled::Wholly(length) if start + length > at => Some((start, length)),
            _ => None,
        })
}

/// How far bytes spell the key.
enum Spelled {
    /// To its end, in so many bytes.
    Wholly(usize),
    /// As far as there are bytes.
    SoFar,
    /// Not.
    Not,
}

fn spelled(bytes: &[u8], key: &[u8]) -> Spelled {
    let mut at = 0;
    for letter in key {
        let rest = bytes.get(at..).unwrap_or_default();
        match rest.first() {
            None => return Spelled::SoFar,
            Some(first) if first == letter => at += 1,
            Some(_) => match escape(rest) {
                Found::Here(found, length) if found == *letter => at += length,
                Found::Cut => return Spelled::SoFar,
                _ => return Spelled::Not,
            },
        }
    }
    Spelled::Wholly(at)
}

/// The length of the longest end of `bytes` that begins the key.
fn possible_start(bytes: &[u8], key: &[u8]) -> usize {
    let longest = bytes.len().min(key.len() * LONGEST);
    let begins = |length: &usize| {
        let end = bytes.get(bytes.len() - length..).unwrap_or_default();
        let candidate = end
            .first()
            .is_some_and(|first| key.first() == Some(first) || BEGINNINGS.contains(first));
        candidate && matches!(spelled(end, key), Spelled::SoFar)
    };
    (1..=longest).rev().find(begins).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_never_comes_back_however_it_is_cut() {
        let body = b"a BSAkeyBSA1 b BSAkeyBSAkeyBSA1 c BSAkey".as_slice();
        let expected = b"a [key] b BSAkey[key] c BSAkey".as_slice();
        for step in 1..=body.len() {
            let mut strip = KeyFilter::new(b"BSAkeyBSA1", "[key]");
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
    fn an_escaped_key_does_not_come_back_either() {
        let key = "BSAkey/BSA1";
        let spell = |letter: char, way: usize| match way {
            0 => letter.to_string(),
            1 => format!("\\u{:04x}", u32::from(letter)),
            2 => format!("\\\\u{:04X}", u32::from(letter)),
            3 => format!("%{:02x}", u32::from(letter)),
            4 => format!("%25{:02X}", u32::from(letter)),
            5 => format!("&#{};", u32::from(letter)),
            _ => format!("&amp;#x{:x};", u32::from(letter)),
        };
        for way in 0..7 {
            // All of it escaped, every other character, the first alone, the last alone.
            for pick in [
                (|_, _| true) as fn(usize, usize) -> bool,
                |at, _| at % 2 == 1,
                |at, _| at == 0,
                |at, length| at + 1 == length,
            ] {
                let spelled: String = key
                    .chars()
                    .enumerate()
                    .map(|(at, letter)| spell(letter, if pick(at, key.len()) { way } else { 0 }))
                    .collect();
                let body = format!("{{\"a\":\"BSA\\n%4 {spelled} &amp; BSAke\\u00\"}}");
                let expected = body.replace(&spelled, "[key]");
                let whole = KeyFilter::new(key.as_bytes(), "[key]").text(&body);
                assert_eq!(whole, expected);
                for step in 1..=body.len() {
                    let mut strip = KeyFilter::new(key.as_bytes(), "[key]");
                    let mut seen = Vec::new();
                    for piece in body.as_bytes().chunks(step) {
                        seen.extend_from_slice(&strip.push(Bytes::copy_from_slice(piece)));
                    }
                    seen.extend_from_slice(&strip.rest());
                    assert_eq!(String::from_utf8_lossy(&seen), expected, "step {step}");
                }
            }
        }
    }

    #[test]
    fn what_holds_no_key_is_passed_on_as_it_is() {
        let piece = Bytes::from_static(b"nothing of it");
        for mut strip in [
            KeyFilter::nothing(),
            KeyFilter::new(b"short", "x"),
            KeyFilter::new(b"BSAkeyBSA1", "x"),
        ] {
            assert_eq!(strip.push(piece.clone()).as_ptr(), piece.as_ptr());
            assert!(strip.rest().is_empty());
        }
    }
}
