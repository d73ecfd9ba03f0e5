//! HTTP/1 framing and WebSocket frames, at every cut.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

use traffic::Origin;
use traffic::h1::{Event, Framed, Framer, FramerLimits, Side, target};
use traffic::websocket::{Decoder, deflate_of};

/// All requests first, then all responses, in chunks of the size.
fn run(client: &[u8], server: &[u8], chunk: usize) -> Vec<Event> {
    let mut framer = Framer::new(FramerLimits::default());
    let mut events = Vec::new();
    for part in client.chunks(chunk) {
        events.extend(framer.push(Side::Client, part));
    }
    for part in server.chunks(chunk) {
        events.extend(framer.push(Side::Server, part));
    }
    events.extend(framer.finish(Side::Client));
    events.extend(framer.finish(Side::Server));
    joined(events)
}

/// Adjacent bytes of a tunnel are one.
fn joined(events: Vec<Event>) -> Vec<Event> {
    let mut out: Vec<Event> = Vec::new();
    for event in events {
        match (out.last_mut(), event) {
            (Some(Event::Tunnel(last)), Event::Tunnel(next)) if last.side == next.side => {
                last.bytes.extend(next.bytes)
            }
            (_, event) => out.push(event),
        }
    }
    out
}

fn messages(events: &[Event]) -> Vec<&Framed> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Message(framed) => Some(framed),
            Event::Tunnel(_) => None,
        })
        .collect()
}

const CLIENT: &[u8] = b"\r\nPOST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhelloGET /b HTTP/1.1\nHost: x\n\nPOST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: v\r\n\r\nHEAD /d HTTP/1.1\r\n\r\nGET /e HTTP/1.1\r\n\r\n";
const SERVER: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 304 Not\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nwxyz\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nHTTP/1.1 200 OK\r\n\r\nuntil the end";

#[test]
fn pipelined_messages_are_split_at_every_cut() {
    let whole = run(CLIENT, SERVER, usize::MAX);
    let found = messages(&whole);
    assert_eq!(found.len(), 5 + 6);
    let all: Vec<u8> = found
        .iter()
        .flat_map(|framed| framed.bytes.clone())
        .collect();
    assert_eq!(all, [&CLIENT[2..], SERVER].concat());
    assert!(
        found
            .iter()
            .all(|framed| framed.complete && framed.warnings.is_empty()),
        "{found:?}"
    );
    assert!(found[5].interim && !found[6].interim);
    let numbers: Vec<u64> = found[5..].iter().map(|framed| framed.exchange).collect();
    assert_eq!(numbers, [0, 0, 1, 2, 3, 4]);
    for chunk in 1..64 {
        assert_eq!(run(CLIENT, SERVER, chunk), whole, "{chunk}");
    }
}

#[test]
fn a_tunnel_begins_where_both_agree() {
    let client = b"CONNECT a:443 HTTP/1.1\r\n\r\n\x16\x03tls";
    for chunk in [1, 3, 1000] {
        let events = run(client, b"HTTP/1.1 200 OK\r\n\r\n\x16reply", chunk);
        let tunnelled: Vec<&[u8]> = events
            .iter()
            .filter_map(|event| match event {
                Event::Tunnel(bytes) => Some(bytes.bytes.as_slice()),
                Event::Message(_) => None,
            })
            .collect();
        assert_eq!(tunnelled, [&b"\x16\x03tls"[..], b"\x16reply"], "{chunk}");
        // Refused: what follows is HTTP again.
        let events = run(
            b"CONNECT a:443 HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n",
            chunk,
        );
        assert_eq!(messages(&events).len(), 3, "{events:?}");
        let events = run(
            b"GET /ws HTTP/1.1\r\nUpgrade: websocket\r\n\r\n\x81\x01a",
            b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n\x81\x01b",
            chunk,
        );
        assert_eq!(
            events
                .iter()
                .filter(|event| matches!(event, Event::Tunnel(_)))
                .count(),
            2
        );
    }
}

