//! How fast traffic is read: megabytes a second, natively.
//!
//! `cargo bench -p traffic` runs all; a word after `--` runs the cases whose name has it. `--profile component-traffic` measures with the
//! optimisation levels of the component.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    missing_docs
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use base64::Engine as _;
use traffic::checks::Checker;
use traffic::h1::{Framer, FramerLimits, Side};
use traffic::intake::{Format, Item, Limits, Reader};
use traffic::redact::{Mode, Redactor};
use traffic::search::{Mask, Pattern};
use traffic::{Exchange, Span};

/// Bytes of the files.
const FILE: usize = 64 << 20;

/// Bytes of one read.
const CHUNK: usize = 64 << 10;

/// Least time spent on a case.
const TIME: Duration = Duration::from_millis(1000);

fn page(number: usize) -> String {
    let mut text = String::from("<!doctype html>\n<title>Shop</title>\n");
    for line in 0..400 {
        let _ = writeln!(
            text,
            "<p class=\"row\">Item {} of {number}: the quick brown fox jumps over \"lazy\" dogs &amp; {}</p>",
            line,
            line * 7919 % 1000
        );
    }
    text
}

fn request(number: usize) -> String {
    format!(
        "GET /items/{number}?page=2&sort=name HTTP/1.1\r\nHost: shop.example\r\nCookie: sid=abcdef0123456789abcd{number}; theme=dark\r\nUser-Agent: Mozilla/5.0\r\nAccept: text/html\r\n\r\n"
    )
}

fn response(number: usize) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nSet-Cookie: sid=abcdef0123456789abcd{number}; HttpOnly\r\n\r\n{}",
        page(number)
    )
}

fn burp(encoded: bool) -> Vec<u8> {
    let engine = base64::engine::general_purpose::STANDARD;
    let mut out = String::from("<?xml version=\"1.0\"?>\n<items burpVersion=\"2024\">\n");
    let mut number = 0;
    while out.len() < FILE {
        let write = |text: String| if encoded { engine.encode(text) } else { text };
        let _ = writeln!(
            out,
            "<item><time>Thu Sep 10 13:28:43 UTC 2015</time><url><![CDATA[https://shop.example/items/{number}]]></url><request base64=\"{encoded}\"><![CDATA[{}]]></request><response base64=\"{encoded}\"><![CDATA[{}]]></response><comment></comment></item>",
            write(request(number)),
            write(response(number))
        );
        number += 1;
    }
    out.push_str("</items>");
    out.into_bytes()
}

fn har() -> Vec<u8> {
    let mut out = String::from(
        "{\"log\":{\"version\":\"1.2\",\"creator\":{\"name\":\"bench\",\"version\":\"1\"},\"entries\":[\n",
    );
    let mut number = 0;
    while out.len() < FILE {
        if number > 0 {
            out.push_str(",\n");
        }
        let headers: Vec<String> = (0..20)
            .map(|at| format!("{{\"name\":\"header-{at}\",\"value\":\"some value of {at}\"}}"))
            .collect();
        let _ = write!(
            out,
            "{{\"startedDateTime\":\"2024-05-01T10:00:00.000Z\",\"time\":12.5,\"request\":{{\"method\":\"GET\",\"url\":\"https://shop.example/items/{number}\",\"httpVersion\":\"http/2.0\",\"headers\":[{0}]}},\"response\":{{\"status\":200,\"statusText\":\"OK\",\"httpVersion\":\"http/2.0\",\"headers\":[{0}],\"content\":{{\"size\":1,\"mimeType\":\"text/html\",\"text\":{1}}}}},\"timings\":{{\"send\":0,\"wait\":1,\"receive\":2}}}}",
            headers.join(","),
            serde_json::to_string(&page(number)).unwrap()
        );
        number += 1;
    }
    out.push_str("]}}");
    out.into_bytes()
}

