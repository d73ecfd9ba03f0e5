//! The calls that need no stream. Each runs in a session of its own.

use super::Answers;
use super::{Failure, Format, Header, HttpRequest, InvalidField, Mode, Outcome, Question, Styled};
use crate::sandbox::SandboxError;

impl Answers {
    /// Checks a question and builds its request; the inner error names every field that is wrong.
    ///
    /// # Errors
    /// What the call ended with.
    pub fn build(
        &self,
        question: &Question,
    ) -> Result<Result<HttpRequest, Vec<InvalidField>>, SandboxError> {
        self.open()?
            .call(|store, guest| guest.glovebox_answers_request().call_build(store, question))
    }

    /// What an unsuccessful HTTP reply means.
    ///
    /// # Errors
    /// What the call ended with.
    pub fn failure(
        &self,
        status: u16,
        headers: &[Header],
        body: &[u8],
    ) -> Result<Failure, SandboxError> {
        self.open()?.call(|store, guest| {
            let reply = guest.glovebox_answers_reply();
            reply.call_failure(store, status, headers, body)
        })
    }

    /// The outcome of a reply that is all there, with the default limits.
    ///
    /// # Errors
    /// What the call ended with.
    pub fn parse_all(
        &self,
        mode: Mode,
        headers: &[Header],
        bytes: &[u8],
    ) -> Result<Outcome, SandboxError> {
        self.open()?.call(|store, guest| {
            let reply = guest.glovebox_answers_reply();
            reply.call_parse_all(store, mode, headers, bytes)
        })
    }

    /// Which mode a captured stream was made in, by its tags.
    ///
    /// # Errors
    /// What the call ended with.
    pub fn infer_mode(&self, bytes: &[u8]) -> Result<Mode, SandboxError> {
        self.open()?
            .call(|store, guest| guest.glovebox_answers_reply().call_infer_mode(store, bytes))
    }

    /// The outcome as text, without a final line end.
    ///
    /// # Errors
    /// What the call ended with.
    pub fn render(&self, outcome: &Outcome, format: Format) -> Result<String, SandboxError> {
        self.open()?.call(|store, guest| {
            let normalize = guest.glovebox_answers_normalize();
            normalize.call_render(store, outcome, format)
        })
    }

    /// The blocks at the beginning of a Markdown text that may still grow; `last` says that it is all there.
    ///
    /// # Errors
    /// What the call ended with.
    pub fn spans(&self, text: &str, last: bool) -> Result<Styled, SandboxError> {
        self.open()?.call(|store, guest| {
            let normalize = guest.glovebox_answers_normalize();
            normalize.call_spans(store, text, last)
        })
    }
}
