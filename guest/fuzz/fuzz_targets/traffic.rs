//! Checks for any bytes that they are imported and framed in the same way whole and in pieces, and that what comes of them is
//! redacted, checked and shown without a panic.
//!
//! The first byte chooses what the rest is and how it is cut. Run it from the repository's root, starting with the samples:
//!
//! ```text
//! mkdir -p guest/fuzz/corpus/traffic && for f in fixtures/traffic/*.*; do
//!   for c in A B C D; do (printf $c; cat $f) > guest/fuzz/corpus/traffic/$(basename $f)-$c; done; done
//! cargo fuzz run --sanitizer none --fuzz-dir guest/fuzz traffic -- -max_len=20000 -max_total_time=600
//! ```

#![no_main]

use libfuzzer_sys::fuzz_target;
use traffic::checks::Checker;
use traffic::h1::{Event, Framer, FramerLimits, Side};
use traffic::intake::{Format, Item, Limits, Reader, Report};
use traffic::redact::{Mode, Redactor};
use traffic::view::{ViewOptions, view};

fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else {
        return;
    };
    let chunk = usize::from(choice >> 2) + 1;
    match choice & 3 {
        0 => import(Format::BurpXml, bytes, chunk),
        1 => import(Format::Har, bytes, chunk),
        2 => assert_eq!(frame(bytes, chunk), frame(bytes, usize::MAX)),
        _ => redact(bytes),
    }
});

fn read(format: Format, bytes: &[u8], chunk: usize) -> (Vec<Item>, Report) {
    let limits = Limits {
        body: 4096,
        item: 4096,
        ..Limits::default()
    };
    let mut reader = Reader::new(format, limits);
    let mut items: Vec<Item> = bytes
        .chunks(chunk)
        .flat_map(|part| reader.push(part).items)
        .collect();
    let (last, report) = reader.finish();
    items.extend(last.items);
    (items, report)
}

fn import(format: Format, bytes: &[u8], chunk: usize) {
    let whole = read(format, bytes, usize::MAX);
    assert_eq!(read(format, bytes, chunk), whole);
    assert_eq!(whole.0.len() as u64, whole.1.taken + whole.1.skipped);
    let redactor = Redactor::new(Mode::Strict, b"key".to_vec(), Vec::new(), &[]);
    let mut checker = Checker::new(b"key".to_vec(), 0);
    for item in &whole.0 {
        if let Item::Exchange(exchange) = item {
            checker.push(exchange);
            let redacted = redactor.exchange(exchange).exchange;
            let options = ViewOptions {
                json: true,
                budget: 1000,
                ..ViewOptions::default()
            };
            assert!(view(&redacted, &options).text.len() <= 1000);
        }
    }
}

/// What a framer finds, the bytes of tunnels joined.
fn frame(bytes: &[u8], chunk: usize) -> Vec<Event> {
    let mut framer = Framer::new(FramerLimits {
        body: 1000,
        pipeline: 10,
    });
    let (client, server) = bytes.split_at(bytes.len() / 2);
    let mut events = Vec::new();
    for (side, bytes) in [(Side::Client, client), (Side::Server, server)] {
        for part in bytes.chunks(chunk) {
            events.extend(framer.push(side, part));
        }
    }
    events.extend(framer.finish(Side::Client));
    events.extend(framer.finish(Side::Server));
    let mut joined: Vec<Event> = Vec::new();
    for event in events {
        match (joined.last_mut(), event) {
            (Some(Event::Tunnel(last)), Event::Tunnel(next)) if last.side == next.side => {
                last.bytes.extend(next.bytes);
            }
            (_, event) => joined.push(event),
        }
    }
    joined
}

/// A secret between any bytes that end its token does not leave.
fn redact(bytes: &[u8]) {
    const SECRET: &str = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let text = String::from_utf8_lossy(bytes);
    let text = format!("{text} {SECRET} {text}");
    for mode in [Mode::Balanced, Mode::Strict] {
        let redactor = Redactor::new(mode, b"key".to_vec(), b"call".to_vec(), &[]);
        assert!(!redactor.text(&text, false).text.contains(SECRET));
        assert!(!redactor.text(&text, true).text.contains(SECRET));
    }
}
