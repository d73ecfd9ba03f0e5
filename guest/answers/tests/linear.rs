//! Time is linear in the bytes, whatever they are: four times the input may take not much more than
//! four times the time. What is quadratic takes sixteen times, what is n log n some five.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

#[path = "common/clock.rs"]
mod clock;

use answers::{Limits, Mode, Parser};
use std::hint::black_box;

/// A ratio at 1 to 4 that only what grows faster than its input reaches.
const MOST: f64 = 9.0;

/// Tries until a ratio is believed to be bad.
const TRIES: usize = 4;

/// Size of the smaller input in units: large enough that what is quadratic shows.
const UNITS: usize = 15_000;

/// How a stream is read.
#[derive(Clone, Copy)]
struct How {
    mode: Mode,
    /// Bytes of one read.
    chunk: usize,
    /// Bytes of one tag.
    tag: Option<u32>,
}

fn read(how: How, bytes: &[u8]) {
    let limits = Limits {
        line_bytes: Some(u32::MAX),
        text_bytes: Some(u32::MAX),
        tag_bytes: how.tag,
        ..Limits::default()
    };
    let mut parser = Parser::new(how.mode, limits);
    for part in bytes.chunks(how.chunk) {
        black_box(parser.push(part));
    }
    black_box(parser.finish());
}

/// Seconds that one reading takes.
fn cost(how: How, bytes: &[u8]) -> f64 {
    clock::cost(|| read(how, bytes))
}

fn linear(name: &str, how: How, make: impl Fn(usize) -> Vec<u8>) {
    let (small, large) = (make(UNITS), make(UNITS * 4));
    let mut ratio = f64::MAX;
    for _ in 0..TRIES {
        ratio = ratio.min(cost(how, &large) / cost(how, &small));
        if ratio < MOST {
            return;
        }
    }
    panic!(
        "{name}: {} bytes take {ratio:.1} times as long as {}",
        large.len(),
        small.len()
    );
}

/// One chunk with this content, written as it stands in JSON.
fn one(content: &str) -> Vec<u8> {
    format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{content}\"}}}}]}}\n\ndata: [DONE]\n\n"
    )
    .into_bytes()
}

/// A chunk for each of them.
fn each(content: &str, times: usize) -> Vec<u8> {
    let chunk = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{content}\"}}}}]}}\n\n");
    (chunk.repeat(times) + "data: [DONE]\n\n").into_bytes()
}

const WHOLE: usize = usize::MAX;

fn whole(mode: Mode) -> How {
    How {
        mode,
        chunk: WHOLE,
        tag: None,
    }
}

/// Contents that invite reading again.
const CONTENTS: &[&str] = &[
    "<",
    "</",
    "<citation>",
    "<citation>{",
    "<answer>",
    r#"<answer>\""#,
    r#"<answer>\"a\" "#,
    r#"<answer>{\"answer\":\"a\"}"#,
    r#"<queries>{\"a\":\"<queries>{\"a\":\""#,
    r#"<queries>{\"a\":\""#,
    r#"<queries>{\"\\\"<queries>{\""#,
    "<blindspots>[[[[[[[[",
    "<usage>    ",
    "<enum_start>a",
    "<enum_end>  ",
    "<blindspots>[1,",
    r#"<blindspots>[\"a\"]</blindspots>"#,
    r#"<citation>{\"url\":\"http://a\",\"end_index\":0}</citation>"#,
    r#"a<citation>{\"url\":\"http://a\"}</citation>"#,
    r#"```\na<progress>{\"number_of_iterations\":1}</progress>"#,
    r#"<answer>{\"answer\":\"a\"}</answer>b"#,
    "<answer>a</answer>",
    "\u{e9}",
    "\\ud83d",
    "\\n",
    "<answe",
];

#[test]
fn contents_in_one_chunk() {
    for mode in [Mode::Answer, Mode::Research] {
        for content in CONTENTS {
            linear(content, whole(mode), |times| one(&content.repeat(times)));
        }
    }
}

#[test]
fn contents_in_a_chunk_each() {
    for mode in [Mode::Answer, Mode::Research] {
        for content in CONTENTS {
            linear(
                content,
                How {
                    chunk: 4096,
                    ..whole(mode)
                },
                |times| each(content, times),
            );
        }
    }
}

