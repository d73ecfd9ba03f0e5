//! Random documents and random garbage, cut at random.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

mod common;

use answers::{Limits, Mode, infer_mode};
use common::read;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A part of a document.
#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Citation { source: u8, back: u8 },
    Query(String),
    Progress { iteration: u8, seconds: f64 },
}

fn part() -> impl Strategy<Value = Part> {
    let text = "[a-z <>\u{e9}\u{1f600}\\\\\"/\n`]{0,20}";
    prop_oneof![
        4 => text.prop_map(Part::Text),
        2 => (0_u8..5, 0_u8..30).prop_map(|(source, back)| Part::Citation { source, back }),
        1 => text.prop_map(Part::Query),
        1 => (1_u8..5, 0.0..1e9).prop_map(|(iteration, seconds)| Part::Progress { iteration, seconds }),
    ]
}

/// What the outcome of a document must hold.
#[derive(Default)]
struct Expected {
    text: String,
    markers: Vec<(usize, usize)>,
    urls: Vec<String>,
    queries: Vec<String>,
    seconds: std::collections::BTreeMap<u8, f64>,
}

/// The content of a document, and what it must give.
fn document(parts: &[Part]) -> (String, Expected) {
    let mut content = String::new();
    let mut expected = Expected::default();
    for part in parts {
        match part {
            // So close to a tag's opener that it is worth a try, yet none.
            Part::Text(text) => {
                content += text;
                expected.text += text;
            }
            Part::Citation { source, back } => {
                let end = expected.text.chars().count().saturating_sub((*back).into());
                let url = format!("https://example.com/{source}?</citation>\"");
                let place = expected.urls.iter().position(|known| *known == url);
                let number = place.unwrap_or(expected.urls.len()) + 1;
                if place.is_none() {
                    expected.urls.push(url.clone());
                }
                if !expected.markers.contains(&(end, number)) {
                    expected.markers.push((end, number));
                }
                let payload = json!({"end_index": end, "url": url});
                content += &format!("<citation>{payload}</citation>");
            }
            Part::Query(query) => {
                if !expected.queries.contains(query) {
                    expected.queries.push(query.clone());
                }
                content += &format!("<queries>{} \n</queries>", json!({"queries": [query]}));
            }
            Part::Progress { iteration, seconds } => {
                expected.seconds.insert(*iteration, *seconds);
                let payload =
                    json!({"number_of_iterations": iteration, "elasped_seconds": seconds});
                content += &format!("<progress>{payload}</progress>");
            }
        }
    }
    (content, expected)
}

/// How a document is sent.
#[derive(Clone, Debug)]
struct Wire {
    deltas: Vec<u8>,
    line_end: &'static str,
    documented: bool,
    ascii: bool,
    comments: bool,
}

fn wire() -> impl Strategy<Value = Wire> {
    let line_end = proptest::sample::select(vec!["\n", "\r\n", "\r"]);
    (
        vec(1_u8..40, 1..20),
        line_end,
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(deltas, line_end, documented, ascii, comments)| Wire {
            deltas,
            line_end,
            documented,
            ascii,
            comments,
        })
}

fn stream(content: &str, wire: &Wire) -> Vec<u8> {
    let mut rest: Vec<char> = content.chars().collect();
    let mut out = String::new();
    for length in wire.deltas.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let delta: String = rest.drain(..rest.len().min((*length).into())).collect();
        let delta = Value::from(delta).to_string();
        let delta = if wire.ascii { ascii(&delta) } else { delta };
        if wire.comments && *length % 3 == 0 {
            out += ": keepalive";
            out += wire.line_end;
        }
        out += &if wire.documented {
            format!(
                r#"data: {{"id":"chatcmpl-{length}","choices":[{{"index":0,"delta":{{"content":{delta}}}}}]}}"#
            )
        } else {
            format!(
                r#"data: {{"model":"m","choices":[{{"delta":{{"content":{delta}}},"finish_reason":null}}],"created":{length},"usage":null}}"#
            )
        };
        out += wire.line_end;
        out += wire.line_end;
    }
    out += "data: [DONE]";
    out += wire.line_end;
    out.into_bytes()
}

fn ascii(json: &str) -> String {
    let mut out = String::new();
    for unit in json.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii() => out.push(byte.into()),
            _ => out += &format!("\\u{unit:04x}"),
        }
    }
    out
}

fn cut<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places
        .windows(2)
        .map(|pair| &bytes[pair[0]..pair[1]])
        .collect()
}

fn marked(expected: &Expected) -> String {
    let mut markers = expected.markers.clone();
    markers.sort_by_key(|&(end, _)| end);
    let mut out = String::new();
    let chars = expected.text.chars().map(Some).chain([None]);
    for (index, char) in chars.enumerate() {
        for (_, number) in markers.iter().filter(|(end, _)| *end == index) {
            out += &format!("[{number}]");
        }
        out.extend(char);
    }
    out
}

