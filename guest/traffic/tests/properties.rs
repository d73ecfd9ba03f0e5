//! Any bytes: nothing panics, cuts change nothing, redaction is stable, and time and memory grow with the bytes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

mod common;

use common::{exchanges, read, sample};
use proptest::prelude::*;
use traffic::checks::Checker;
use traffic::h1::{Event, Framer, FramerLimits, Side};
use traffic::intake::{Format, Limits};
use traffic::message::{body, diff, endpoints, head, parameters};
use traffic::redact::{Mode, Redactor};
use traffic::view::{ViewOptions, view};
use traffic::{Message, Provenance};

/// Pieces that the formats are made of, so that random sequences go deep.
fn pieces(alphabet: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => prop::sample::select(alphabet).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

const BURP: &[&str] = &[
    "<items burpVersion=\"1\">",
    "<item>",
    "</item>",
    "</items>",
    "<request base64=\"true\">",
    "<request base64=\"false\">",
    "<request>",
    "</request>",
    "<response>",
    "</response>",
    "<![CDATA[",
    "]]>",
    "]]]]><![CDATA[>",
    "<url>",
    "</url>",
    "<host ip=\"x\">",
    "</host>",
    "<!--",
    "-->",
    "<!DOCTYPE items [",
    "]>",
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "HTTP/1.1 200 OK\r\n\r\n",
    "R0VUIC8gSFRUUC8xLjENCg0K",
    " ",
    "\r\n",
    "&#13;",
    "&amp;",
    "<",
    "&",
    "<status>",
    "<comment/>",
    "\0",
];

const HAR: &[&str] = &[
    "{\"log\":{",
    "\"entries\":[",
    "\"version\":\"1.2\",",
    "\"creator\":{\"name\":\"x\"},",
    "{\"request\":{\"method\":\"GET\",\"url\":\"https://a.example/\"",
    ",\"response\":{\"status\":200",
    ",\"content\":{\"text\":\"x\"}",
    "}",
    "}",
    "]",
    "[",
    ",",
    "\"",
    "\\",
    "\\ud800",
    "NaN",
    "null",
    "1e999",
    ":",
    "\"a\"",
    " ",
    "\u{feff}",
    "\"headers\":[{\"name\":\"a\",\"value\":\"b\\nc\"}]",
];

const TEXT: &[&str] = &[
    "password",
    "token",
    "=",
    ":",
    "\"",
    "'",
    "&",
    ";",
    " ",
    "\n",
    "Bearer ",
    "Basic YTpi",
    "eyJhbGciOiJub25lIn0.eyJhIjoxfQ.",
    "AKIAABCDEFGHIJKLMNOP",
    "https://u:p@a.example/x?code=",
    "{",
    "}",
    "[",
    "]",
    ",",
    "abcdefgh12345678",
    "-----BEGIN PRIVATE KEY-----",
    "{{secret:value:00112233445566778899}}",
    "<input name=csrf value=",
    ">",
    "%3D",
    "\\u0026",
    "\\\"",
    "10.0.0.1",
    "a@b.example",
    "::1",
    "Cookie: ",
    "\r\n\r\n",
    "HTTP/1.1 ",
    "GET ",
    "Content-Type: application/json\r\n",
    "é",
    "\0",
];

const WIRE: &[&str] = &[
    "GET / HTTP/1.1\r\n",
    "POST /a HTTP/1.1\r\n",
    "CONNECT a:1 HTTP/1.1\r\n",
    "HEAD / HTTP/1.1\r\n",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 101 X\r\n",
    "HTTP/1.1 100 C\r\n",
    "HTTP/1.1 304 N\r\n",
    "Content-Length: 3\r\n",
    "Content-Length: x\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Upgrade: x\r\n",
    "\r\n",
    "\n",
    "3\r\nabc\r\n",
    "0\r\n\r\n",
    "zz",
    "\r",
    "a:b\r\n",
];

fn message(bytes: &[u8]) -> Message {
    Message {
        bytes: bytes.to_vec(),
        provenance: Provenance::Wire,
        decoded: false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn imports_never_depend_on_cuts(burp in pieces(BURP), har in pieces(HAR), chunk in 1_usize..9) {
        for (format, bytes) in [(Format::BurpXml, &burp), (Format::Har, &har)] {
            let whole = read(format, bytes, usize::MAX, Limits::default());
            prop_assert_eq!(whole.0.len() as u64, whole.1.taken + whole.1.skipped);
            prop_assert_eq!(read(format, bytes, chunk, Limits::default()), whole);
        }
    }

    #[test]
    fn a_damaged_file_still_gives_a_report(name in prop::sample::select(&["burp-base64.xml", "burp-raw.xml", "har-chrome.har", "har-odd.har"][..]), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = sample(name);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let format = if name.starts_with("burp") { Format::BurpXml } else { Format::Har };
        let whole = read(format, &bytes, usize::MAX, Limits::default());
        prop_assert_eq!(read(format, &bytes, 3, Limits::default()), whole);
    }

    #[test]
    fn nothing_panics_on_any_message(bytes in pieces(TEXT), other in pieces(TEXT)) {
        let (first, second) = (message(&bytes), message(&other));
        let _ = (head::request(&bytes), head::response(&bytes));
        for request in [false, true] {
            let _ = body::decode(&first, request, &body::BodyLimits::default());
            let _ = diff::diff(&first, &second, request);
        }
        for one in parameters::insertion_points(&first, false) {
            prop_assert!(one.place.start <= one.place.end);
        }
        let _ = parameters::reflected(&first, &second);
    }

    #[test]
    fn redaction_is_stable_and_never_panics(bytes in pieces(TEXT)) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        for mode in [Mode::Off, Mode::Balanced, Mode::Strict] {
            let redactor = Redactor::new(mode, b"k".to_vec(), b"c".to_vec(), &[]);
            let once = redactor.text(&text, false);
            for one in &once.replaced {
                prop_assert_eq!(one.shown.of(once.text.as_bytes()), one.placeholder.as_bytes());
            }
            prop_assert!(mode == Mode::Off || !once.text.contains("AKIAABCDEFGHIJKLMNOP ") || !text.contains(" AKIAABCDEFGHIJKLMNOP "));
            let _ = redactor.text(&text, true);
        }
    }

    #[test]
    fn everything_runs_on_any_exchange(request in pieces(TEXT), response in pieces(TEXT)) {
        let mut exchange = exchanges(Format::BurpXml, &sample("burp-base64.xml")).remove(0);
        exchange.request.bytes = request;
        exchange.response.as_mut().unwrap().bytes = response.clone();
        exchange.url = String::from_utf8_lossy(&response).into_owned();
        let redacted = Redactor::new(Mode::Strict, b"k".to_vec(), Vec::new(), &[]).exchange(&exchange);
        let _ = Checker::new(Vec::new(), 0).push(&exchange);
        let mut all = endpoints::Endpoints::default();
        all.push(&exchange);
        for json in [false, true] {
            let shown = view(&redacted.exchange, &ViewOptions { json, budget: 600, ..ViewOptions::default() });
            prop_assert!(shown.text.len() <= 600, "{}", shown.text.len());
            prop_assert!(!json || serde_json::from_str::<serde_json::Value>(&shown.text).is_ok());
        }
    }

    #[test]
    fn framing_never_depends_on_cuts(client in pieces(WIRE), server in pieces(WIRE), chunk in 1_usize..9) {
        let run = |chunk: usize| {
            let mut framer = Framer::new(FramerLimits { body: 50, pipeline: 10 });
            let mut events = Vec::new();
            for (side, bytes) in [(Side::Client, &client), (Side::Server, &server)] {
                for part in bytes.chunks(chunk) {
                    events.extend(framer.push(side, part));
                }
            }
            events.extend(framer.finish(Side::Client));
            events.extend(framer.finish(Side::Server));
            let mut joined: Vec<Event> = Vec::new();
            for event in events {
                match (joined.last_mut(), event) {
                    (Some(Event::Tunnel(last)), Event::Tunnel(next)) if last.side == next.side => last.bytes.extend(next.bytes),
                    (_, event) => joined.push(event),
                }
            }
            joined
        };
        prop_assert_eq!(run(chunk), run(usize::MAX));
    }
}
