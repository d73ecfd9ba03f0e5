//! What a request of a component is reserved at.
//!
//! The body is the guest's own. Only what can be understood in one way alone is reserved at its price; everything else is
//! reserved at the worst case, the largest research there is. The reader here is strict, so that no other reader, however
//! lenient, finds a dearer question in a body that is understood here.

use http::{HeaderMap, Method, header};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::answers::{Mode, cost};
use crate::jobs::Micros;
use crate::wasi::OutgoingRequest;

/// The path that calls go to.
const CALL_PATH: &str = "/res/v1/chat/completions";
/// The upstream's default where a research names no cap.
const DEFAULT_QUERIES: u32 = 20;
/// The most that it takes.
const MOST_QUERIES: u32 = 50;
/// The models whose prices are known.
const MODELS: [&str; 2] = ["brave", "brave-pro"];

/// A body as the API documents it: each member once, each of its type. Members that have no part in the price may hold
/// anything that is JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    #[serde(default)]
    enable_research: bool,
    #[serde(default = "default_queries")]
    research_maximum_number_of_queries: u32,
    model: Option<String>,
    #[serde(rename = "messages")]
    _messages: IgnoredAny,
    #[serde(rename = "stream")]
    _stream: Option<IgnoredAny>,
    #[serde(rename = "country")]
    _country: Option<IgnoredAny>,
    #[serde(rename = "language")]
    _language: Option<IgnoredAny>,
    #[serde(rename = "safesearch")]
    _safesearch: Option<IgnoredAny>,
    #[serde(rename = "max_completion_tokens")]
    _max_completion_tokens: Option<IgnoredAny>,
    #[serde(rename = "metadata")]
    _metadata: Option<IgnoredAny>,
    #[serde(rename = "seed")]
    _seed: Option<IgnoredAny>,
    #[serde(rename = "enable_citations")]
    _enable_citations: Option<IgnoredAny>,
    #[serde(rename = "enable_entities")]
    _enable_entities: Option<IgnoredAny>,
    #[serde(rename = "research_allow_thinking")]
    _research_allow_thinking: Option<IgnoredAny>,
    #[serde(rename = "research_maximum_number_of_tokens_per_query")]
    _research_maximum_number_of_tokens_per_query: Option<IgnoredAny>,
    #[serde(rename = "research_maximum_number_of_iterations")]
    _research_maximum_number_of_iterations: Option<IgnoredAny>,
    #[serde(rename = "research_maximum_number_of_seconds")]
    _research_maximum_number_of_seconds: Option<IgnoredAny>,
    #[serde(rename = "research_maximum_number_of_results_per_query")]
    _research_maximum_number_of_results_per_query: Option<IgnoredAny>,
    #[serde(rename = "web_search_options")]
    _web_search_options: Option<IgnoredAny>,
}

const fn default_queries() -> u32 {
    DEFAULT_QUERIES
}

/// Returns how the reply of a request would be read, and what to reserve for it.
pub(super) fn reservation(asked: &OutgoingRequest<'_>) -> (Mode, Micros) {
    let body = is_plain_call(asked)
        .then(|| understood(asked.body))
        .flatten();
    match body {
        Some(body) if !body.enable_research => (Mode::Answer, cost::ANSWER),
        Some(body) => (
            Mode::Research,
            cost::research(body.research_maximum_number_of_queries),
        ),
        None => (Mode::Research, cost::research(MOST_QUERIES)),
    }
}

/// Whether this is a call of the API whose body is what it looks like: JSON in UTF-8, not encoded.
fn is_plain_call(asked: &OutgoingRequest<'_>) -> bool {
    asked.method == Method::POST
        && asked.url.path() == CALL_PATH
        && asked.url.query().is_none()
        && !asked.headers.contains_key(header::CONTENT_ENCODING)
        && is_json(asked.headers)
}

fn is_json(headers: &HeaderMap) -> bool {
    let types: Vec<String> = headers
        .get_all(header::CONTENT_TYPE)
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase())
        .map(|value| value.split_whitespace().collect())
        .collect();
    let known = ["application/json", "application/json;charset=utf-8"];
    types.len() <= 1 && types.iter().all(|value| known.contains(&value.as_str()))
}

