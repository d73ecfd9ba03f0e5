//! Any bytes are imported the same whole and in pieces, and whatever comes out is redacted, checked and shown without a panic.
//!
//! The first byte chooses the format and the size of the pieces.
//!
//! To start from the samples, from the repository's root:
//!
//! ```text
//! mkdir -p guest/fuzz/corpus/traffic_intake && for f in fixtures/traffic/*.*; do
//!   for c in A B; do (printf $c; cat $f) > guest/fuzz/corpus/traffic_intake/$(basename $f)-$c; done; done
//! cargo fuzz run --sanitizer none --fuzz-dir guest/fuzz traffic_intake -- -max_len=20000 -max_total_time=600
//! ```

#![no_main]

use libfuzzer_sys::fuzz_target;
use traffic::checks::Checker;
use traffic::intake::{Format, Item, Limits, Reader, Report};
use traffic::redact::{Mode, Redactor};
use traffic::view::{ViewOptions, view};

fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else {
        return;
    };
    let chunk = usize::from(choice >> 1) + 1;
    let format = if choice & 1 == 0 {
        Format::BurpXml
    } else {
        Format::Har
    };
    import(format, bytes, chunk);
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