#[test]
fn malformed_messages_are_kept_and_marked() {
    for (client, server, code) in [
        (&b"\x16\x03\x01garbage\n\n more"[..], &b""[..], "not-http"),
        (b"GET / HTTP/1.1\r\n\r\n", b"nonsense\r\n\r\nx", "not-http"),
        (
            b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"",
            "length-and-chunked",
        ),
        (
            b"POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
            b"",
            "lengths-differ",
        ),
        (
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc",
            b"",
            "bad-chunk",
        ),
        (
            b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc",
            b"",
            "cut",
        ),
        (
            b"",
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            "unsolicited",
        ),
    ] {
        let whole = run(client, server, usize::MAX);
        assert!(
            messages(&whole)
                .iter()
                .any(|framed| framed.warnings.iter().any(|warning| warning.code == code)),
            "{code}: {whole:?}"
        );
        let kept: usize = messages(&whole)
            .iter()
            .map(|framed| framed.bytes.len())
            .sum();
        assert_eq!(kept, client.len() + server.len(), "{code}");
        for chunk in [1, 2, 7] {
            assert_eq!(
                run(client, server, chunk),
                whole,
                "{code} in chunks of {chunk}"
            );
        }
    }
}

#[test]
fn a_body_over_the_limit_is_counted() {
    let mut framer = Framer::new(FramerLimits {
        body: 10,
        pipeline: 10,
    });
    framer.push(Side::Client, b"GET / HTTP/1.1\r\n\r\n");
    let events = framer.push(
        Side::Server,
        &[
            &b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"[..],
            &[b'x'; 100],
        ]
        .concat(),
    );
    assert_eq!(messages(&events)[0].dropped, 90);
}

#[test]
fn a_proxy_dials_what_the_target_says() {
    let origin = |host: &str, scheme: &str, port| Origin {
        scheme: scheme.into(),
        host: host.into(),
        port,
    };
    let found = target(b"GET http://A.example:81/p?q HTTP/1.1\r\nHost: other\r\nProxy-Authorization: x\r\nX: y\r\n\r\n", None).unwrap();
    assert_eq!(found.origin, origin("a.example", "http", 81));
    assert_eq!(
        found.head,
        b"GET /p?q HTTP/1.1\r\nHost: other\r\nX: y\r\n\r\n"
    );
    assert_eq!(found.warnings[0].code, "host-differs");
    let found = target(b"CONNECT [::1]:8443 HTTP/1.1\r\n\r\n", None).unwrap();
    assert_eq!(
        (found.origin, found.connect),
        (origin("::1", "https", 8443), true)
    );
    let tunnel = origin("a.example", "https", 443);
    let found = target(
        b"GET https://evil.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        Some(&tunnel),
    )
    .unwrap();
    assert_eq!(found.origin.host, "evil.example");
    assert!(
        found
            .warnings
            .iter()
            .any(|warning| warning.code == "target-differs")
    );
    for bad in [
        "GET / HTTP/1.1\r\n\r\n",
        "CONNECT a HTTP/1.1\r\n\r\n",
        "GET http://u:p@a.example/ HTTP/1.1\r\n\r\n",
        "GET http://a:0/ HTTP/1.1\r\n\r\n",
        "",
        "GET http://a:99999/ HTTP/1.1\r\n\r\n",
    ] {
        assert!(target(bad.as_bytes(), None).is_err(), "{bad}");
    }
}

fn frame(first: u8, mask: Option<[u8; 4]>, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![first];
    let bit = if mask.is_some() { 0x80 } else { 0 };
    match payload.len() {
        length @ 0..126 => out.push(bit | length as u8),
        length @ 126..65536 => {
            out.push(bit | 126);
            out.extend((length as u16).to_be_bytes());
        }
        length => {
            out.push(bit | 127);
            out.extend((length as u64).to_be_bytes());
        }
    }
    out.extend(
        mask.unwrap_or_default()
            .iter()
            .take(if mask.is_some() { 4 } else { 0 }),
    );
    out.extend(
        payload
            .iter()
            .enumerate()
            .map(|(at, byte)| byte ^ mask.map_or(0, |mask| mask[at % 4])),
    );
    out
}

