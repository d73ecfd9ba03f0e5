//! The tags that are known, and what each may hold.

/// A tag that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    Citation,
    EnumStart,
    EnumItem,
    EnumEnd,
    Usage,
    Queries,
    Analyzing,
    Thinking,
    Progress,
    Blindspots,
    Answer,
}

/// What a payload must be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A JSON object.
    Object,
    /// A JSON array or object.
    List,
    /// A short word of letters.
    Word,
    /// Nothing.
    Empty,
    /// A JSON object or string, else any text up to the first closer.
    Answer,
}

/// Longest payload of a tag whose payload is a word; `ul` and `ol` are known.
pub(super) const MAX_WORD: usize = 16;

impl Tag {
    /// The tags of a reply in research: all of them.
    pub(crate) const OF_RESEARCH: &[Tag] = &[
        Tag::Citation,
        Tag::EnumStart,
        Tag::EnumItem,
        Tag::EnumEnd,
        Tag::Usage,
        Tag::Queries,
        Tag::Analyzing,
        Tag::Thinking,
        Tag::Progress,
        Tag::Blindspots,
        Tag::Answer,
    ];

    /// The tags of a reply that is a single answer: all but `<answer>`, which is text there.
    pub(crate) const OF_AN_ANSWER: &[Tag] = Self::OF_RESEARCH.split_at(10).0;

    /// The tags within the text of an `<answer>`.
    pub(crate) const WITHIN_AN_ANSWER: &[Tag] = &[Tag::Citation];

    /// The closer; without its slash it is the opener.
    pub(super) fn closer(self) -> &'static str {
        match self {
            Tag::Citation => "</citation>",
            Tag::EnumStart => "</enum_start>",
            Tag::EnumItem => "</enum_item>",
            Tag::EnumEnd => "</enum_end>",
            Tag::Usage => "</usage>",
            Tag::Queries => "</queries>",
            Tag::Analyzing => "</analyzing>",
            Tag::Thinking => "</thinking>",
            Tag::Progress => "</progress>",
            Tag::Blindspots => "</blindspots>",
            Tag::Answer => "</answer>",
        }
    }

    /// The name, without brackets.
    pub(crate) fn name(self) -> &'static str {
        let closer = self.closer();
        closer.get(2..closer.len() - 1).unwrap_or_default()
    }

    /// The opener after its `<`.
    pub(super) fn opener_rest(self) -> &'static str {
        self.closer().get(2..).unwrap_or_default()
    }

    /// Bytes of the opener.
    pub(super) fn opener_len(self) -> usize {
        self.closer().len() - 1
    }

    /// What its payload must be.
    pub(super) fn kind(self) -> Kind {
        match self {
            Tag::EnumStart => Kind::Word,
            Tag::EnumEnd => Kind::Empty,
            Tag::Blindspots => Kind::List,
            Tag::Answer => Kind::Answer,
            _ => Kind::Object,
        }
    }
}
