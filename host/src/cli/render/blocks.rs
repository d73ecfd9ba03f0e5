//! Blocks as lines.

use textwrap::Options;

use super::Terminal;
use super::table;
use super::words::{BOLD, DIM};
use crate::answers::{Block, BlockKind, Code, Item};
use crate::cli::terminal::escape_for_terminal;

/// Before the lines of code, which are not wrapped.
const CODE_INDENT: &str = "    ";
/// Before the lines of each list that a block is in.
const LIST_INDENT: &str = "  ";
/// Before the lines of each quote that a block is in.
const QUOTE_MARK: &str = "│ ";
/// The most indentation: a deeper block is shown as if it were at this depth.
const DEEPEST: u32 = 8;

/// Renders blocks one after the other.
#[derive(Clone, Debug)]
pub struct Renderer {
    terminal: Terminal,
    previous: Previous,
}

/// What the last block was, which decides about the blank line before the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Previous {
    Nothing,
    Item,
    Other,
}

impl Renderer {
    /// Returns a renderer at the start of a text.
    #[must_use]
    pub const fn new(terminal: Terminal) -> Self {
        Self {
            terminal,
            previous: Previous::Nothing,
        }
    }

    /// Returns the lines of the next blocks, without line ends.
    pub fn lines(&mut self, blocks: &[Block]) -> Vec<String> {
        blocks.iter().flat_map(|block| self.block(block)).collect()
    }

    fn block(&mut self, block: &Block) -> Vec<String> {
        let item = matches!(block.kind, BlockKind::Item(_));
        let blank = match self.previous {
            Previous::Nothing => false,
            Previous::Item => !item,
            Previous::Other => true,
        };
        self.previous = if item {
            Previous::Item
        } else {
            Previous::Other
        };
        let mut lines = Vec::new();
        if blank {
            lines.push(String::new());
        }
        lines.extend(self.content(block));
        lines
    }

    fn content(&self, block: &Block) -> Vec<String> {
        let quote = QUOTE_MARK.repeat(block.quote.min(DEEPEST) as usize);
        let quote = self.terminal.styled(DIM, &quote);
        let inside =
            |depth: u32| format!("{quote}{}", LIST_INDENT.repeat(depth.min(DEEPEST) as usize));
        match &block.kind {
            BlockKind::Paragraph(spans) => {
                let indent = inside(block.depth);
                self.wrapped(&self.terminal.words(spans, ""), &indent, &indent)
            }
            BlockKind::Heading(heading) => {
                let indent = inside(block.depth);
                self.wrapped(&self.terminal.words(&heading.spans, BOLD), &indent, &indent)
            }
            BlockKind::Item(item) => self.item(item, &inside(block.depth.saturating_sub(1))),
            BlockKind::Code(code) => self.code(code, &inside(block.depth)),
            BlockKind::Table(rows) => {
                let indent = inside(block.depth);
                let room = self.room(&indent);
                let lines = table::lines(self.terminal, rows, room).into_iter();
                lines.map(|line| format!("{indent}{line}")).collect()
            }
            BlockKind::Rule => {
                let indent = inside(block.depth);
                let rule = "─".repeat(self.room(&indent));
                vec![format!("{indent}{}", self.terminal.styled(DIM, &rule))]
            }
        }
    }

    fn item(&self, item: &Item, indent: &str) -> Vec<String> {
        let mark = match item.number {
            Some(number) => format!("{number}. "),
            None => "• ".to_owned(),
        };
        let rest = format!("{indent}{}", " ".repeat(mark.chars().count()));
        let text = self.terminal.words(&item.spans, "");
        self.wrapped(&text, &format!("{indent}{mark}"), &rest)
    }

    fn code(&self, code: &Code, indent: &str) -> Vec<String> {
        let text = escape_for_terminal(&code.text);
        let lines = text.lines().map(|line| {
            let line = self
                .terminal
                .styled("\u{1b}[36m", &line.replace('\t', "    "));
            format!("{indent}{CODE_INDENT}{line}")
        });
        lines.collect()
    }

