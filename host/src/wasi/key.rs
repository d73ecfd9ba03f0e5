//! The key and the placeholder that the guest sees in its place.
//!
//! Outward, a credential header that holds the placeholder gets the key. Inward, the key is replaced
//! wherever it comes back, so that not even an upstream that repeats what it was sent shows it to the guest.

use bytes::{Bytes, BytesMut};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};

use crate::upstream::{ApiKey, KEY_HEADER};

/// What the guest finds in its environment. It fits a header and is plainly no key.
pub const PLACEHOLDER: &str = "glovebox-puts-the-key-here";

const BEARER: &str = "Bearer ";

/// The key, on its way out and kept from coming in.
#[derive(Clone, Debug)]
pub(super) struct KeyGuard {
    key: HeaderValue,
}

impl KeyGuard {
    /// `None` where the key fits no header.
    pub(super) fn new(key: &ApiKey) -> Option<Self> {
        key.header().map(|key| Self { key })
    }

    /// Puts the key in place of the placeholder.
    pub(super) fn insert(&self, headers: &mut HeaderMap) {
        if let Some(value) = headers.get_mut(KEY_HEADER)
            && value.as_bytes() == PLACEHOLDER.as_bytes()
        {
            *value = self.key.clone();
        }
        if let Some(value) = headers.get_mut(AUTHORIZATION)
            && value.as_bytes() == [BEARER.as_bytes(), PLACEHOLDER.as_bytes()].concat()
            && let Ok(mut bearer) =
                HeaderValue::from_bytes(&[BEARER.as_bytes(), self.key.as_bytes()].concat())
        {
            bearer.set_sensitive(true);
            *value = bearer;
        }
    }

    /// A header value of a reply, without the key.
    pub(super) fn strip_header(&self, value: &HeaderValue) -> HeaderValue {
        if find(value.as_bytes(), self.key.as_bytes()).is_none() {
            return value.clone();
        }
        let mut strip = Strip::new(Some(self));
        let mut clean = BytesMut::from(&strip.push(Bytes::copy_from_slice(value.as_bytes()))[..]);
        clean.extend_from_slice(&strip.rest());
        HeaderValue::from_bytes(&clean).unwrap_or_else(|_| HeaderValue::from_static(""))
    }
}

/// Replaces the key in a body that comes in pieces. Only what could be the start of the key is held back.
#[derive(Debug)]
pub(super) struct Strip {
    key: Vec<u8>,
    held: BytesMut,
}

impl Strip {
    pub(super) fn new(guard: Option<&KeyGuard>) -> Self {
        Self {
            key: guard.map_or_else(Vec::new, |guard| guard.key.as_bytes().to_vec()),
            held: BytesMut::new(),
        }
    }

    /// The next piece, and what may be passed on.
    pub(super) fn push(&mut self, piece: Bytes) -> Bytes {
        if self.key.is_empty() {
            return piece;
        }
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(&piece);
        let mut clean = BytesMut::with_capacity(all.len());
        while let Some(at) = find(&all, &self.key) {
            clean.extend_from_slice(&all.split_to(at));
            clean.extend_from_slice(PLACEHOLDER.as_bytes());
            drop(all.split_to(self.key.len()));
        }
        let held = possible_start(&all, &self.key);
        self.held = all.split_off(all.len() - held);
        clean.unsplit(all);
        clean.freeze()
    }

    /// What was held back, at the end.
    pub(super) fn rest(&mut self) -> Bytes {
        std::mem::take(&mut self.held).freeze()
    }
}

fn find(bytes: &[u8], key: &[u8]) -> Option<usize> {
    if key.is_empty() {
        return None;
    }
    bytes.windows(key.len()).position(|window| window == key)
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
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn guard() -> KeyGuard {
        KeyGuard::new(&ApiKey::parse("BSAkeyBSA1", "test").unwrap()).unwrap()
    }

    #[test]
    fn the_key_takes_the_place_of_the_placeholder_and_of_nothing_else() {
        let mut headers = HeaderMap::new();
        headers.insert(KEY_HEADER, HeaderValue::from_static(PLACEHOLDER));
        headers.insert("x-other", HeaderValue::from_static(PLACEHOLDER));
        headers.insert(
            AUTHORIZATION,
            HeaderValue::from_str(&format!("Bearer {PLACEHOLDER}")).unwrap(),
        );
        guard().insert(&mut headers);
        assert_eq!(headers[KEY_HEADER], "BSAkeyBSA1");
        assert_eq!(headers[AUTHORIZATION], "Bearer BSAkeyBSA1");
        assert_eq!(headers["x-other"], PLACEHOLDER);
        let mut own = HeaderMap::new();
        own.insert(KEY_HEADER, HeaderValue::from_static("something of its own"));
        guard().insert(&mut own);
        assert_eq!(own[KEY_HEADER], "something of its own");
    }

    #[test]
    fn the_key_never_comes_back_however_it_is_cut() {
        let body = b"a BSAkeyBSA1 b BSAkeyBSAkeyBSA1 c BSAkey".as_slice();
        let expected = format!("a {PLACEHOLDER} b BSAkey{PLACEHOLDER} c BSAkey");
        for step in 1..body.len() {
            let guard = guard();
            let mut strip = Strip::new(Some(&guard));
            let mut seen = Vec::new();
            for piece in body.chunks(step) {
                seen.extend_from_slice(&strip.push(Bytes::copy_from_slice(piece)));
            }
            seen.extend_from_slice(&strip.rest());
            assert_eq!(String::from_utf8(seen).unwrap(), expected, "step {step}");
        }
        let echoed = guard().strip_header(&HeaderValue::from_static("got BSAkeyBSA1!"));
        assert_eq!(echoed.to_str().unwrap(), format!("got {PLACEHOLDER}!"));
    }
}
