//! Markdown as styled spans: what each construct gives, that nothing harmful comes out, and that a text gives the same
//! blocks however it grows.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

use markdown::{Alignment, Block, BlockKind, MAX_BYTES, Span, Styled, spans};
use proptest::prelude::*;

/// All blocks of a text that is all there.
fn blocks(text: &str) -> Vec<Block> {
    grown(text, text.len().max(1))
}

/// All blocks of a text that comes in pieces of so many bytes.
fn grown(text: &str, step: usize) -> Vec<Block> {
    let (mut blocks, mut from, mut to) = (Vec::new(), 0, 0);
    loop {
        to = text.ceil_char_boundary((to + step).min(text.len()));
        let last = to == text.len();
        let styled = spans(&text[from..to], last);
        from += styled.used as usize;
        blocks.extend(styled.closed);
        if last && from == text.len() {
            assert!(styled.open.is_empty());
            return blocks;
        }
        assert!(
            !last || styled.used > 0,
            "no progress at {from} of {text:?}"
        );
    }
}

/// A span in a short form: `**strong**`, `_emphasis_`, `~~struck~~`, `` `code` ``, `[text](URL)`.
fn short(spans: &[Span]) -> String {
    let mut short = String::new();
    for span in spans {
        let mut text = span.text.clone();
        for (on, mark) in [
            (span.style.code, "`"),
            (span.style.emphasis, "_"),
            (span.style.strong, "**"),
            (span.style.strikethrough, "~~"),
        ] {
            if on {
                text = format!("{mark}{text}{mark}");
            }
        }
        if let Some(link) = &span.link {
            text = format!("[{text}]({link})");
        }
        short += &text;
    }
    short
}

fn line(block: &Block) -> String {
    let text = match &block.kind {
        BlockKind::Paragraph(spans) => short(spans),
        BlockKind::Heading(heading) => format!("h{} {}", heading.level, short(&heading.spans)),
        BlockKind::Item(item) => match item.number {
            Some(number) => format!("{number}. {}", short(&item.spans)),
            None => format!("* {}", short(&item.spans)),
        },
        BlockKind::Code(code) => format!("code {:?} {:?}", code.language.as_deref(), code.text),
        BlockKind::Table(table) => {
            let row = |row: &Vec<Vec<Span>>| {
                row.iter()
                    .map(|cell| short(cell))
                    .collect::<Vec<_>>()
                    .join("|")
            };
            table.rows.iter().map(row).collect::<Vec<_>>().join(" / ")
        }
        BlockKind::Rule => "rule".to_owned(),
    };
    let (quote, depth) = (
        ">".repeat(block.quote as usize),
        "  ".repeat(block.depth as usize),
    );
    format!("{quote}{depth}{text}")
}

fn lines(text: &str) -> Vec<String> {
    blocks(text).iter().map(line).collect()
}

#[test]
fn blocks_of_each_kind() {
    let text = "# One\nText that\ngoes on.\n\nTwo\n===\n***\n- a\n- b\n  1. c\n     more\n  2. d\n\n  below\n- e\n\nEnd\n\n```rust x\nlet a = 1;\n\n  b\n```\n> quoted\n> - item\n>> deeper\n\n| a | b |\n|---|:-:|\n| **1** | `x` |\n| 2 |\n\nlast";
    assert_eq!(
        lines(text),
        [
            "h1 One",
            "Text that goes on.",
            "h1 Two",
            "rule",
            "  * a",
            "  * b",
            "    1. c more",
            "    2. d",
            "  below",
            "  * e",
            "End",
            "code Some(\"rust\") \"let a = 1;\\n\\n  b\\n\"",
            ">quoted",
            ">  * item",
            ">>deeper",
            "a|b / **1**|`x` / 2",
            "last",
        ]
    );
    let table = &blocks("|a|b|c|\n|:-|-:|:-:|\n")[0].kind;
    let BlockKind::Table(table) = table else {
        panic!("{table:?}")
    };
    assert_eq!(
        table.columns,
        [Alignment::Left, Alignment::Right, Alignment::Center]
    );
}

#[test]
fn code_in_a_list_and_code_that_is_not_closed() {
    assert_eq!(
        lines("1. run\n   ```sh\n   ls\n     -l\n   ```\n2. done"),
        [
            "  1. run",
            "  code Some(\"sh\") \"ls\\n  -l\\n\"",
            "  2. done"
        ]
    );
    assert_eq!(lines("```\na *b*\n# c"), ["code None \"a *b*\\n# c\\n\""]);
}

