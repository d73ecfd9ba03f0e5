//! The key, and the placeholder that the guest sees instead.
//!
//! In requests the key replaces the placeholder in credential headers. In replies the key is removed wherever it
//! occurs, so that the guest cannot learn it from an upstream that repeats requests.

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};

use crate::upstream::{ApiKey, KEY_HEADER, KeyFilter};

/// The value of the key variable in the environment of the guest. It is a valid header value and clearly not a key.
pub const PLACEHOLDER: &str = "glovebox-puts-the-key-here";

const BEARER: &str = "Bearer ";

/// Inserts the key into requests and removes it from replies.
#[derive(Clone, Debug)]
pub(super) struct KeyGuard {
    key: HeaderValue,
}

impl KeyGuard {
    /// Returns `None` if the key is not a valid header value.
    pub(super) fn new(key: &ApiKey) -> Option<Self> {
        key.header().map(|key| Self { key })
    }

    /// Replaces the placeholder by the key.
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

    /// Removes the key from a header value of a reply.
    pub(super) fn strip_header(&self, value: &HeaderValue) -> HeaderValue {
        HeaderValue::from_bytes(&self.strip().whole(value.as_bytes()))
            .unwrap_or_else(|_| HeaderValue::from_static(""))
    }

    /// Returns a filter that removes the key from a body.
    pub(super) fn strip(&self) -> KeyFilter {
        KeyFilter::new(self.key.as_bytes(), PLACEHOLDER)
    }
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
    fn a_header_that_repeats_the_key_is_cleaned() {
        let echoed = guard().strip_header(&HeaderValue::from_static("got BSAkeyBSA1!"));
        assert_eq!(echoed.to_str().unwrap(), format!("got {PLACEHOLDER}!"));
    }
}
