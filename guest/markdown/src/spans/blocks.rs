//! Cuts Markdown into blocks.

use super::inline::{clean, inline};
use super::{Alignment, Block, BlockKind, Code, Heading, Item, Table};
use crate::fence;
use std::ops::Range;

/// Deepest nesting of quotes and of lists. What is deeper counts as this deep.
const MAX_DEPTH: usize = 16;

/// Most columns of a table; further cells are left out.
const MAX_COLUMNS: usize = 64;

/// A block of the outermost level: a heading, a paragraph, a whole list.
pub(super) struct Unit {
    pub range: Range<usize>,
    kind: Kind,
    /// Whether no further text can change it.
    pub done: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Paragraph,
    /// `#`, or a paragraph with a line of `=` or `-` below.
    Heading,
    List,
    Quote,
    Code,
    Table,
    Rule,
}

/// Returns the units that begin before `window`. Only a code block can go on after it.
pub(super) fn units(text: &str, window: usize) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut open: Option<Unit> = None;
    let mut at = 0;
    while at < window {
        let (within, whole) = (
            text.get(at..window).unwrap_or_default(),
            text.get(at..).unwrap_or_default(),
        );
        let line = within.split_inclusive('\n').next().unwrap_or_default();
        let end = at + line.len();
        let ended = line.ends_with('\n');
        let blank = line.trim_ascii().is_empty();
        if let Some(mut unit) = open.take() {
            if goes_on(&unit, line, text) {
                if unit.kind == Kind::Paragraph && underline(line).is_some() {
                    unit.kind = Kind::Heading;
                    unit.done = ended;
                    unit.range.end = end;
                    units.push(unit);
                } else {
                    // A blank line belongs to a list only if more of it follows.
                    if !blank {
                        unit.range.end = end;
                    }
                    open = Some(unit);
                }
                at = end;
                continue;
            }
            unit.done = true;
            units.push(unit);
        }
        if blank {
            at = end;
            continue;
        }
        let kind = kind(line, within.get(line.len()..).unwrap_or_default());
        let mut unit = Unit {
            range: at..end,
            kind,
            done: false,
        };
        match kind {
            Kind::Code => {
                (unit.range.end, unit.done) = code_end(whole, at);
                at = unit.range.end;
                units.push(unit);
                continue;
            }
            Kind::Heading | Kind::Rule => {
                unit.done = ended;
                units.push(unit);
            }
            _ => open = Some(unit),
        }
        at = end;
    }
    units.extend(open);
    units
}

/// Returns the kind of unit that a line begins, given the lines after it.
fn kind(line: &str, rest: &str) -> Kind {
    if opens_fence(line).is_some() {
        Kind::Code
    } else if heading(line).is_some() {
        Kind::Heading
    } else if is_rule(line) {
        Kind::Rule
    } else if quoted(line).is_some() {
        Kind::Quote
    } else if marker(line).is_some() {
        Kind::List
    } else if line.contains('|')
        && rest
            .lines()
            .next()
            .is_some_and(|next| columns(next).is_some())
    {
        Kind::Table
    } else {
        Kind::Paragraph
    }
}

/// Returns whether a line belongs to the unit before it.
fn goes_on(unit: &Unit, line: &str, text: &str) -> bool {
    let blank = line.trim_ascii().is_empty();
    match unit.kind {
        Kind::Paragraph => !blank && (underline(line).is_some() || !interrupts(line)),
        Kind::Quote => !blank && quoted(line).is_some(),
        Kind::Table => !blank && line.contains('|'),
        Kind::List => {
            let last = text.get(unit.range.end..).unwrap_or_default();
            let after_blank = last.starts_with(['\n', '\r'])
                || last.trim_start_matches([' ', '\t']).starts_with('\n');
            blank
                || marker(line).is_some() && !is_rule(line)
                || indent(line) >= 2
                || (!after_blank && !interrupts(line))
        }
        Kind::Heading | Kind::Code | Kind::Rule => false,
    }
}

/// Returns whether a line begins a block although it follows a paragraph's line.
fn interrupts(line: &str) -> bool {
    opens_fence(line).is_some()
        || heading(line).is_some()
        || is_rule(line)
        || quoted(line).is_some()
        || marker(line).is_some_and(|marker| marker.number.is_none_or(|number| number == 1))
}

impl Unit {
    /// Appends the unit's blocks.
    pub(super) fn read(&self, text: &str, blocks: &mut Vec<Block>) {
        let text = text.get(self.range.clone()).unwrap_or_default();
        let mut push = |kind| {
            blocks.push(Block {
                quote: 0,
                depth: 0,
                kind,
            })
        };
        match self.kind {
            Kind::Paragraph => push(BlockKind::Paragraph(inline(text))),
            Kind::Heading => push(BlockKind::Heading(read_heading(text))),
            Kind::Code => push(BlockKind::Code(read_code(text))),
            Kind::Table => push(BlockKind::Table(read_table(text))),
            Kind::Rule => push(BlockKind::Rule),
            Kind::List => read_list(text, blocks),
            Kind::Quote => read_quote(text, blocks),
        }
    }
}