/// Bytes of the pieces that decide something.
fn garbage() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<&'static [u8]> = vec![
        b"data: ",
        b"data:",
        b"data",
        b"event: x",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b": c",
        b"[DONE]",
        b"\xEF\xBB\xBF",
        b"{\"choices\":[{\"delta\":{\"content\":\"",
        b"\"}}]}",
        b"\"},\"finish_reason\":\"length\"}]}",
        b"data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n",
        b"{\"error\":{\"message\":\"m\"}}",
        b"<answer>",
        b"</answer>",
        b"<answer>{\\\"answer\\\": \\\"a",
        b"\\\"}",
        b"<citation>{\\\"url\\\":\\\"http://a\\\"}",
        b"</citation>",
        b"<usage>{\\\"X-Request-Queries\\\":1}",
        b"</usage>",
        b"<blindspots>[",
        b"]</blindspots>",
        b"<",
        b"\\n",
        b"\\ud83d",
        b"\\ude00",
        b"\xC3",
        b"\xA9",
        b"\xF0\x9F",
        b"{",
        b"}",
        b"\"",
        b"\\",
        b" ",
        b"text ",
        b"```\\n",
        b"\\\"",
    ];
    let piece = prop_oneof![
        20 => proptest::sample::select(pieces).prop_map(<[u8]>::to_vec),
        1 => vec(any::<u8>(), 0..6),
    ];
    vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn mode() -> impl Strategy<Value = Mode> {
    proptest::sample::select(vec![Mode::Answer, Mode::Research])
}

fn small_limits() -> impl Strategy<Value = Limits> {
    let limit = || proptest::option::weighted(0.3, 0_u32..200);
    (limit(), limit(), limit(), limit()).prop_map(|(line, tag, text, stream)| Limits {
        line_bytes: line,
        tag_bytes: tag,
        text_bytes: text,
        stream_bytes: stream.map(u64::from),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_document_comes_back(parts in vec(part(), 0..20), wire in wire(), cuts in vec(any::<usize>(), 0..10)) {
        let (content, expected) = document(&parts);
        let bytes = stream(&content, &wire);
        let (_, finished) = read(Mode::Answer, &[], Limits::default(), cut(&bytes, &cuts));
        let outcome = finished.outcome;
        prop_assert_eq!(&outcome.text, &expected.text);
        prop_assert_eq!(&outcome.answer, &marked(&expected));
        prop_assert_eq!(outcome.sources.iter().map(|source| source.url.clone()).collect::<Vec<_>>(), expected.urls);
        prop_assert_eq!(outcome.queries, expected.queries);
        let seconds: Vec<f64> = outcome.progress.iter().map(|progress| progress.elapsed_seconds.unwrap()).collect();
        prop_assert_eq!(seconds, expected.seconds.into_values().collect::<Vec<_>>());
        prop_assert!(outcome.complete);
        prop_assert!(outcome.warnings.iter().all(|warning| warning.code == "tag-in-code"));
    }

    #[test]
    fn deltas_do_not_matter(parts in vec(part(), 0..12), first in wire(), second in wire()) {
        let (content, _) = document(&parts);
        let content = format!("<answer>{content}");
        for mode in [Mode::Answer, Mode::Research] {
            let outcome = |wire| read(mode, &[], Limits::default(), [&stream(&content, wire)[..]]).1.outcome;
            let (mut one, mut other) = (outcome(&first), outcome(&second));
            one.model = None;
            other.model = None;
            prop_assert_eq!(one, other);
        }
    }

    #[test]
    fn an_open_answer_is_kept_and_so_is_the_usage(text in "[a-z <>\u{e9}\u{1f600}\\\\\"/\n`]{0,40}", bare in any::<bool>(), end in any::<usize>(), wire in wire()) {
        // Bare text that begins with a quote is a JSON string as far as anyone can tell.
        let text = if bare { format!("x{text}") } else { text };
        let answer = if bare { text.clone() } else { json!({"answer": text, "more": [text]}).to_string() };
        let part: String = answer.chars().take(end % (answer.chars().count() + 1)).collect();
        let content = format!("<answer>{part}<usage>{{\"X-Request-Queries\":1}}</usage>");
        let bytes = stream(&content, &wire);
        let outcome = read(Mode::Research, &[], Limits::default(), [&bytes[..]]).1.outcome;
        prop_assert!(text.starts_with(&outcome.answer), "{:?}", outcome.answer);
        prop_assert_eq!(outcome.usage.and_then(|usage| usage.queries), Some(1));
        prop_assert_eq!(outcome.draft, "");
        prop_assert!(!outcome.complete);
    }

    #[test]
    fn garbage_is_read_the_same_however_cut(bytes in garbage(), mode in mode(), cuts in vec(any::<usize>(), 0..10)) {
        let whole = read(mode, &[], Limits::default(), [&bytes[..]]);
        let parts = read(mode, &[], Limits::default(), cut(&bytes, &cuts));
        prop_assert_eq!(&parts, &whole);
        let single = read(mode, &[], Limits::default(), bytes.chunks(1));
        prop_assert_eq!(&single.0, &whole.0);
        infer_mode(&bytes);
    }

    #[test]
    fn limits_hold_the_same_however_cut(bytes in garbage(), mode in mode(), limits in small_limits(), cuts in vec(any::<usize>(), 0..10)) {
        let whole = read(mode, &[], limits, [&bytes[..]]);
        let parts = read(mode, &[], limits, cut(&bytes, &cuts));
        prop_assert_eq!(parts, whole);
    }

    #[test]
    fn noise_never_panics(bytes in vec(any::<u8>(), 0..400), mode in mode()) {
        read(mode, &[], Limits::default(), bytes.chunks(7));
    }
}

/// White space before a blocking reply counts against the limit of a line wherever it is cut.
#[test]
fn white_space_before_a_blocking_reply() {
    for line in 0..4 {
        let limits = Limits {
            line_bytes: Some(line),
            ..Limits::default()
        };
        for bytes in [&b"\r\n  {"[..], b"   {}", b"\n\n{}", b"\xEF\xBB\xBF {}"] {
            let whole = read(Mode::Answer, &[], limits, [bytes]);
            for at in 0..=bytes.len() {
                let (before, after) = bytes.split_at(at);
                assert_eq!(read(Mode::Answer, &[], limits, [before, after]), whole);
            }
        }
    }
}
