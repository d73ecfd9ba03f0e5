//! Checks for any bytes that they give the same events and outcome whole and in pieces, without a panic, and that the outcome
//! can be read back from its JSON.
//!
//! The first byte chooses the mode, small or default limits, and how the rest is cut; the rest is the reply. Run it from the
//! repository's root, starting with the golden vectors:
//!
//! ```text
//! mkdir -p guest/fuzz/corpus/parse && for f in fixtures/answers/*.sse; do
//!   for c in A b; do (printf $c; cat $f) > guest/fuzz/corpus/parse/$(basename $f .sse)-$c; done; done
//! cargo fuzz run --sanitizer none --fuzz-dir guest/fuzz parse -- -max_len=20000 -max_total_time=600
//! ```

#![no_main]

use answers::{Event, EventKind, Finished, Format, Limits, Mode, Parser, infer_mode, render};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else {
        return;
    };
    let mode = if choice & 1 == 0 {
        Mode::Answer
    } else {
        Mode::Research
    };
    let limits = if choice & 2 == 0 {
        Limits::default()
    } else {
        Limits {
            line_bytes: Some(300),
            tag_bytes: Some(60),
            text_bytes: Some(400),
            stream_bytes: Some(2000),
        }
    };
    let whole = read(mode, limits, [bytes]);
    let size = usize::from(choice >> 2) + 1;
    assert_eq!(
        read(mode, limits, bytes.chunks(size)),
        whole,
        "in pieces of {size}"
    );
    let (left, right) = bytes.split_at(bytes.len() * usize::from(choice) / 256);
    assert_eq!(
        read(mode, limits, [left, right]),
        whole,
        "cut at {}",
        left.len()
    );

    let outcome = whole.1.outcome;
    let json = render(&outcome, Format::Json);
    assert_eq!(
        serde_json::from_str::<answers::Outcome>(&json)
            .ok()
            .as_ref(),
        Some(&outcome)
    );
    render(&outcome, Format::Markdown);
    render(&outcome, Format::Plain);
    infer_mode(bytes);
    answers::failure(500, &[], bytes);
});

/// All events, adjacent text and drafts joined, and what the end brought without its events.
fn read<'a>(
    mode: Mode,
    limits: Limits,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Event>, Finished) {
    let mut parser = Parser::new(mode, limits);
    let mut events: Vec<Event> = Vec::new();
    let mut add = |batch: Vec<Event>| {
        for event in batch {
            match (events.last_mut().map(|last| &mut last.kind), &event.kind) {
                (Some(EventKind::Text(last)), EventKind::Text(text))
                | (Some(EventKind::Draft(last)), EventKind::Draft(text)) => last.push_str(text),
                _ => events.push(event),
            }
        }
    };
    for chunk in chunks {
        add(parser.push(chunk).events);
    }
    let mut finished = parser.finish();
    add(std::mem::take(&mut finished.last.events));
    (events, finished)
}
