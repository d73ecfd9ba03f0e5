//! What every kind of hostile reply costs per byte, against plain prose.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    missing_docs
)]

#[path = "common/clock.rs"]
mod clock;
#[path = "common/hostile.rs"]
mod hostile;

use answers::{Limits, Mode, Parser};
use clock::cost;
use std::hint::black_box;

/// How many times the time of prose a byte may take. The goal is 10, and nearly all replies are below it. Prose costs under
/// half a nanosecond a byte. What remains above 10 builds something for every few bytes: a JSON object of members of 7 bytes
/// (12 times), and code fences and code spans of a few bytes in an answer (up to 16 times).
const MOST: f64 = 20.0;

/// The same for a reply that is full of whole tags (up to 20 times): prose is copied by many bytes at a time, while a tag of
/// 30 bytes is parsed, kept in memory of its own and handed out as an event.
const MOST_OF_RECORDS: f64 = 25.0;

/// Bytes of each reply.
const BYTES: usize = 1_000_000;

/// Bytes of one read from the network.
const CHUNK: usize = 64 << 10;

/// Tries until a ratio is believed to be bad.
const TRIES: usize = 5;

fn read(mode: Mode, bytes: &[u8]) {
    let mut parser = Parser::new(mode, Limits::default());
    for part in bytes.chunks(CHUNK) {
        black_box(parser.push(part));
    }
    black_box(parser.finish());
}

fn nanoseconds(mode: Mode, bytes: &[u8]) -> f64 {
    cost(|| read(mode, bytes)) * 1e9 / bytes.len() as f64
}

/// The time of prose that comes in the same way: in many deltas, or all in one.
fn plain(bytes: &[u8]) -> f64 {
    let all = (0..TRIES).map(|_| nanoseconds(Mode::Answer, bytes));
    all.fold(f64::MAX, f64::min)
}

#[test]
fn no_reply_takes_much_longer_than_prose() {
    let [many, one] =
        [hostile::prose(BYTES), hostile::prose_in_one(BYTES)].map(|bytes| plain(&bytes));
    println!("prose in many deltas {many:.2} ns a byte, in one {one:.2}");
    let mut slow = String::new();
    for reply in hostile::all(BYTES) {
        let mode = if reply.research {
            Mode::Research
        } else {
            Mode::Answer
        };
        let plain = if reply.one_delta { one } else { many };
        let most = if reply.records { MOST_OF_RECORDS } else { MOST };
        let mut ratio = f64::MAX;
        for _ in 0..TRIES {
            ratio = ratio.min(nanoseconds(mode, &reply.bytes) / plain);
            if ratio <= most {
                break;
            }
        }
        if std::env::var_os("GLOVEBOX_SHOW_COSTS").is_some() && ratio > 3.0 {
            println!("{ratio:6.1}  {} ({mode:?})", reply.name);
        }
        if ratio > most {
            slow += &format!("{ratio:.1} times: {} ({mode:?})\n", reply.name);
        }
    }
    assert!(
        slow.is_empty(),
        "prose takes {many:.2} ns a byte, in one delta {one:.2}\n{slow}"
    );
}