    fn wrapped(&self, text: &str, first: &str, rest: &str) -> Vec<String> {
        let options = Options::new(self.terminal.width)
            .initial_indent(first)
            .subsequent_indent(rest);
        let lines = textwrap::wrap(text, options);
        lines.into_iter().map(|line| line.into_owned()).collect()
    }

    /// The characters that are left of a line beside its indentation.
    fn room(&self, indent: &str) -> usize {
        let taken = textwrap::core::display_width(indent);
        self.terminal.width.saturating_sub(taken).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::{Alignment, Heading, Span, Style, Table};

    fn span(text: &str, strong: bool, link: Option<&str>) -> Span {
        let style = Style {
            strong,
            emphasis: false,
            strikethrough: false,
            code: false,
        };
        Span {
            text: text.to_owned(),
            style,
            link: link.map(str::to_owned),
        }
    }

    fn block(kind: BlockKind, depth: u32, quote: u32) -> Block {
        Block { quote, depth, kind }
    }

    fn plain(width: usize) -> Renderer {
        Renderer::new(Terminal {
            width,
            styles: false,
            links: false,
        })
    }

    #[test]
    fn blocks_are_wrapped_and_indented() {
        let text = "one two three four five six seven";
        let blocks = [
            block(
                BlockKind::Heading(Heading {
                    level: 2,
                    spans: vec![span("Title", false, None)],
                }),
                0,
                0,
            ),
            block(BlockKind::Paragraph(vec![span(text, false, None)]), 0, 0),
            block(
                BlockKind::Item(Item {
                    number: None,
                    spans: vec![span(text, false, None)],
                }),
                1,
                0,
            ),
            block(
                BlockKind::Item(Item {
                    number: Some(2),
                    spans: vec![span("second", false, None)],
                }),
                2,
                0,
            ),
            block(BlockKind::Paragraph(vec![span("said", false, None)]), 0, 1),
            block(
                BlockKind::Code(Code {
                    language: None,
                    text: "let a = 1;\n\tb\n".to_owned(),
                }),
                0,
                0,
            ),
        ];
        assert_eq!(
            plain(20).lines(&blocks),
            [
                "Title",
                "",
                "one two three four",
                "five six seven",
                "",
                "• one two three four",
                "  five six seven",
                "  2. second",
                "",
                "│ said",
                "",
                "    let a = 1;",
                "        b",
            ]
        );
    }

    #[test]
    fn links_are_sequences_or_addresses_and_nothing_else_commands_the_terminal() {
        let hostile = span("a\u{1b}[2Jb", true, Some("https://example.org/\u{1b}\\x"));
        let blocks = [block(BlockKind::Paragraph(vec![hostile]), 0, 0)];
        let lines = plain(60).lines(&blocks);
        assert_eq!(lines, ["ab (https://example.org/x)"]);
        let mut linking = Renderer::new(Terminal {
            width: 60,
            styles: true,
            links: true,
        });
        let lines = linking.lines(&blocks);
        assert_eq!(
            lines,
            ["\u{1b}]8;;https://example.org/x\u{1b}\\\u{1b}[1mab\u{1b}[0m\u{1b}]8;;\u{1b}\\"]
        );
    }

    #[test]
    fn a_table_fits_the_width() {
        let cell = |text: &str| vec![span(text, false, None)];
        let table = Table {
            columns: vec![Alignment::Left, Alignment::Right],
            rows: vec![
                vec![cell("name"), cell("n")],
                vec![cell("a long name of something"), cell("12")],
            ],
        };
        let lines = plain(18).lines(&[block(BlockKind::Table(table), 0, 0)]);
        assert_eq!(
            lines,
            [
                "name             n",
                "──────────────  ──",
                "a long name of  12",
                "something",
            ]
        );
    }
}
