//! A text that grows, and the citations that arrive in it.

use crate::citations::{Frame, Sources};
use crate::event::Citation;
use markdown::fence::Fences;

/// From this size on a text is given memory for all that its limit leaves. Answers have some 10 KB, reports 100 KB.
const LARGE_TEXT: usize = 256 << 10;

/// The text of an answer without its tags, and the sources cited in it.
#[derive(Debug, Default)]
pub(crate) struct Cited {
    text: String,
    fences: Fences,
    points: Points,
    pub sources: Sources,
}

/// Code points of a text that only grows, counted when somebody asks.
#[derive(Debug, Default)]
struct Points {
    bytes: usize,
    points: usize,
}

impl Points {
    fn count(&mut self, text: &str) -> u32 {
        let new = text.get(self.bytes..).unwrap_or_default();
        self.points += new.chars().count();
        self.bytes = text.len();
        u32::try_from(self.points).unwrap_or(u32::MAX)
    }
}

impl Cited {
    /// A text that is all there and has no citations yet.
    pub(crate) fn whole(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }

    /// The text so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Appends text; it may grow by `room` more after that.
    pub(crate) fn push(&mut self, more: &str, room: usize) {
        if self.text.capacity() - self.text.len() < more.len() {
            // Moving a large text, and touching new memory for that, is most of what reading a large stream costs, so it
            // grows in big steps; never beyond its limit, which is what bounds the memory of a stream.
            let growth = match self.text.len() {
                0..LARGE_TEXT => self.text.len().saturating_mul(3),
                length => length.saturating_mul(7),
            };
            self.text.reserve_exact(more.len() + growth.min(room / 2));
        }
        self.text.push_str(more);
    }

    /// Whether the end of the text is inside an open code fence.
    pub(crate) fn is_in_code(&mut self) -> bool {
        self.fences.is_inside(&self.text)
    }

    /// Takes a citation that arrived at the end of the text so far. The second value says whether its own position could
    /// be used, the third whether its source is new.
    pub(crate) fn cite(&mut self, frame: &Frame<'_>) -> (Citation, bool, bool) {
        let arrived = self.points.count(&self.text);
        self.sources.cite(frame, arrived)
    }

    /// The text with `[n]` markers, the text, and its sources.
    pub(crate) fn finish(self) -> (String, String, Sources) {
        (self.sources.mark(&self.text), self.text, self.sources)
    }
}