fn read(format: Format, bytes: &[u8]) -> u64 {
    let mut reader = Reader::new(format, Limits::default());
    for chunk in bytes.chunks(CHUNK) {
        black_box(reader.push(chunk));
    }
    let (_, report) = reader.finish();
    assert!(report.complete && report.skipped == 0);
    report.taken
}

fn exchanges(bytes: &[u8], count: usize) -> Vec<Exchange> {
    let mut reader = Reader::new(Format::BurpXml, Limits::default());
    let items = bytes
        .chunks(CHUNK)
        .flat_map(|chunk| reader.push(chunk).items);
    items
        .filter_map(|item| match item {
            Item::Exchange(exchange) => Some(*exchange),
            Item::Skip(_) => None,
        })
        .take(count)
        .collect()
}

fn measure(name: &str, bytes: usize, mut run: impl FnMut()) {
    let filter = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with("--"));
    if filter.is_some_and(|filter| !name.contains(filter.as_str())) {
        return;
    }
    let mut best = Duration::MAX;
    let begin = Instant::now();
    while best == Duration::MAX || begin.elapsed() < TIME {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed());
    }
    println!(
        "{name:<34}{:>10.1}{:>12.0}",
        bytes as f64 / 1e6,
        bytes as f64 / 1e6 / best.as_secs_f64()
    );
}

fn main() {
    println!("{:<34}{:>10}{:>12}", "case", "MB", "MB/s");
    let (encoded, raw, har) = (burp(true), burp(false), har());
    measure("import of Burp, base64", encoded.len(), || {
        black_box(read(Format::BurpXml, &encoded));
    });
    measure("import of Burp, raw", raw.len(), || {
        black_box(read(Format::BurpXml, &raw));
    });
    measure("import of HAR", har.len(), || {
        black_box(read(Format::Har, &har));
    });
    let all = exchanges(&raw, 200);
    let size: usize = all
        .iter()
        .map(|one| {
            one.request.bytes.len()
                + one
                    .response
                    .as_ref()
                    .map_or(0, |message| message.bytes.len())
        })
        .sum();
    for (name, pattern, literal) in [
        ("search, word", "zebra", true),
        ("search, expression", "[0-9]+ of [a-z]+", false),
        ("search, no case", "(?i)LAZY.*cats", false),
        ("search, alternatives", "password|secret|token", false),
    ] {
        let pattern = Pattern::new(pattern, literal, false).unwrap();
        let masks: Vec<Mask> = (0..20)
            .map(|at| Mask {
                place: Span {
                    start: at * 1000,
                    end: at * 1000 + 20,
                },
                shown: 40,
            })
            .collect();
        measure(name, size, || {
            for one in &all {
                black_box(pattern.find(&one.response.as_ref().unwrap().bytes, &masks, 10));
            }
        });
    }
    let key = b"key".to_vec();
    for (name, mode) in [
        ("redaction, balanced", Mode::Balanced),
        ("redaction, strict", Mode::Strict),
    ] {
        let redactor = Redactor::new(mode, key.clone(), Vec::new(), &[]);
        measure(name, size, || {
            for one in &all {
                black_box(redactor.exchange(one));
            }
        });
    }
    measure("checks", size, || {
        let mut checker = Checker::new(key.clone(), 0);
        for one in &all {
            black_box(checker.push(one));
        }
    });
    let stream: Vec<u8> = (0..200)
        .flat_map(|number| {
            let body = page(number);
            format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
            .into_bytes()
        })
        .collect();
    measure("framing", stream.len(), || {
        let mut framer = Framer::new(FramerLimits::default());
        for chunk in stream.chunks(CHUNK) {
            black_box(framer.push(Side::Server, chunk));
        }
    });
    let long = "the quick brown fox jumps over the lazy dog. ".repeat(350);
    let text: String =
        format!("token=\"{}\"\n", long.replace(' ', "-").replace('.', "1")).repeat(20);
    let redactor = Redactor::new(Mode::Balanced, key, Vec::new(), &[]);
    measure("redaction, long secrets", text.len(), || {
        drop(black_box(redactor.text(&text, false)))
    });
}
