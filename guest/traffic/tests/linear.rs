//! Time grows with the bytes, whatever they are: no byte takes more than a bound that plain text stays far below, and that work which grows
//! with the square of the size exceeds many times.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    clippy::print_stdout
)]

mod common;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use common::{exchanges, read, sample};
use traffic::checks::Checker;
use traffic::intake::{Format, Limits};
use traffic::message::parameters;
use traffic::redact::{Mode, Redactor};

/// Texts that are hard in one way each.
fn hard(size: usize) -> Vec<(&'static str, String)> {
    let fill = |piece: &str| piece.repeat(size / piece.len());
    vec![
        (
            "prose",
            fill("the quick brown fox jumps over the lazy dog. "),
        ),
        ("less-than", fill("<")),
        ("ampersand", fill("&")),
        ("cdata ends", fill("]]>")),
        ("cdata with spaces", fill("]]>                    ")),
        ("closers", fill("]]></response>")),
        ("tags", fill("<input name=csrf value=a ")),
        ("comments", fill("<!-- ")),
        ("equals", fill("=")),
        ("tokens", fill("token=")),
        ("quotes", fill("token=\"")),
        ("escaped quotes", fill("\\\"token\\\":\\\"")),
        ("colons", fill("a:")),
        ("hexadecimal", fill("abcdef0:")),
        ("at signs", fill("a@b.com@")),
        ("urls", fill("https://a.example/?code=1")),
        ("schemes", fill("://")),
        ("key blocks", fill("-----BEGIN PRIVATE KEY-----")),
        ("tokens of jwt", fill("eyJhbGciOiJ9.")),
        ("bearer", fill("bearer bearer ")),
        (
            "many secrets",
            (0..size / 24)
                .map(|n| format!("token=abcdefgh{n:08}\n"))
                .collect(),
        ),
        ("brackets", fill("[")),
        ("objects", fill("{\"a\":")),
        ("pairs", fill("a=b&")),
        ("dots", fill("a.com.")),
        ("addresses", fill("10.0.0.1 ")),
    ]
}

/// One measurement at a time: two would slow each other down.
static ALONE: Mutex<()> = Mutex::new(());

/// The shortest of some runs; one that is within the bound suffices.
fn time(bound: Duration, mut run: impl FnMut()) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..4 {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed());
        if best <= bound {
            break;
        }
    }
    best
}

/// A debug build takes some ten times as long as a release build. What grows with the square takes seconds at these sizes.
const NANOSECONDS: u32 = if cfg!(debug_assertions) {
    20_000
} else {
    2_000
};

fn check(name: &str, what: &str, size: usize, prepare: impl Fn(&str) -> Box<dyn FnMut()>) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let text = hard(size)
        .into_iter()
        .find(|(other, _)| *other == name)
        .unwrap()
        .1;
    let bound = Duration::from_nanos(u64::from(NANOSECONDS)) * u32::try_from(size).unwrap();
    let taken = time(bound, prepare(&text));
    assert!(
        taken <= bound,
        "{what} of {name}: {taken:?} for {size} bytes"
    );
}

const SIZE: usize = 64 << 10;

#[test]
fn imports_are_linear() {
    for (name, _) in hard(64) {
        check(name, "Burp", SIZE, |text| {
            let raw = format!(
                "<items><item><request>GET / HTTP/1.1\r\n\r\n</request><response><![CDATA[HTTP/1.1 200 OK\r\n\r\n{text}]]></response></item></items>"
            );
            let bare = format!("<items><item><request>{text}</request></item></items>");
            let outside = format!("<items>{text}</items>");
            Box::new(move || {
                for file in [&raw, &bare, &outside] {
                    let _ = read(Format::BurpXml, file.as_bytes(), 1024, Limits::default());
                }
            })
        });
        check(name, "HAR", SIZE, |text| {
            let quoted = serde_json::to_string(text).unwrap();
            let inside = format!(
                "{{\"log\":{{\"entries\":[{{\"request\":{{\"url\":\"https://a.example/\"}},\"response\":{{\"status\":200,\"content\":{{\"text\":{quoted}}}}}}}]}}}}"
            );
            let raw = format!("{{\"log\":{{\"entries\":[{{\"a\":{text}");
            Box::new(move || {
                for file in [&inside, &raw] {
                    let _ = read(Format::Har, file.as_bytes(), 1024, Limits::default());
                }
            })
        });
    }
}

#[test]
fn redaction_and_checks_are_linear() {
    for (name, _) in hard(64) {
        check(name, "redaction", SIZE, |text| {
            let redactor = Redactor::new(Mode::Strict, b"k".to_vec(), Vec::new(), &[]);
            let text = text.to_owned();
            Box::new(move || drop(redactor.text(&text, false)))
        });
        for kind in [
            "text/html",
            "application/json",
            "application/xml",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=a",
        ] {
            check(name, kind, SIZE, |text| {
                let mut exchange = exchanges(Format::BurpXml, &sample("burp-base64.xml")).remove(0);
                exchange.request.bytes = format!(
                    "POST /?{} HTTP/1.1\r\nContent-Type: {kind}\r\n\r\n{text}",
                    &text[..text.len().min(2000)].replace(['\n', ' '], "")
                )
                .into_bytes();
                exchange.response.as_mut().unwrap().bytes =
                    format!("HTTP/1.1 500 X\r\nContent-Type: {kind}\r\n\r\n{text}").into_bytes();
                let redactor = Redactor::new(Mode::Balanced, b"k".to_vec(), Vec::new(), &[]);
                Box::new(move || {
                    let _ = redactor.exchange(&exchange);
                    let _ = Checker::new(Vec::new(), 0).push(&exchange);
                    let _ = parameters::parameters(&exchange.request);
                    let _ = parameters::reflected(
                        &exchange.request,
                        exchange.response.as_ref().unwrap(),
                    );
                })
            });
        }
    }
}