fn understood(body: &[u8]) -> Option<Body> {
    let body: Body = serde_json::from_str(std::str::from_utf8(body).ok()?).ok()?;
    let model = body
        .model
        .as_deref()
        .is_none_or(|model| MODELS.contains(&model));
    let cap = (1..=MOST_QUERIES).contains(&body.research_maximum_number_of_queries);
    (model && cap).then_some(body)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use std::fmt;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use serde::de::{MapAccess, Visitor};
    use serde_json::Value;
    use url::Url;

    use super::*;

    const WORST: Micros = Micros(4_000_000);
    const ANSWER: Micros = Micros(60_000);

    fn reserved(body: &[u8]) -> Micros {
        reserved_at(
            "https://upstream.invalid/res/v1/chat/completions",
            &[],
            body,
        )
    }

    fn reserved_at(url: &str, headers: &[(&str, &str)], body: &[u8]) -> Micros {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: header::HeaderName = name.parse().unwrap();
            map.append(name, value.parse().unwrap());
        }
        let url = Url::parse(url).unwrap();
        reservation(&OutgoingRequest {
            method: &Method::POST,
            url: &url,
            headers: &map,
            body,
        })
        .1
    }

    fn body(members: &str) -> String {
        format!(r#"{{"messages":[{{"role":"user","content":"q"}}]{members}}}"#)
    }

    #[test]
    fn what_is_understood_is_reserved_at_its_price() {
        for (members, micros) in [
            ("", 60_000),
            (r#","model":"brave","stream":true"#, 60_000),
            (r#","enable_research":false"#, 60_000),
            (r#","enable_research":true"#, 1_600_000),
            (
                r#","enable_research":true,"research_maximum_number_of_queries":1"#,
                80_000,
            ),
            (
                r#","enable_research":true,"research_maximum_number_of_queries":50"#,
                4_000_000,
            ),
            (r#","enable_rese\u0061rch":true"#, 1_600_000),
        ] {
            assert_eq!(
                reserved(body(members).as_bytes()),
                Micros(micros),
                "{members}"
            );
        }
    }

    #[test]
    fn what_is_not_is_reserved_at_the_worst() {
        for members in [
            r#","enable_research":"true""#,
            r#","enable_research":1"#,
            r#","enable_research":null"#,
            r#","enable_research":false,"enable_research":true"#,
            r#","enable_research":false,"enable_rese\u0061rch":true"#,
            r#","Enable_Research":true"#,
            r#","model":"brave-ultra""#,
            r#","unheard_of":1"#,
            r#","stream":true,"#,
            r#","seed":NaN"#,
            r#","enable_research":true,"research_maximum_number_of_queries":"50""#,
            r#","enable_research":true,"research_maximum_number_of_queries":50.0"#,
            r#","enable_research":true,"research_maximum_number_of_queries":5e1"#,
            r#","enable_research":true,"research_maximum_number_of_queries":0"#,
            r#","enable_research":true,"research_maximum_number_of_queries":-1"#,
            r#","enable_research":true,"research_maximum_number_of_queries":51"#,
            r#","enable_research":true,"research_maximum_number_of_queries":null"#,
            r#","enable_research":true,"research_maximum_number_of_queries":1,"research_maximum_number_of_queries":50"#,
        ] {
            assert_eq!(reserved(body(members).as_bytes()), WORST, "{members}");
        }
        let research = body(r#","enable_research":true"#);
        let utf16: Vec<u8> = research.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let bom = format!("\u{feff}{research}");
        for bytes in [&utf16[..], bom.as_bytes(), b"", b"[]", b"\xff{}", b"{} {}"] {
            assert_eq!(reserved(bytes), WORST, "{bytes:?}");
        }
    }

    #[test]
    fn what_is_no_plain_call_is_reserved_at_the_worst() {
        let at = "https://upstream.invalid/res/v1/chat/completions";
        let answer = body("");
        let asked =
            |url: &str, headers: &[(&str, &str)]| reserved_at(url, headers, answer.as_bytes());
        for good in ["application/json", "application/json; charset=UTF-8"] {
            assert_eq!(asked(at, &[("content-type", good)]), ANSWER, "{good}");
        }
        for headers in [
            &[("content-encoding", "gzip")][..],
            &[("content-type", "application/json; charset=utf-7")],
            &[("content-type", "application/x-www-form-urlencoded")],
            &[
                ("content-type", "application/json"),
                ("content-type", "text/plain"),
            ],
        ] {
            assert_eq!(asked(at, headers), WORST, "{headers:?}");
        }
        for url in [
            "https://upstream.invalid/",
            "https://upstream.invalid/res/v1/other",
            "https://upstream.invalid/res/v1/chat/completions?enable_research=true",
        ] {
            assert_eq!(asked(url, &[]), WORST, "{url}");
        }
    }

    /// The members of an object in their order, none left out.
    struct Members(Vec<(String, Value)>);

    impl<'de> Deserialize<'de> for Members {
        fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            struct All;
            impl<'de> Visitor<'de> for All {
                type Value = Members;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("an object")
                }

                fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                    let mut members = Vec::new();
                    while let Some(member) = map.next_entry()? {
                        members.push(member);
                    }
                    Ok(Members(members))
                }
            }
            from.deserialize_map(All)
        }
    }

    /// Every text that a lenient reader may see in some bytes.
    fn decoded(bytes: &[u8]) -> Vec<String> {
        let units = |order: fn([u8; 2]) -> u16| -> String {
            let units: Vec<u16> = bytes
                .chunks_exact(2)
                .map(|pair| order(pair.try_into().unwrap()))
                .collect();
            String::from_utf16_lossy(&units)
        };
        let texts = [
            String::from_utf8_lossy(bytes).into_owned(),
            units(u16::from_le_bytes),
            units(u16::from_be_bytes),
        ];
        texts
            .iter()
            .map(|text| text.trim_matches(['\u{feff}', '\0', ' ']).to_owned())
            .collect()
    }

    /// The dearest reading that a lenient reader can find; none where it finds no call at all.
    fn dearest(bytes: &[u8]) -> Option<Micros> {
        decoded(bytes)
            .iter()
            .filter_map(|text| serde_json::from_str::<Members>(text).ok())
            .map(|members| cost_of(&members.0))
            .max()
    }

    fn cost_of(members: &[(String, Value)]) -> Micros {
        let all = |wanted: &str| -> Vec<&Value> {
            let same = |name: &str| name.trim().eq_ignore_ascii_case(wanted);
            let named = members.iter().filter(|(name, _)| same(name));
            named.map(|(_, value)| value).collect()
        };
        let yes = |value: &&Value| match value {
            Value::Bool(yes) => *yes,
            Value::Number(number) => number.as_f64() != Some(0.0),
            Value::String(text) => {
                !["", "0", "false", "no"].contains(&text.to_ascii_lowercase().as_str())
            }
            Value::Null => false,
            Value::Array(_) | Value::Object(_) => true,
        };
        if !all("enable_research").iter().any(yes) {
            return ANSWER;
        }
        let cap = |value: &&Value| -> u32 {
            let number = match value {
                Value::Number(number) => number.as_f64(),
                Value::String(text) => text.trim().parse().ok(),
                _ => None,
            };
            // What is no cap may mean that there is none.
            (1..=MOST_QUERIES)
                .find(|cap| number == Some(f64::from(*cap)))
                .unwrap_or(MOST_QUERIES)
        };
        let caps = all("research_maximum_number_of_queries");
        cost::research(caps.iter().map(cap).max().unwrap_or(DEFAULT_QUERIES))
    }

    fn name() -> impl Strategy<Value = String> {
        let names = prop_oneof![
            3 => Just("enable_research"),
            3 => Just("research_maximum_number_of_queries"),
            1 => Just("messages"),
            1 => Just("stream"),
            1 => Just("model"),
            1 => Just("other"),
        ];
        // Some letters escaped, some in the other case.
        (names, vec(0_u8..12, 40)).prop_map(|(name, how)| {
            name.chars()
                .zip(how)
                .map(|(letter, how)| match how {
                    0 => format!("\\u{:04x}", u32::from(letter)),
                    1 if letter == 'e' => "E".to_owned(),
                    _ => letter.to_string(),
                })
                .collect()
        })
    }

    fn value() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("true".to_owned()),
            Just("false".to_owned()),
            Just("null".to_owned()),
            Just("\"true\"".to_owned()),
            Just("\"brave\"".to_owned()),
            Just("[]".to_owned()),
            (-2_i32..60).prop_map(|number| number.to_string()),
            (-2_i32..60).prop_map(|number| format!("{number}.0")),
            (0_i32..6).prop_map(|number| format!("{number}e1")),
            (-2_i32..60).prop_map(|number| format!("\"{number}\"")),
        ]
    }

    fn encoded(text: &str, how: u8) -> Vec<u8> {
        match how {
            0 => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            1 => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            2 => format!("\u{feff}{text}").into_bytes(),
            3 => format!("{text}\0").into_bytes(),
            _ => text.as_bytes().to_vec(),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn nothing_is_reserved_below_what_a_lenient_reader_finds(
            members in vec((name(), value()), 0..5),
            plain in any::<bool>(),
            how in 0_u8..12,
        ) {
            let mut text: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("\"{name}\":{value}"))
                .collect();
            if plain {
                text.push("\"messages\":[]".to_owned());
            }
            let bytes = encoded(&format!("{{{}}}", text.join(",")), how);
            if let Some(dearest) = dearest(&bytes) {
                let reserved = reserved(&bytes);
                prop_assert!(reserved >= dearest, "{reserved} for {dearest}");
            }
        }
    }
}
