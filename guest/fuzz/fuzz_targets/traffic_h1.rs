//! Any bytes of a connection are framed the same whole and in pieces, and WebSocket frames are read without a panic.
//!
//! The first byte chooses the size of the pieces; the first half of the rest is the client's, the second the server's.
//!
//! ```text
//! cargo fuzz run --sanitizer none --fuzz-dir guest/fuzz traffic_h1 -- -max_len=20000 -max_total_time=600
//! ```

#![no_main]

use libfuzzer_sys::fuzz_target;
use traffic::h1::{Event, Framer, FramerLimits, Side, target};
use traffic::websocket::{Decoder, Received};

fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else {
        return;
    };
    let chunk = usize::from(choice) + 1;
    assert_eq!(frame(bytes, chunk), frame(bytes, usize::MAX));
    let _ = target(bytes, None);
    for deflate in [false, true] {
        let whole = frames(bytes, deflate, usize::MAX);
        assert_eq!(frames(bytes, deflate, chunk), whole);
    }
});

/// What a decoder reads, and whether it ended in an error.
fn frames(bytes: &[u8], deflate: bool, chunk: usize) -> (Vec<Received>, bool) {
    let mut decoder = Decoder::new(deflate, false, 1000);
    let (mut messages, mut failed) = (Vec::new(), false);
    for part in bytes.chunks(chunk) {
        let read = decoder.push(part);
        messages.extend(read.messages);
        failed |= read.error.is_some();
    }
    (messages, failed)
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