fn indent(line: &str) -> usize {
    let width = |byte: &u8| match byte {
        b' ' => Some(1),
        b'\t' => Some(4),
        _ => None,
    };
    line.as_bytes().iter().map_while(width).sum()
}

/// Returns the fence that a line opens.
fn opens_fence(line: &str) -> Option<(u8, usize)> {
    fence::after(None, line.as_bytes())
}

/// Returns where the code block that begins at `at` ends, and whether it is closed.
fn code_end(text: &str, at: usize) -> (usize, bool) {
    let mut open = None;
    let mut end = at;
    for line in text.split_inclusive('\n') {
        end += line.len();
        let before = open;
        open = fence::after(open, line.as_bytes());
        if before.is_some() && open.is_none() {
            return (end, true);
        }
    }
    (end, false)
}

/// Returns the level of a heading and its text.
fn heading(line: &str) -> Option<(u8, &str)> {
    let line = line.trim_ascii();
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    ((1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t'])))
        .then(|| (level as u8, rest.trim_ascii()))
}

/// Returns the level of the heading that this line makes of the paragraph above it.
fn underline(line: &str) -> Option<u8> {
    let line = line.trim_ascii();
    let all = |mark: char| line.len() >= 2 && line.chars().all(|char| char == mark);
    if all('=') {
        Some(1)
    } else if all('-') {
        Some(2)
    } else {
        None
    }
}

fn is_rule(line: &str) -> bool {
    let line = line.trim_ascii();
    ['-', '*', '_'].into_iter().any(|mark| {
        line.chars().filter(|&char| char == mark).count() >= 3
            && line.chars().all(|char| char == mark || char == ' ')
    })
}

/// The marker of a list's item.
struct Marker {
    number: Option<u32>,
    /// Columns before its text.
    indent: usize,
    /// Bytes before its text.
    length: usize,
}

fn marker(line: &str) -> Option<Marker> {
    let trimmed = line.trim_start_matches([' ', '\t']);
    let before = line.len() - trimmed.len();
    let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
    let (number, length) = match digits {
        0 if trimmed.starts_with(['-', '*', '+']) => (None, 1),
        1..=9
            if trimmed
                .get(digits..)
                .is_some_and(|rest| rest.starts_with(['.', ')'])) =>
        {
            (trimmed.get(..digits)?.parse().ok(), digits + 1)
        }
        _ => return None,
    };
    let rest = trimmed.get(length..)?;
    let space = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    (space > 0 || rest.trim_ascii().is_empty()).then_some(Marker {
        number,
        indent: indent(line),
        length: before + length + space,
    })
}

fn read_heading(text: &str) -> Heading {
    if let Some((level, title)) = heading(text) {
        let title = title.trim_end_matches('#').trim_ascii_end();
        return Heading {
            level,
            spans: inline(title),
        };
    }
    let body = text.trim_ascii_end();
    let (title, line) = body.rsplit_once('\n').unwrap_or((body, ""));
    Heading {
        level: underline(line).unwrap_or(1),
        spans: inline(title),
    }
}

/// Reads a code block. Its lines lose the indent of its fence.
fn read_code(text: &str) -> Code {
    let mut lines = text.split_inclusive('\n').peekable();
    let first = lines.next().unwrap_or_default();
    let open = opens_fence(first);
    let indent = indent(first);
    let info = first
        .trim_ascii()
        .trim_start_matches(['`', '~'])
        .trim_ascii();
    let language = info
        .split_ascii_whitespace()
        .next()
        .map(|word| clean(word).into_owned());
    let mut code = String::new();
    while let Some(line) = lines.next() {
        if lines.peek().is_none() && fence::after(open, line.as_bytes()).is_none() {
            break;
        }
        let spaces = line
            .bytes()
            .take(indent)
            .take_while(|&byte| byte == b' ')
            .count();
        let line = line.get(spaces..).unwrap_or_default();
        code.push_str(&clean(line.trim_end_matches(['\n', '\r'])));
        code.push('\n');
    }
    Code {
        language,
        text: code,
    }
}

/// Returns the columns of a table, if this is the line below its header.
fn columns(line: &str) -> Option<Vec<Alignment>> {
    let line = line.trim_ascii();
    if !line.contains('-')
        || !line.contains('|')
        || !line.bytes().all(|byte| b"|-: ".contains(&byte))
    {
        return None;
    }
    let column = |cell: &str| match (cell.starts_with(':'), cell.ends_with(':')) {
        (true, true) => Alignment::Center,
        (false, true) => Alignment::Right,
        _ => Alignment::Left,
    };
    Some(cells(line).into_iter().map(column).collect())
}

/// Returns the cells of a line, without the white space around them.
fn cells(line: &str) -> Vec<&str> {
    let line = line.trim_ascii();
    let line = line.strip_prefix('|').unwrap_or(line);
    let line = line
        .strip_suffix('|')
        .filter(|rest| !rest.ends_with('\\'))
        .unwrap_or(line);
    let mut cells = Vec::new();
    let (mut from, mut escaped) = (0, false);
    for (at, byte) in line.bytes().enumerate() {
        if byte == b'|' && !escaped && cells.len() < MAX_COLUMNS {
            cells.push(line.get(from..at).unwrap_or_default().trim_ascii());
            from = at + 1;
        }
        escaped = byte == b'\\' && !escaped;
    }
    if cells.len() < MAX_COLUMNS {
        cells.push(line.get(from..).unwrap_or_default().trim_ascii());
    }
    cells
}

fn read_table(text: &str) -> Table {
    let mut columns_of = Vec::new();
    let mut rows = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if index == 1 {
            columns_of = columns(line).unwrap_or_default();
        } else {
            rows.push(cells(line).into_iter().map(inline).collect());
        }
    }
    Table {
        columns: columns_of,
        rows,
    }
}

/// Reads a quote. Successive lines of one depth are read together.
fn read_quote(text: &str, blocks: &mut Vec<Block>) {
    let (mut inner, mut depth) = (String::new(), 0);
    for line in text.split_inclusive('\n') {
        let (quotes, rest) = quotes(line);
        if quotes != depth {
            read_quoted(&inner, depth, blocks);
            inner.clear();
            depth = quotes;
        }
        inner.push_str(rest);
    }
    read_quoted(&inner, depth, blocks);
}

/// Returns the text that a line quotes.
fn quoted(line: &str) -> Option<&str> {
    let inner = line.trim_start_matches([' ', '\t']).strip_prefix('>')?;
    Some(inner.strip_prefix(' ').unwrap_or(inner))
}

/// Returns how many quotes a line is in, and its text.
fn quotes(line: &str) -> (u32, &str) {
    let mut rest = line;
    let mut quotes = 0;
    while let Some(inner) = quoted(rest) {
        quotes += 1;
        rest = inner;
    }
    (quotes.min(MAX_DEPTH as u32), rest)
}

fn read_quoted(text: &str, depth: u32, blocks: &mut Vec<Block>) {
    let first = blocks.len();
    for unit in units(text, text.len()) {
        unit.read(text, blocks);
    }
    for block in blocks.iter_mut().skip(first) {
        block.quote += depth;
    }
}

/// Reads a list and the lists in it.
fn read_list(text: &str, blocks: &mut Vec<Block>) {
    let mut list = List {
        blocks,
        open: Vec::new(),
        part: None,
        text: String::new(),
    };
    let mut at = 0;
    while let Some(line) = text
        .get(at..)
        .and_then(|rest| rest.split_inclusive('\n').next())
    {
        let start = at;
        at += line.len();
        if opens_fence(line).is_some() {
            let rest = text.get(start..).unwrap_or_default();
            at = code_end(rest, start).0;
            list.flush();
            let code = read_code(text.get(start..at).unwrap_or_default());
            list.push(BlockKind::Code(code));
        } else if line.trim_ascii().is_empty() {
            list.flush();
        } else if let Some(marker) = marker(line) {
            list.item(&marker, line);
        } else {
            list.text(line);
        }
    }
    list.flush();
}

/// A list that is being read.
struct List<'a> {
    blocks: &'a mut Vec<Block>,
    /// The columns at which the text of each open item begins at least, the outermost first.
    open: Vec<usize>,
    /// What is being collected: an item's first paragraph with its number, or a further paragraph.
    part: Option<Part>,
    text: String,
}

