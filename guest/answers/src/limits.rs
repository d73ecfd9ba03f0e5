//! The limits of one stream, each with its reason.

/// Longest line (and longest event, where its data spans lines). A research answer comes whole in one
/// line and is well below 1 MiB; a blocking reply counts as one line too. Below half of the text's limit, since a line is in
/// memory together with the text, the possible tag and the event that come of it.
pub const DEFAULT_LINE_BYTES: u32 = 3 * 1024 * 1024;

/// Longest payload of one tag. `thinking` with all its URLs stays below 100 KiB, a long report too. A quarter of the
/// text's limit: a payload that is an answer is in memory four times until its event is handed out.
pub const DEFAULT_TAG_BYTES: u32 = 2 * 1024 * 1024;

/// Most text that is kept, in and outside of answers and in what the tags hold. The answer and its
/// rendering are copies of it, so it decides what memory a stream can take at worst.
pub const DEFAULT_TEXT_BYTES: u32 = 8 * 1024 * 1024;

/// Longest stream. With the recorded 200 bytes of JSON around a delta, this is over a million deltas.
pub const DEFAULT_STREAM_BYTES: u64 = 256 * 1024 * 1024;

/// Most events that one server-sent event may give. Recorded ones give up to 3, a blocking reply with all its tags some
/// hundred; in memory an event takes up to 400 bytes where its tag has 30.
pub const MAX_EVENTS: usize = 8 * 1024;

/// Most warnings that are kept of one stream, so that a hostile one cannot fill memory with them.
pub const MAX_WARNINGS: usize = 64;

/// The limits of one stream. An absent one takes its default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one line of the stream.
    pub line_bytes: Option<u32>,
    /// Bytes of the payload of one tag.
    pub tag_bytes: Option<u32>,
    /// Bytes of text collected, outside and inside of answers and tags together.
    pub text_bytes: Option<u32>,
    /// Bytes of the whole stream.
    pub stream_bytes: Option<u64>,
}

impl Limits {
    /// Bytes of one line.
    pub(crate) fn line(&self) -> usize {
        self.line_bytes.unwrap_or(DEFAULT_LINE_BYTES) as usize
    }

    /// Bytes of the payload of one tag.
    pub(crate) fn tag(&self) -> usize {
        self.tag_bytes.unwrap_or(DEFAULT_TAG_BYTES) as usize
    }

    /// Bytes of text.
    pub(crate) fn text(&self) -> usize {
        self.text_bytes.unwrap_or(DEFAULT_TEXT_BYTES) as usize
    }

    /// Bytes of the stream.
    pub(crate) fn stream(&self) -> u64 {
        self.stream_bytes.unwrap_or(DEFAULT_STREAM_BYTES)
    }
}