#[test]
fn styles_and_links() {
    for (text, expected) in [
        ("a **b** c", "a **b** c"),
        ("*a* _b_ __c__ ~~d~~", "_a_ _b_ **c** ~~d~~"),
        ("***a***", "**_a_**"),
        ("**a *b* c**", "**a ****_b_**** c**"),
        ("snake_case_name 2 * 3 * 4", "snake_case_name 2 * 3 * 4"),
        ("a ** b", "a ** b"),
        ("**open", "**open"),
        ("`a *b*` ``c`d``", "`a *b*` `c`d`"),
        (
            "[a **b**](https://x.example/y \"t\") z",
            "[a ](https://x.example/y)[**b**](https://x.example/y) z",
        ),
        ("[1] and [x](/relative)", "[1] and [x](/relative)"),
        (
            "<https://a.example> https://b.example/c. d",
            "[https://a.example](https://a.example) [https://b.example/c](https://b.example/c). d",
        ),
        (
            "![pic](https://a.example/i.png)",
            "[pic](https://a.example/i.png)",
        ),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
        (r"\*a\* \[b\]", "*a* [b]"),
        ("a  \nb\\\nc\nd", "a\nb\nc d"),
    ] {
        assert_eq!(lines(text), [expected], "{text}");
    }
}

#[test]
fn nothing_harmful_comes_out() {
    let text = "a\u{1b}]8;;http\u{7}b\u{1b}\\ \u{9b}31m c\u{202e}d\u{2066}e\r\u{8}f\u{200b}g\tz";
    assert_eq!(lines(text), ["a]8;;httpb\\ 31m cdefg    z"]);
    // A URL that would show as another one is no link.
    let spans = blocks("https://a.example/\u{202e}b");
    assert!(
        matches!(&spans[0].kind, BlockKind::Paragraph(spans) if spans.iter().all(|span| span.link.is_none()))
    );
    let code = blocks("```x\u{1b}\na\u{1b}[31mb\u{9d}\n```");
    assert_eq!(
        lines("```x\u{1b}\na\u{1b}[31mb\u{9d}\n```"),
        ["code Some(\"x\") \"a[31mb\\n\""],
        "{code:?}"
    );
}

#[test]
fn what_is_open_is_shown_and_what_is_closed_stays() {
    let styled = spans("# A\n\nb **c", false);
    assert_eq!(styled.closed.iter().map(line).collect::<Vec<_>>(), ["h1 A"]);
    assert_eq!(styled.open.iter().map(line).collect::<Vec<_>>(), ["b **c"]);
    assert_eq!(styled.used, 5);
    assert_eq!(spans("", true), Styled::default());
}

#[test]
fn one_call_reads_so_much_and_no_more() {
    let text = "word ".repeat(100_000);
    let styled = spans(&text, true);
    assert!(styled.used as usize <= MAX_BYTES && styled.open.is_empty());
    assert!(grown(&text, text.len()).len() < 10);
    let code = format!("```\n{}```\n", "x\n".repeat(100_000));
    assert_eq!(blocks(&code).len(), 1);
}

/// Pieces that Markdown is made of.
fn markdown() -> impl Strategy<Value = String> {
    let pieces = proptest::sample::select(vec![
        "a",
        "word ",
        "\n",
        "\n\n",
        "# ",
        "- ",
        "1. ",
        "  ",
        "> ",
        "```",
        "~~~",
        "*",
        "**",
        "_",
        "`",
        "[",
        "](",
        "https://a.b",
        ")",
        "|",
        "|-|-|",
        "---",
        "===",
        "\\",
        "\u{1b}",
        "é",
        "\u{202e}",
        "\t",
        "<",
        ">",
        "\r\n",
        "~~",
    ]);
    proptest::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

/// All text of a block.
fn all_text(block: &Block) -> String {
    let all = |spans: &[Span]| {
        spans
            .iter()
            .map(|span| span.text.as_str())
            .collect::<String>()
    };
    match &block.kind {
        BlockKind::Paragraph(spans) => all(spans),
        BlockKind::Heading(heading) => all(&heading.spans),
        BlockKind::Item(item) => all(&item.spans),
        BlockKind::Code(code) => format!(
            "{}{}",
            code.language.as_deref().unwrap_or_default(),
            code.text
        ),
        BlockKind::Table(table) => table.rows.iter().flatten().map(|cell| all(cell)).collect(),
        BlockKind::Rule => String::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn closed_blocks_do_not_change(text in markdown(), step in 1_usize..12) {
        prop_assert_eq!(grown(&text, step), blocks(&text));
    }

    #[test]
    fn no_control_character_passes(text in markdown()) {
        for block in blocks(&text) {
            let harmful = |char: char| char != '\n' && char.is_control() || char == '\u{202e}';
            let text = all_text(&block);
            prop_assert!(!text.contains(harmful), "{:?}", text);
        }
    }
}
