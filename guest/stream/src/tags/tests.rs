#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use super::*;
use crate::json::Json;
use proptest::prelude::*;

/// What came out, adjacent text joined.
#[derive(Debug, Default, PartialEq)]
struct Log(Vec<(Option<Tag>, String)>);

impl Sink for Log {
    fn text(&mut self, text: &str) {
        match self.0.last_mut() {
            Some((None, last)) => last.push_str(text),
            _ => self.0.push((None, text.to_owned())),
        }
    }

    fn tag(&mut self, tag: Tag, payload: &str) {
        self.0.push((Some(tag), payload.trim().to_owned()));
    }

    fn over_limit(&mut self, tag: Tag) {
        self.0.push((Some(tag), "over the limit".to_owned()));
    }
}

fn tags(answers: bool) -> &'static [Tag] {
    if answers {
        Tag::OF_RESEARCH
    } else {
        Tag::OF_AN_ANSWER
    }
}

/// Reads content cut into pieces; unclosed at the end is text.
fn log<'a>(answers: bool, limit: usize, pieces: impl IntoIterator<Item = &'a str>) -> Log {
    let mut log = Log::default();
    let mut scanner = TagScanner::new(tags(answers), limit);
    for piece in pieces {
        scanner.feed(piece, &mut log);
    }
    while scanner.is_holding() {
        scanner.end_as_bare_answer(&mut log);
        scanner.end_as_text(&mut log);
    }
    log
}

/// The rule, said another way and in no hurry: a tag is an opener, then up to one of its closers
/// a text that is JSON of its kind.
fn slowly(answers: bool, content: &str) -> Log {
    let mut log = Log::default();
    let mut at = 0;
    'next: while at < content.len() {
        let rest = &content[at..];
        for &tag in Tag::OF_RESEARCH {
            let opener = tag.closer().replacen("</", "<", 1);
            if (tag == Tag::Answer && !answers) || !rest.starts_with(&opener) {
                continue;
            }
            let body = &rest[opener.len()..];
            let closers = || body.match_indices(tag.closer()).map(|(end, _)| end);
            let json = closers().find(|&end| is_kind(tag.kind(), &body[..end]));
            let bare = closers().next().filter(|_| tag == Tag::Answer);
            if let Some(end) = json.or(bare) {
                log.tag(tag, &body[..end]);
                at += opener.len() + end + tag.closer().len();
                continue 'next;
            }
        }
        let char = rest.chars().next().unwrap();
        log.text(char.encode_utf8(&mut [0; 4]));
        at += char.len_utf8();
    }
    log
}

fn is_kind(kind: Kind, payload: &str) -> bool {
    let json = Json::parse(payload);
    match kind {
        Kind::Object => matches!(json, Some(Json::Object(_))),
        Kind::List => matches!(json, Some(Json::Object(_) | Json::Array(_))),
        Kind::Answer => matches!(json, Some(Json::Object(_) | Json::Text(_))),
        Kind::Word => {
            let word = payload.trim_end_matches([' ', '\t', '\n', '\r']);
            word.len() <= MAX_WORD && word.bytes().all(|byte| byte.is_ascii_lowercase())
        }
        Kind::Empty => payload.trim_matches([' ', '\t', '\n', '\r']).is_empty(),
    }
}

/// Content of the pieces that decide something.
fn soup() -> impl Strategy<Value = String> {
    let pieces = vec![
        "<citation>",
        "</citation>",
        "<answer>",
        "</answer>",
        "<queries>",
        "</queries>",
        "<blindspots>",
        "</blindspots>",
        "<enum_start>",
        "</enum_start>",
        "<enum_end>",
        "</enum_end>",
        "<usage>",
        "</usage>",
        "{",
        "}",
        "[",
        "]",
        "\"",
        "\\",
        ",",
        ":",
        " ",
        "\n",
        "1",
        "-",
        ".",
        "e",
        "ul",
        "é",
        "<",
        ">",
        "</",
        "null",
        "NaN",
        "\\u",
        "12ab",
        "{}",
        "[]",
        "\"a\"",
        "{\"a\":",
        "[\"",
        "\"]",
        "{\"a\":\"",
        "\"}",
    ];
    let piece = proptest::sample::select(pieces);
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn cut<'a>(content: &'a str, cuts: &[usize]) -> Vec<&'a str> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (content.len() + 1)).collect();
    places.extend([0, content.len()]);
    places.retain(|&place| content.is_char_boundary(place));
    places.sort_unstable();
    places
        .windows(2)
        .map(|pair| &content[pair[0]..pair[1]])
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_rule_holds(answers in any::<bool>(), content in soup(), cuts in proptest::collection::vec(any::<usize>(), 0..8)) {
        let expected = slowly(answers, &content);
        prop_assert_eq!(&log(answers, 1 << 20, [&content[..]]), &expected);
        prop_assert_eq!(&log(answers, 1 << 20, cut(&content, &cuts)), &expected);
    }

    #[test]
    fn limits_do_not_depend_on_cuts(limit in 0_usize..30, content in soup(), cuts in proptest::collection::vec(any::<usize>(), 0..8)) {
        let whole = log(true, limit, [&content[..]]);
        prop_assert_eq!(log(true, limit, cut(&content, &cuts)), whole);
    }
}

#[test]
fn text_is_passed_on_at_once() {
    let mut log = Log::default();
    let mut scanner = TagScanner::new(tags(true), 100);
    scanner.feed("a < b <cita", &mut log);
    assert_eq!(log.0, [(None, "a < b ".to_owned())]);
    scanner.feed("x", &mut log);
    assert_eq!(log.0, [(None, "a < b <citax".to_owned())]);
}

#[test]
fn a_limit_makes_prose() {
    let log = log(true, 4, ["<usage>{    }</usage><usage>{  }</usage>"]);
    let expected = [
        (None, "<usage>".to_owned()),
        (Some(Tag::Usage), "over the limit".to_owned()),
        (None, "{    }</usage>".to_owned()),
        (Some(Tag::Usage), "{  }".to_owned()),
    ];
    assert_eq!(log.0, expected);
}