enum Part {
    Item(Option<u32>),
    Paragraph,
}

impl List<'_> {
    fn push(&mut self, kind: BlockKind) {
        self.blocks.push(Block {
            quote: 0,
            depth: self.open.len() as u32,
            kind,
        });
    }

    /// Ends what is being collected.
    fn flush(&mut self) {
        match self.part.take() {
            Some(Part::Item(number)) => {
                let spans = inline(&self.text);
                self.push(BlockKind::Item(Item { number, spans }));
            }
            Some(Part::Paragraph) => self.push(BlockKind::Paragraph(inline(&self.text))),
            None => {}
        }
        self.text.clear();
    }

    fn item(&mut self, marker: &Marker, line: &str) {
        self.flush();
        self.close(marker.indent);
        if self.open.len() < MAX_DEPTH {
            self.open.push(marker.indent + 2);
        }
        self.part = Some(Part::Item(marker.number));
        self.text
            .push_str(line.get(marker.length..).unwrap_or_default());
    }

    fn text(&mut self, line: &str) {
        if self.part.is_none() {
            self.close(indent(line));
            self.part = Some(Part::Paragraph);
        }
        self.text.push_str(line);
    }

    /// Closes the items that text at this column is not in.
    fn close(&mut self, column: usize) {
        while self.open.last().is_some_and(|&open| column < open) {
            self.open.pop();
        }
    }
}