#[test]
fn frames_are_read_at_every_cut() {
    let long = vec![b'z'; 70_000];
    let bytes = [
        frame(0x81, Some([1, 2, 3, 4]), b"hello"),
        frame(0x01, Some([9, 8, 7, 6]), b"cut "),
        frame(0x89, Some([0, 0, 0, 1]), b"ping"),
        frame(0x80, Some([5, 5, 5, 5]), b"up"),
        frame(0x82, None, &long),
        frame(0x88, None, b"\x03\xe8bye"),
    ]
    .concat();
    let read = |chunk: usize| {
        let mut decoder = Decoder::new(false, false, 1 << 20);
        let mut all = Vec::new();
        for part in bytes.chunks(chunk) {
            let frames = decoder.push(part);
            assert_eq!(frames.error, None);
            all.extend(frames.messages);
        }
        all
    };
    let whole = read(usize::MAX);
    let seen: Vec<(u8, usize)> = whole
        .iter()
        .map(|one| (one.opcode, one.payload.len()))
        .collect();
    assert_eq!(seen, [(1, 5), (9, 4), (1, 6), (2, 70_000), (8, 5)]);
    assert_eq!(whole[2].payload, b"cut up");
    for chunk in [1, 2, 3, 5, 100] {
        assert_eq!(read(chunk), whole);
    }
}

/// One message, compressed as the extension says.
fn deflated(compress: &mut flate2::Compress, text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 100);
    compress
        .compress_vec(text, &mut out, flate2::FlushCompress::Sync)
        .unwrap();
    assert_eq!(out.split_off(out.len() - 4), b"\x00\x00\xff\xff");
    out
}

#[test]
fn compressed_messages_share_their_window() {
    let mut compress = flate2::Compress::new(flate2::Compression::best(), false);
    let texts = [
        "{\"token\":\"abcdefgh\",\"n\":1}",
        "{\"token\":\"abcdefgh\",\"n\":2}",
        "",
        "{\"token\":\"abcdefgh\",\"n\":3}",
    ];
    let bytes: Vec<u8> = texts
        .iter()
        .flat_map(|text| frame(0xc1, None, &deflated(&mut compress, text.as_bytes())))
        .collect();
    for chunk in [1, 7, 1000] {
        let mut decoder = Decoder::new(true, false, 1 << 20);
        let all: Vec<String> = bytes
            .chunks(chunk)
            .flat_map(|part| decoder.push(part).messages)
            .map(|one| String::from_utf8(one.payload).unwrap())
            .collect();
        assert_eq!(all, texts);
    }
    assert_eq!(deflate_of(b"HTTP/1.1 101 X\r\nSec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover\r\n\r\n").map(|deflate| (deflate.client_resets, deflate.server_resets)), Some((false, true)));
    assert_eq!(deflate_of(b"HTTP/1.1 101 X\r\n\r\n"), None);
}

#[test]
fn a_compressed_bomb_ends_and_what_follows_is_marked() {
    let mut compress = flate2::Compress::new(flate2::Compression::best(), false);
    let bomb = deflated(&mut compress, &vec![0; 20 << 20]);
    let next = deflated(&mut compress, b"after");
    let mut decoder = Decoder::new(true, false, 8 << 20);
    let all = decoder
        .push(&[frame(0xc2, None, &bomb), frame(0xc1, None, &next)].concat())
        .messages;
    assert!(all[0].payload.len() <= 8 << 20);
    assert_eq!(all[0].warnings[0].code, "compression-lost");
    assert_eq!(all[1].warnings[0].code, "still-compressed");
}

#[test]
fn bytes_that_are_no_frames_end_the_reading() {
    for bytes in [
        &b"\xa1\x00"[..],
        b"\xc1\x00",
        b"\x80\x00",
        b"\x09\x00",
        b"\x01\x00\x01\x00",
        b"\x89\x7e\x00\x80",
    ] {
        let mut decoder = Decoder::new(false, false, 1 << 20);
        assert!(decoder.push(bytes).error.is_some(), "{bytes:?}");
        assert!(decoder.push(b"\x81\x01a").messages.is_empty());
    }
}
