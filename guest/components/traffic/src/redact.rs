//! `redact`.

use traffic::redact as lib;

use crate::Component;
use crate::convert::{Convert, enums, records};
use crate::wit::redact as wit;
use crate::wit::types::Exchange;

enums! {
    wit::Mode => lib::Mode { Off, Balanced, Strict }
    lib::Carrier => wit::Carrier { Userinfo, Path, Query, Fragment, Header, Cookie, Form, Json, Multipart, Xml, Text }
}

records! {
    lib::Replacement => wit::Replacement { part, index, place, shown, kind, carrier, name, placeholder }
    lib::Redacted => wit::Redacted { exchange, replaced }
    lib::RedactedText => wit::RedactedText { text, replaced }
}

/// A redactor behind a handle.
pub(crate) struct Redactor(lib::Redactor);

impl wit::GuestRedactor for Redactor {
    fn new(mode: wit::Mode, key: Vec<u8>, call_key: Vec<u8>, words: Vec<String>) -> Self {
        Self(lib::Redactor::new(mode.convert(), key, call_key, &words))
    }

    fn exchange(&self, exchange: Exchange) -> wit::Redacted {
        self.0.exchange(&exchange.convert()).convert()
    }

    fn text(&self, text: String, supplied: bool) -> wit::RedactedText {
        self.0.text(&text, supplied).convert()
    }

    fn scrub(&self, text: String) -> wit::RedactedText {
        self.0.scrub(&text).convert()
    }
}

impl wit::Guest for Component {
    type Redactor = Redactor;
}