#[test]
fn contents_over_the_limit_of_a_tag() {
    let how = How {
        tag: Some(20_000),
        ..whole(Mode::Research)
    };
    for content in CONTENTS {
        linear(content, how, |times| one(&content.repeat(times)));
        linear(content, How { chunk: 4096, ..how }, |times| {
            each(content, times)
        });
    }
}

/// Answers that never close, in a stream that was cut: tags are looked for behind each.
#[test]
fn open_answers_at_a_cut() {
    for content in [
        "<answer>a<enum_end></enum_end>",
        "<answer>a<enum_end></enum_end> b",
        "<enum_end></enum_end>",
        r#"<answer><thinking>{\"a<enum_end></enum_end>"#,
        r#"<answer>{\"answer\":\"a<usage>{\"b\":1}</usage>"#,
        r#"<answer>{\"answer\":\"a<blindspots>[]</blindspots>"#,
        r#"<answer>\"a\" <usage>{\"b\":\"<answer>\"}</usage>"#,
    ]
    .iter()
    .chain(CONTENTS)
    {
        linear(content, whole(Mode::Research), |times| {
            let mut stream = one(&format!("<answer>{}", content.repeat(times)));
            stream.truncate(stream.len() - "data: [DONE]\n\n".len());
            stream
        });
    }
}

#[test]
fn numbers_in_tags() {
    linear("sources", whole(Mode::Answer), |times| {
        let tag = |number| {
            format!(
                r#"a<citation>{{\"url\":\"http://{number}\",\"snippet\":\"{number}\"}}</citation>"#
            )
        };
        one(&(0..times).map(tag).collect::<String>())
    });
    linear("snippets of a source", whole(Mode::Answer), |times| {
        let tag = |number| {
            format!(
                r#"a<citation>{{\"url\":\"http://a\",\"snippet\":\"{number}\",\"number\":{number}}}</citation>"#
            )
        };
        one(&(0..times).map(tag).collect::<String>())
    });
    linear("queries", whole(Mode::Research), |times| {
        let tag = |number| format!(r#"<queries>{{\"queries\":[\"{number}\"]}}</queries>"#);
        one(&(0..times).map(tag).collect::<String>())
    });
}

#[test]
fn framing() {
    type Make = fn(usize) -> Vec<u8>;
    let cases: [(&str, Make); 10] = [
        ("line ends", |times| b"\n".repeat(times)),
        ("carriage returns", |times| b"\r".repeat(times)),
        ("comments", |times| b":\n".repeat(times)),
        ("a long line", |times| b"x".repeat(times)),
        ("a long comment", |times| {
            [b":", &b"x".repeat(times)[..]].concat()
        }),
        ("lines of data", |times| b"data:\n".repeat(times)),
        ("no JSON", |times| b"data: x\n\n".repeat(times)),
        ("deep", |times| {
            [b"data: ", &b"[".repeat(times)[..], b"\n\n"].concat()
        }),
        ("deep objects", |times| {
            [b"data: ", &b"{\"a\":".repeat(times)[..], b"\n\n"].concat()
        }),
        ("blocking", |times| {
            [b"{\"a\":", &b"[".repeat(times)[..]].concat()
        }),
    ];
    for (name, make) in cases {
        for chunk in [WHOLE, 4096, 1] {
            linear(
                name,
                How {
                    chunk,
                    ..whole(Mode::Answer)
                },
                make,
            );
        }
    }
}

#[test]
fn links_in_an_answer() {
    for part in [
        "[",
        "](",
        "](http://a",
        "](http://a(",
        "[a](http://a ",
        "[a](<http://a ",
        "![",
        "![a](",
        "![a](b(",
        "`",
        "`a``b```",
        "http://",
        "http://a(",
        "http://a)",
        "<http://a",
        "](http://a ![",
        "```\\n",
        "``` `\\n",
        "~~~ ",
        " ",
        "\\\\",
    ] {
        linear(part, whole(Mode::Research), |times| {
            one(&format!("<answer>{}</answer>", part.repeat(times)))
        });
    }
}
