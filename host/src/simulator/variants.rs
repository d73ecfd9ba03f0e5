//! The variants of a scenario, which change how its reply is sent.

use axum::http::StatusCode;

/// The variants of a scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // independent switches, each a word on the command line
pub struct Variants {
    /// The body is compressed with gzip.
    pub gzip: bool,
    /// The body is split at random positions.
    pub split: bool,
    /// The events have the format of the API documentation.
    pub openai: bool,
    /// Lines end with CRLF.
    pub crlf: bool,
    /// Lines end with CR.
    pub cr: bool,
    /// The body begins with a byte order mark.
    pub bom: bool,
    /// Comment lines are sent between events.
    pub comments: bool,
    /// There is no space after `data:`.
    pub no_space: bool,
    /// A refusal has the format of the API documentation.
    pub docs: bool,
    /// A refusal has the format `{"detail": …}`.
    pub detail: bool,
    /// A refusal is plain text.
    pub text: bool,
    /// Only the first request with a question is refused.
    pub once: bool,
    /// Every request is refused.
    pub always: bool,
    /// Replies other than refusals have the status 203 instead of 200.
    pub status_203: bool,
}

impl Variants {
    /// Returns the line terminator.
    #[must_use]
    pub const fn line_end(self) -> &'static str {
        match (self.crlf, self.cr) {
            (true, _) => "\r\n",
            (false, true) => "\r",
            (false, false) => "\n",
        }
    }

    /// Returns the status of replies other than refusals.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        if self.status_203 {
            StatusCode::NON_AUTHORITATIVE_INFORMATION
        } else {
            StatusCode::OK
        }
    }

    /// Enables a variant. Returns whether the name is known.
    pub(super) fn set(&mut self, name: &str) -> bool {
        let switch = match name {
            "gzip" => &mut self.gzip,
            "split" => &mut self.split,
            "openai" => &mut self.openai,
            "crlf" => &mut self.crlf,
            "cr" => &mut self.cr,
            "bom" => &mut self.bom,
            "comments" => &mut self.comments,
            "no-space" => &mut self.no_space,
            "docs" => &mut self.docs,
            "detail" => &mut self.detail,
            "text" => &mut self.text,
            "once" => &mut self.once,
            "always" => &mut self.always,
            "status-203" => &mut self.status_203,
            _ => return false,
        };
        *switch = true;
        true
    }
}
