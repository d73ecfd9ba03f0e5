//! A growing text and the citations that arrive in it.

use crate::citations::{CitationFrame, Sources};
use crate::event::Citation;
use markdown::fence::Fences;

/// Bytes from which a text grows in larger steps. Answers have some 10 KB, reports 100 KB.
const LARGE_TEXT: usize = 256 << 10;

/// The text of an answer without its tags, and the sources cited in it.
#[derive(Debug, Default)]
pub(crate) struct CitedText {
    text: String,
    fences: Fences,
    points: CodePoints,
    pub sources: Sources,
}

/// Counts the code points of a growing text, each byte once.
#[derive(Debug, Default)]
struct CodePoints {
    bytes: usize,
    points: usize,
}

impl CodePoints {
    fn count(&mut self, text: &str) -> u32 {
        let new = text.get(self.bytes..).unwrap_or_default();
        self.points += new.chars().count();
        self.bytes = text.len();
        u32::try_from(self.points).unwrap_or(u32::MAX)
    }
}

impl CitedText {
    /// Creates one from a complete text without citations.
    pub(crate) fn whole(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }

    /// Returns the text so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Appends text. After that, at most `room` more bytes will be appended.
    pub(crate) fn push(&mut self, more: &str, room: usize) {
        if self.text.capacity() - self.text.len() < more.len() {
            // Most of the time of reading a large stream goes into moving its text to larger memory, so it grows in large
            // steps. Half of the remaining room bounds a step, and with it the memory of a stream.
            let growth = match self.text.len() {
                0..LARGE_TEXT => self.text.len().saturating_mul(3),
                length => length.saturating_mul(7),
            };
            self.text.reserve_exact(more.len() + growth.min(room / 2));
        }
        self.text.push_str(more);
    }

    /// Returns whether the end of the text is inside an open code fence.
    pub(crate) fn is_in_code(&mut self) -> bool {
        self.fences.is_inside(&self.text)
    }

    /// Adds a citation that arrived at the end of the text so far. Returns it, whether its own position could be used, and
    /// whether its source is new.
    pub(crate) fn cite(&mut self, frame: &CitationFrame<'_>) -> (Citation, bool, bool) {
        let arrived = self.points.count(&self.text);
        self.sources.cite(frame, arrived)
    }

    /// Returns the text with `[n]` markers, the text without them, and its sources.
    pub(crate) fn finish(self) -> (String, String, Sources) {
        (self.sources.mark(&self.text), self.text, self.sources)
    }
}
