//! Compares the parser in the sandbox with the same parser compiled natively, in one run.
//!
//! Run it with `cargo bench -p glovebox --bench parse`. It reports MB of stream per second, the best of several rounds.
//! It then measures hostile inputs at two sizes: the time must grow linearly. `GLOVEBOX_TEST_COMPONENT` selects another
//! component.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    missing_docs
)]

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use glovebox::answers::{Answers, AnswersConfig, Parser};
use glovebox::answers::{Limits, Mode};
use glovebox::sandbox::{Bounds, Sandbox};

/// The size of the long streams in bytes.
const STREAM_BYTES: usize = 50_000_000;
/// The size of the chunks that a socket delivers.
const CHUNK_BYTES: usize = 64 << 10;
/// The rounds of the long streams. The best round is the one that other programs disturbed least.
const ROUNDS: usize = 5;
/// The size of the smaller hostile input in bytes. The larger one has twice this size.
const HOSTILE_BYTES: usize = 8_000_000;

fn main() {
    let config = AnswersConfig {
        component: std::env::var_os("GLOVEBOX_TEST_COMPONENT").map(PathBuf::from),
        // The default bounds are for replies, not for a stream of 50 MB.
        bounds: Bounds {
            memory_bytes: 1 << 30,
            output_bytes: 1 << 30,
            cpu: Duration::from_secs(60),
            ..Bounds::default()
        },
    };
    let answers = Answers::start(&Sandbox::default(), config);
    start();
    throughput(&answers);
    hostile(&answers);
}

/// Measures the cost at launch: on the thread that starts the component, and until the first parser is ready.
fn start() {
    println!("{:<28} {:>9} {:>9} {:>9}", "µs", "start", "ready", "parser");
    let folder = tempfile::tempdir().unwrap();
    for name in ["nothing kept", "compiled code kept"] {
        let begin = Instant::now();
        let sandbox = Sandbox::new(Some(folder.path().join("compiled")));
        let answers = Answers::start(&sandbox, AnswersConfig::default());
        let started = begin.elapsed();
        drop(answers.parser(Mode::Answer, Limits::default()).unwrap());
        let ready = begin.elapsed();
        drop(answers.parser(Mode::Answer, Limits::default()).unwrap());
        let parser = begin.elapsed() - ready;
        let [started, ready, parser] = [started, ready, parser].map(|time| time.as_micros());
        println!("{name:<28} {started:>9} {ready:>9} {parser:>9}");
    }
    println!();
}

fn throughput(answers: &Answers) {
    println!(
        "{:<28} {:>9} {:>9} {:>7}",
        "MB/s", "sandbox", "native", "ratio"
    );
    for (name, shortest, longest) in [
        ("deltas of 1 KB", 1000, 1000),
        ("deltas of 1-24 characters", 1, 24),
    ] {
        let stream = stream(shortest, longest);
        let row = |name: &str, sandboxed: f64, native: f64| {
            let ratio = sandboxed / native;
            println!("{name:<28} {sandboxed:>9.0} {native:>9.0} {ratio:>7.2}");
        };
        row(
            name,
            speed(&stream, || drop(pushed(answers, Mode::Answer, &stream))),
            speed(&stream, || drop(pushed_natively(&stream))),
        );
        // The end returns the text twice, with and without markers. For 50 MB this takes as long as reading it.
        row(
            "  and the outcome",
            speed(&stream, || sandboxed(answers, Mode::Answer, &stream)),
            speed(&stream, || drop(pushed_natively(&stream).finish())),
        );
    }
}

fn speed(stream: &[u8], read: impl Fn()) -> f64 {
    let best = (0..ROUNDS).map(|_| timed(&read)).min().unwrap();
    stream.len() as f64 / 1e6 / best.as_secs_f64()
}

fn timed(read: impl Fn()) -> Duration {
    let start = now();
    read();
    now().saturating_sub(start)
}

/// Returns the CPU time of this thread, or the elapsed time if the system does not report it. Other programs affect CPU
/// time less.
fn now() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    let on_processor = std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse().ok());
    match on_processor {
        Some(nanoseconds) => Duration::from_nanos(nanoseconds),
        None => START.get_or_init(Instant::now).elapsed(),
    }
}

fn hostile(answers: &Answers) {
    println!("\n{:<28} {:>9} {:>9} {:>7}", "ms", "8 MB", "16 MB", "ratio");
    for (name, mode, make) in HOSTILE {
        let [small, large] = [HOSTILE_BYTES, 2 * HOSTILE_BYTES].map(|bytes| {
            let stream = make(bytes);
            let best = (0..3)
                .map(|_| timed(|| sandboxed(answers, *mode, &stream)))
                .min();
            best.unwrap().as_secs_f64() * 1e3
        });
        let ratio = large / small;
        println!("{name:<28} {small:>9.1} {large:>9.1} {ratio:>7.2}");
    }
}

