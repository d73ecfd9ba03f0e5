//! Redaction, checks and views of exchanges.

use wasmtime::component::ResourceAny;

use super::bindings::exports::glovebox::traffic::redact::RedactedText;
use super::{Exchange, Finding, Mode, Redacted, Shown, Traffic, TrafficWorld, ViewOptions};
use crate::sandbox::{SandboxError, Session};

/// Replaces secrets under one mode and key, in a session of its own.
#[derive(Debug)]
pub struct Redactor {
    session: Session<TrafficWorld>,
    resource: ResourceAny,
}

/// Runs the passive checks over exchanges, in a session of its own.
#[derive(Debug)]
pub struct Checker {
    session: Session<TrafficWorld>,
    resource: ResourceAny,
}

impl Traffic {
    /// Returns a redactor. Equal values get equal placeholders under the same `key`; values in text that an agent supplied get
    /// theirs from `call_key`. `words` are replaced wherever they stand, in any case.
    ///
    /// # Errors
    /// What the calls ended with.
    pub fn redactor(
        &self,
        mode: Mode,
        key: &[u8],
        call_key: &[u8],
        words: &[String],
    ) -> Result<Redactor, SandboxError> {
        let mut session = self.open()?;
        let resource = session.call(|store, guest| {
            let redactors = guest.glovebox_traffic_redact().redactor();
            redactors.call_constructor(store, mode, key, call_key, words)
        })?;
        Ok(Redactor { session, resource })
    }

    /// Returns a checker. `key` is for the hashes of secrets in findings, `now_ms` the time in milliseconds since the Unix
    /// epoch, for exchanges that do not say theirs.
    ///
    /// # Errors
    /// What the calls ended with.
    pub fn checker(&self, key: &[u8], now_ms: i64) -> Result<Checker, SandboxError> {
        let mut session = self.open()?;
        let resource = session.call(|store, guest| {
            let checkers = guest.glovebox_traffic_checks().checker();
            checkers.call_constructor(store, key, now_ms)
        })?;
        Ok(Checker { session, resource })
    }

    /// Returns an exchange as text or JSON.
    ///
    /// # Errors
    /// What the call ended with.
    pub fn view(&self, exchange: &Exchange, options: ViewOptions) -> Result<Shown, SandboxError> {
        self.open()?.call(|store, guest| {
            let view = guest.glovebox_traffic_view();
            view.call_render(store, exchange, options)
        })
    }
}

impl Redactor {
    /// Redacts an exchange. Bodies are decoded in the result.
    ///
    /// # Errors
    /// What the call ended with; the redactor is over then.
    pub fn exchange(&mut self, exchange: &Exchange) -> Result<Redacted, SandboxError> {
        let resource = self.resource;
        self.session.call(|store, guest| {
            let redactors = guest.glovebox_traffic_redact().redactor();
            redactors.call_exchange(store, resource, exchange)
        })
    }

    /// Redacts a text. `supplied` says that its placeholders are ours and stay as they are.
    ///
    /// # Errors
    /// As [`Redactor::exchange`].
    pub fn text(&mut self, text: &str, supplied: bool) -> Result<String, SandboxError> {
        let resource = self.resource;
        let redacted = self.session.call(|store, guest| {
            let redactors = guest.glovebox_traffic_redact().redactor();
            redactors.call_text(store, resource, text, supplied)
        })?;
        Ok(redacted.text)
    }

    /// Replaces secrets of known shapes in text that is about to leave, and returns how many there were. There should be none.
    ///
    /// # Errors
    /// As [`Redactor::exchange`].
    pub fn scrub(&mut self, text: &str) -> Result<(String, usize), SandboxError> {
        let resource = self.resource;
        let RedactedText { text, replaced } = self.session.call(|store, guest| {
            let redactors = guest.glovebox_traffic_redact().redactor();
            redactors.call_scrub(store, resource, text)
        })?;
        Ok((text, replaced.len()))
    }

    /// Returns the media type of a response by its head, in lower case and without parameters; empty where it has none.
    ///
    /// # Errors
    /// As [`Redactor::exchange`].
    pub fn media_type(&mut self, head: &[u8]) -> Result<String, SandboxError> {
        let head = self.session.call(|store, guest| {
            let message = guest.glovebox_traffic_message();
            message.call_parse_response(store, head)
        })?;
        let value = head
            .headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case("content-type"))
            .map_or("", |header| &header.value);
        let essence = value.split(';').next().unwrap_or_default();
        Ok(essence.trim().to_ascii_lowercase())
    }
}

impl Checker {
    /// Returns the findings of an exchange, and those that it completes of exchanges before.
    ///
    /// # Errors
    /// What the call ended with; the checker is over then.
    pub fn push(&mut self, exchange: &Exchange) -> Result<Vec<Finding>, SandboxError> {
        let resource = self.resource;
        self.session.call(|store, guest| {
            let checkers = guest.glovebox_traffic_checks().checker();
            checkers.call_push(store, resource, exchange)
        })
    }
}
