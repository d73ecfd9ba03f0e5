//! The known tags, and what each can contain.

/// A known tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// A source of the text before it.
    Citation,
    /// The start of a list of entities.
    EnumStart,
    /// An entity.
    EnumItem,
    /// The end of a list of entities.
    EnumEnd,
    /// What the call used and cost.
    Usage,
    /// The queries of an iteration of research.
    Queries,
    /// A query whose results are being read.
    Analyzing,
    /// The result of a query.
    Thinking,
    /// How far the research has come.
    Progress,
    /// What the research could not find.
    Blindspots,
    /// The answer of research.
    Answer,
}

/// The kind of a payload.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
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

/// Longest payload in bytes of a tag whose payload is a word. `ul` and `ol` are known.
pub(crate) const MAX_WORD: usize = 16;

impl Tag {
    /// The tags of a reply in research: all of them.
    pub const OF_RESEARCH: &[Tag] = &[
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
    pub const OF_AN_ANSWER: &[Tag] = Self::OF_RESEARCH.split_at(10).0;

    /// The tags within the text of an `<answer>`.
    pub const WITHIN_AN_ANSWER: &[Tag] = &[Tag::Citation];

    /// Returns the closer. Without its slash it is the opener.
    pub(crate) fn closer(self) -> &'static str {
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

    /// Returns the name.
    pub fn name(self) -> &'static str {
        let closer = self.closer();
        closer.get(2..closer.len() - 1).unwrap_or_default()
    }

    /// Returns the opener after its `<`.
    pub(crate) fn opener_rest(self) -> &'static str {
        self.closer().get(2..).unwrap_or_default()
    }

    /// Returns the length of the opener in bytes.
    pub(crate) fn opener_len(self) -> usize {
        self.closer().len() - 1
    }

    /// Returns the kind of its payload.
    pub(crate) fn kind(self) -> Kind {
        match self {
            Tag::EnumStart => Kind::Word,
            Tag::EnumEnd => Kind::Empty,
            Tag::Blindspots => Kind::List,
            Tag::Answer => Kind::Answer,
            _ => Kind::Object,
        }
    }
}
