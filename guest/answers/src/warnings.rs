//! The codes of warnings. They are stable, because programs compare them.

/// Data of an event that is no JSON object.
pub(crate) const BAD_EVENT: &str = "bad-event";
/// A tag's payload of the right kind in the wrong shape.
pub(crate) const BAD_TAG: &str = "bad-tag";
/// A citation without a URL.
pub(crate) const BAD_CITATION: &str = "bad-citation";
/// A cost that is negative, above 1,000 US dollars or no number; it counts as not sent.
pub(crate) const BAD_COST: &str = "bad-cost";
/// Events without a blank line between them, which were read line by line.
pub(crate) const NO_BLANK_LINE: &str = "no-blank-line";
/// Characters in the answer or in a URL that are not seen or that change the direction of text.
pub(crate) const INVISIBLE: &str = "invisible-characters";
/// A URL that is not http or https.
pub(crate) const BAD_URL: &str = "bad-url";
/// A citation without a usable `end_index`: its marker stands where it arrived.
pub(crate) const BAD_POSITION: &str = "bad-position";
/// A tag consumed in an open code fence.
pub(crate) const TAG_IN_CODE: &str = "tag-in-code";
/// A payload over its limit, so prose.
pub(crate) const TAG_LIMIT: &str = "tag-limit";
/// A possible tag dropped at a cut end.
pub(crate) const UNCLOSED_TAG: &str = "unclosed-tag";
/// An answer salvaged as far as it came.
pub(crate) const UNCLOSED_ANSWER: &str = "unclosed-answer";
/// A blocking reply that ends too early; what came of it is kept.
pub(crate) const CUT_BODY: &str = "cut-body";
/// There were more warnings than are kept.
pub(crate) const MORE_WARNINGS: &str = "more-warnings";
