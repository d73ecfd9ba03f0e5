//! How fast streams are read: megabytes of raw stream a second, natively.
//!
//! `cargo bench -p answers` runs all; a word after `--` runs the cases whose name has it.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs
)]

use answers::{Limits, Mode, Parser};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Size of the streams, as in the bar.
const STREAM: usize = 50_000_000;

/// Bytes of one read from the network.
const CHUNK: usize = 64 * 1024;

/// Least time spent on a case.
const TIME: Duration = Duration::from_millis(1500);

struct Case {
    name: &'static str,
    mode: Mode,
    bytes: Vec<u8>,
}

fn main() {
    let filter = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with("--"));
    println!("{:<34}{:>10}{:>12}", "case", "MB", "MB/s");
    for (name, mode, make) in CASES {
        if filter
            .as_ref()
            .is_some_and(|filter| !name.contains(filter.as_str()))
        {
            continue;
        }
        let case = Case {
            name,
            mode: *mode,
            bytes: make(),
        };
        run(&case);
    }
}

type Make = fn() -> Vec<u8>;

const CASES: &[(&str, Mode, Make)] = &[
    ("deltas of 1-24 characters", Mode::Answer, || {
        stream(&mut short_deltas(), true)
    }),
    ("deltas of 1-24, other look", Mode::Answer, || {
        stream(&mut short_deltas(), false)
    }),
    ("deltas of 1 KB", Mode::Answer, || {
        stream(&mut kilobyte(PROSE), true)
    }),
    ("deltas of 1 KB, research", Mode::Research, || {
        stream(&mut kilobyte(PROSE), true)
    }),
    ("deltas of 1 KB, escapes", Mode::Answer, || {
        stream(&mut kilobyte(ESCAPES), true)
    }),
    ("deltas of 1 KB, not Latin", Mode::Answer, || {
        stream(&mut kilobyte(JAPANESE), true)
    }),
    ("hostile: a million <", Mode::Research, || {
        one("<", 1_000_000)
    }),
    ("hostile: a million < alone", Mode::Research, || {
        stream(&mut || "<".to_owned(), true)
    }),
    ("hostile: a line of 1 MB", Mode::Answer, || {
        one("x", 1_000_000)
    }),
    ("hostile: 100,000 openers", Mode::Answer, || {
        one("<citation>{", 100_000)
    }),
    ("hostile: openers in strings", Mode::Answer, || {
        one(r#"<queries>{\"a\":\""#, 100_000)
    }),
    ("hostile: answers in quotes", Mode::Research, || {
        one(r#"<answer>\""#, 100_000)
    }),
    ("hostile: bare answers", Mode::Research, || {
        one("<answer>", 600_000)
    }),
    ("hostile: deep JSON", Mode::Answer, || {
        one("<blindspots>[[[[[[[[[[[[[[[[", 50_000)
    }),
    ("hostile: deep chunk", Mode::Answer, || {
        b"data: [[[[[[[[\n\n".repeat(100_000)
    }),
    ("hostile: line ends", Mode::Answer, || {
        b"\n".repeat(5_000_000)
    }),
    ("hostile: no JSON", Mode::Answer, || {
        b"data: x\n\n".repeat(500_000)
    }),
    ("hostile: escapes", Mode::Answer, || one(r"\ud83d", 500_000)),
    ("hostile: links", Mode::Research, || {
        answer("](http://a(", 300_000)
    }),
    ("hostile: brackets", Mode::Research, || {
        answer("[", 3_000_000)
    }),
    ("hostile: backticks", Mode::Research, || {
        answer("`a``b```", 500_000)
    }),
];

fn run(case: &Case) {
    let limits = Limits {
        text_bytes: Some(100_000_000),
        ..Limits::default()
    };
    let mut runs = 0;
    let start = Instant::now();
    let busy = cpu_time();
    while start.elapsed() < TIME {
        let mut parser = Parser::new(case.mode, limits);
        for chunk in case.bytes.chunks(CHUNK) {
            black_box(parser.push(chunk));
        }
        black_box(parser.finish());
        runs += 1;
    }
    let megabytes = case.bytes.len() as f64 / 1e6;
    let spent = match (busy, cpu_time()) {
        (Some(before), Some(after)) => after.saturating_sub(before),
        _ => start.elapsed(),
    };
    let speed = megabytes * f64::from(runs) / spent.as_secs_f64();
    println!("{:<34}{megabytes:>10.2}{speed:>12.0}", case.name);
}

/// Time on a processor, which unlike the clock does not count other people's work. Linux alone has it here.
fn cpu_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

const PROSE: &str = "The tower was built for the World's Fair of 1889 \u{2013} and it stayed. ";
const ESCAPES: &str = r#"She said \"so\" and left.\nThen\t\u00e9toile. "#;
const JAPANESE: &str = "エッフェル塔は一八八九年に建てられた。";

/// Text in the lengths that a recorded stream has.
fn short_deltas() -> impl FnMut() -> String {
    let words: Vec<char> = PROSE.chars().collect();
    let (mut at, mut seed) = (0, 1_u32);
    move || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let length = (seed >> 24) as usize % 24 + 1;
        let text = words.iter().cycle().skip(at).take(length).collect();
        at = (at + length) % words.len();
        text
    }
}

fn kilobyte(text: &str) -> impl FnMut() -> String {
    let text = text.repeat(1024 / text.len());
    move || text.clone()
}

fn chunk(out: &mut String, content: &str, recorded: bool) {
    let (before, after) = if recorded {
        (
            r#"data: {"model":"brave-pro","system_fingerprint":"","choices":[{"delta":{"role":"assistant","content":""#,
            r#""},"finish_reason":null}],"created":1793452800,"id":"f9b6e571-43cc-4268-80bc-475a6b11c454","object":"chat.completion.chunk","usage":null}"#,
        )
    } else {
        (
            r#"data: {"id":"chatcmpl-f9b6e571","object":"chat.completion.chunk","created":1793452800,"model":"brave","choices":[{"index":0,"delta":{"content":""#,
            r#""},"finish_reason":null}]}"#,
        )
    };
    out.extend([before, content, after, "\n\n"]);
}

fn stream(delta: &mut dyn FnMut() -> String, recorded: bool) -> Vec<u8> {
    let mut out = String::with_capacity(STREAM + 4096);
    while out.len() < STREAM {
        chunk(&mut out, &delta(), recorded);
    }
    out += "data: [DONE]\n\n";
    out.into_bytes()
}

/// One chunk that holds something many times.
fn one(what: &str, times: usize) -> Vec<u8> {
    let mut out = String::new();
    chunk(&mut out, &what.repeat(times), true);
    out += "data: [DONE]\n\n";
    out.into_bytes()
}

/// A research answer that holds something many times.
fn answer(what: &str, times: usize) -> Vec<u8> {
    one(&format!("<answer>{}</answer>", what.repeat(times)), 1)
}