type Hostile = (&'static str, Mode, fn(usize) -> Vec<u8>);

/// Inputs that make a careless parser slow.
const HOSTILE: &[Hostile] = &[
    ("nothing but <", Mode::Answer, |bytes| {
        delta(&"<".repeat(bytes))
    }),
    ("one long line", Mode::Answer, |bytes| vec![b'x'; bytes]),
    ("opened tags", Mode::Answer, |bytes| {
        delta(&r#"<citation>{\"a\":"#.repeat(bytes / 16))
    }),
    ("openers alone", Mode::Research, |bytes| {
        delta(&"<answer><queries>".repeat(bytes / 17))
    }),
    ("deep JSON in a tag", Mode::Answer, |bytes| {
        delta(&format!("<usage>{}", "[".repeat(bytes)))
    }),
    ("deep JSON in a chunk", Mode::Answer, |bytes| {
        format!("data: {}\n\n", "[".repeat(bytes)).into_bytes()
    }),
    ("empty events", Mode::Answer, |bytes| {
        b"data:\n\n".repeat(bytes / 7)
    }),
    ("comments", Mode::Answer, |bytes| b":\n".repeat(bytes / 2)),
    ("citations", Mode::Answer, |bytes| {
        (0..bytes / 60)
            .flat_map(|n| {
                delta(&format!(r#"x<citation>{{\"url\":\"https://a.example/{n}\",\"end_index\":{n}}}</citation>"#))
            })
            .collect()
    }),
    ("links", Mode::Research, |bytes| {
        delta(&format!("<answer>{}</answer>", "[a](".repeat(bytes / 4)))
    }),
];

fn sandboxed(answers: &Answers, mode: Mode, stream: &[u8]) {
    pushed(answers, mode, stream).finish().unwrap();
}

fn pushed(answers: &Answers, mode: Mode, stream: &[u8]) -> Parser {
    let limits = Limits {
        line_bytes: Some(u32::MAX),
        tag_bytes: Some(u32::MAX),
        text_bytes: Some(u32::MAX),
        stream_bytes: None,
    };
    let mut parser = answers.parser(mode, limits).unwrap();
    for chunk in stream.chunks(CHUNK_BYTES) {
        parser.push(chunk).unwrap();
    }
    parser
}

fn pushed_natively(stream: &[u8]) -> answers::Parser {
    let limits = answers::Limits {
        line_bytes: Some(u32::MAX),
        tag_bytes: Some(u32::MAX),
        text_bytes: Some(u32::MAX),
        stream_bytes: None,
    };
    let mut parser = answers::Parser::new(answers::Mode::Answer, limits);
    for chunk in stream.chunks(CHUNK_BYTES) {
        drop(parser.push(chunk));
    }
    parser
}

/// The text that deltas are cut from: prose, non-ASCII characters and line ends.
const WORDS: &str = "The arch spans 1,410 m – a record held for years. The bridge was opened in 1981 by the Queen, \
    and until the end of the century none was longer. Its towers lean apart by 36 mm for the curve of the earth.\\n";

/// Returns a stream in the recorded format with deltas of between `shortest` and `longest` characters.
fn stream(shortest: usize, longest: usize) -> Vec<u8> {
    let words: Vec<char> = WORDS.chars().collect();
    let mut stream = String::with_capacity(STREAM_BYTES + 2048);
    let (mut at, mut seed) = (0_usize, 1_u64);
    while stream.len() < STREAM_BYTES {
        // A deterministic generator, so that every run reads the same bytes.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let span = (longest - shortest + 1) as u64;
        let length = shortest + usize::try_from((seed >> 33) % span).unwrap();
        let mut content: String = words
            .iter()
            .cycle()
            .skip(at % words.len())
            .take(length)
            .collect();
        // Do not split an escape sequence.
        if content.ends_with('\\') {
            content.push('n');
        }
        if content.starts_with('n') && at % words.len() != 0 {
            content.insert(0, '\\');
        }
        at += length;
        chunk(&mut stream, &content);
    }
    stream.push_str("data: [DONE]\n");
    stream.into_bytes()
}

/// Returns the stream of one delta. The content is already escaped for JSON.
fn delta(content: &str) -> Vec<u8> {
    let mut stream = String::with_capacity(content.len() + 512);
    chunk(&mut stream, content);
    stream.into_bytes()
}

fn chunk(stream: &mut String, content: &str) {
    stream.push_str(r#"data: {"model":"brave-pro","system_fingerprint":"","choices":[{"delta":{"role":"assistant","content":""#);
    stream.push_str(content);
    stream.push_str(r#""},"finish_reason":null}],"created":1760000000,"id":"0b5e4f0c-7e5c-4d6b-8a7e-2f1f5c9d3e61","object":"chat.completion.chunk","usage":null}"#);
    stream.push_str("\n\n");
}
