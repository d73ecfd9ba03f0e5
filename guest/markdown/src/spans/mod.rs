//! Markdown as styled spans, block by block, for a terminal.
//!
//! The text is untrusted: what comes out has no control characters, no characters that change the direction of text and
//! no links other than http and https. Markdown is read as language models write it, which is less than all of CommonMark:
//! HTML and reference definitions are text.

mod blocks;
mod inline;

/// Most bytes of text that one call reads, other than in a code block, so that a call takes little time and memory.
pub const MAX_BYTES: usize = 64 << 10;

/// The style of a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Bold.
    pub strong: bool,
    /// Italic.
    pub emphasis: bool,
    /// Struck through.
    pub strikethrough: bool,
    /// In a fixed-width font.
    pub code: bool,
}

/// Text in one style.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The text. A line end is a hard line break; other control characters never occur.
    pub text: String,
    /// How it looks.
    pub style: Style,
    /// Where it links to: an http or https URL.
    pub link: Option<String>,
}

/// A block and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// How many quotes it is in.
    pub quote: u32,
    /// How many lists it is in; 1 for the items of an outer list and what is below them.
    pub depth: u32,
    /// What it is.
    pub kind: BlockKind,
}

/// What a block is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// A paragraph.
    Paragraph(Vec<Span>),
    /// A heading.
    Heading(Heading),
    /// The first paragraph of a list's item.
    Item(Item),
    /// A code block.
    Code(Code),
    /// A table.
    Table(Table),
    /// A horizontal rule.
    Rule,
}

/// A heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// From 1, the highest, to 6.
    pub level: u8,
    /// Its text.
    pub spans: Vec<Span>,
}

/// The first paragraph of a list's item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its number, in a numbered list.
    pub number: Option<u32>,
    /// Its text.
    pub spans: Vec<Span>,
}

/// A code block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The first word after the opening fence.
    pub language: Option<String>,
    /// Its lines, each with its line end.
    pub text: String,
}

/// A table. Rows can have fewer or more cells than the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// How the text of each column is aligned.
    pub columns: Vec<Alignment>,
    /// The header, then the rows; each is a list of cells.
    pub rows: Vec<Vec<Vec<Span>>>,
}

/// How the text of a column is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// To the left, or not said.
    Left,
    /// In the middle.
    Center,
    /// To the right.
    Right,
}

/// The blocks at the beginning of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Styled {
    /// Blocks that no further text can change.
    pub closed: Vec<Block>,
    /// Bytes of the text that they came from. The next call takes the text from here on.
    pub used: u32,
    /// Blocks after these that further text can still change, for showing them as they come.
    pub open: Vec<Block>,
}

/// Returns the blocks at the beginning of a growing text; `last` says that the text is complete. A caller shows the closed blocks,
/// removes the bytes used from the text and calls again with more, in the end until nothing is left.
pub fn spans(text: &str, last: bool) -> Styled {
    let (window, cut) = window(text, last);
    // Only a code block is read beyond the window, and then up to the last line end too.
    let whole = text
        .get(..complete(text, last).max(window))
        .unwrap_or_default();
    let mut units = blocks::units(whole, window);
    let ends = |unit: &blocks::Unit| unit.done || (last && !cut);
    let only = cut && units.len() == 1;
    let open = units.pop_if(|unit| !only && !ends(unit));
    let used = match (&open, units.last()) {
        (Some(open), _) => open.range.start,
        (None, Some(unit)) => unit.range.end.max(window),
        (None, None) => window,
    };
    let mut closed = Vec::new();
    for unit in &units {
        unit.read(whole, &mut closed);
    }
    Styled {
        closed,
        used: u32::try_from(used).unwrap_or(u32::MAX),
        open: if last { Vec::new() } else { shown(text, used) },
    }
}

/// Returns the blocks of a text from `used` on, as they are so far.
fn shown(text: &str, used: usize) -> Vec<Block> {
    let rest = text.get(used..).unwrap_or_default();
    let (window, _) = window(rest, true);
    let mut open = Vec::new();
    for unit in blocks::units(rest, window) {
        unit.read(rest, &mut open);
    }
    open
}

/// Returns the length of the whole lines of a text. A line without its end can still become any block.
fn complete(text: &str, last: bool) -> usize {
    match memchr::memrchr(b'\n', text.as_bytes()) {
        _ if last => text.len(),
        Some(end) => end + 1,
        None => 0,
    }
}

/// Returns the length of the text that is read: its whole lines within the bound. The second value is true if the bound cuts
/// the text. A line that is longer than the bound is cut between characters.
fn window(text: &str, last: bool) -> (usize, bool) {
    if text.len() <= MAX_BYTES {
        return (complete(text, last), false);
    }
    let bytes = text.as_bytes().get(..MAX_BYTES).unwrap_or_default();
    let end = memchr::memrchr(b'\n', bytes)
        .map_or_else(|| text.floor_char_boundary(MAX_BYTES), |end| end + 1);
    (end, true)
}
