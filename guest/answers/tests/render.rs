//! The outcome for a person.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

use answers::{Cost, Format, Mode, Outcome, OutcomeError, Source, Usage, parse_all, render};

fn source(number: u32, cited: bool) -> Source {
    Source {
        number,
        url: format!("https://example.com/{number}"),
        snippets: vec![],
        positions: vec![],
        upstream_numbers: vec![],
        cited,
    }
}

fn outcome() -> Outcome {
    Outcome {
        answer: "Iron rusts.[1]\n".to_owned(),
        text: "Iron rusts.\n".to_owned(),
        complete: true,
        error: None,
        sources: vec![source(1, true), source(2, false)],
        blindspots: vec!["How\nfast".to_owned()],
        queries: vec!["rust".to_owned(), "iron".to_owned()],
        usage: Some(Usage {
            queries: Some(1),
            tokens_in: Some(8625),
            tokens_out: Some(150),
            cost_usd: Cost {
                total: Some(0.047875),
                ..Cost::default()
            },
            ..Usage::default()
        }),
        ..parse_all(Mode::Answer, &[], b"")
    }
}

#[test]
fn markdown() {
    assert_eq!(
        render(&outcome(), Format::Markdown),
        "Iron rusts.[1]\n\n## Sources\n\n1. <https://example.com/1>\n\n## Also read\n\n2. <https://example.com/2>\n\n\
         ## Not found\n\n- How fast\n\n## Queries\n\n- rust\n- iron\n\n\
         *Cost: $0.047875, 1 query, 8625 tokens in, 150 tokens out*"
    );
}

#[test]
fn plain() {
    assert_eq!(
        render(&outcome(), Format::Plain),
        "Iron rusts.[1]\n\nSources:\n  [1] https://example.com/1\n\nAlso read:\n  [2] https://example.com/2\n\n\
         Not found:\n  - How fast\n\nQueries:\n  - rust\n  - iron\n\n\
         Cost: $0.047875, 1 query, 8625 tokens in, 150 tokens out"
    );
}

#[test]
fn what_is_missing_is_said() {
    let cut = Outcome {
        complete: false,
        truncated: true,
        usage: None,
        sources: vec![],
        queries: vec![],
        blindspots: vec![],
        ..outcome()
    };
    assert_eq!(
        render(&cut, Format::Plain),
        "Iron rusts.[1]\n\nIncomplete: the reply ended before its end.\n\nCut short by the token limit."
    );
    let failed = Outcome {
        answer: String::new(),
        draft: "half".to_owned(),
        truncated: false,
        error: Some(OutcomeError {
            kind: "upstream-error".to_owned(),
            message: "no\nmore".to_owned(),
        }),
        ..cut
    };
    assert_eq!(
        render(&failed, Format::Plain),
        "No answer came.\n\nDraft:\nhalf\n\nThe reply ended with an error: no more"
    );
    let mut guessed = outcome();
    let usage = guessed.usage.as_mut().unwrap();
    usage.cost_usd.total = None;
    usage.cost_usd_estimate = Some(0.05);
    assert!(render(&guessed, Format::Plain).contains("about $0.05 (estimated)"));
}

/// A person sees micro-dollars at most; a program sees every digit.
#[test]
fn costs_without_noise() {
    for (cost, shown) in [
        (0.374_220_000_000_000_05, "$0.37422,"),
        (0.047_875, "$0.047875,"),
        (0.000_001_4, "$0.000001,"),
        (0.000_000_6, "$0.000001,"),
        (0.0, "$0,"),
        (2.0, "$2,"),
        (1.999_999_9, "$2,"),
        (12.05, "$12.05,"),
        (100.0, "$100,"),
    ] {
        let mut outcome = outcome();
        outcome.usage.as_mut().unwrap().cost_usd.total = Some(cost);
        for format in [Format::Plain, Format::Markdown] {
            let text = render(&outcome, format);
            assert!(text.contains(&format!("Cost: {shown}")), "{text}");
        }
        let exact = serde_json::to_string(&cost).unwrap();
        let json = render(&outcome, Format::Json);
        assert!(json.contains(&format!("\"total\":{exact}}}")), "{json}");
    }
}

#[test]
fn json_is_one_line_in_the_order_of_the_contract() {
    let text = render(&outcome(), Format::Json);
    assert!(text.starts_with(r#"{"mode":"answer","complete":true,"truncated":false,"finish_reason":null,"model":null,"answer":"Iron rusts.[1]\n","text":"#));
    assert_eq!(text, serde_json::to_string(&outcome()).unwrap());
}

/// Control characters of a reply do not reach a terminal.
#[test]
fn no_escapes() {
    let odd = Outcome {
        answer: "a\u{1b}[2J\n\tb\r\n".to_owned(),
        queries: vec!["\u{1b}[2Jx\u{9b}".to_owned()],
        ..outcome()
    };
    let text = render(&odd, Format::Plain);
    assert!(!text.contains(['\u{1b}', '\u{9b}', '\r']));
    assert!(text.starts_with("a[2J\n\tb\n\n"));
}
