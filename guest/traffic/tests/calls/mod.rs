//! The calls of the golden vectors, as any runtime makes them through the component.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use traffic::checks::Checker;
use traffic::h1::{Framer, FramerLimits, Side};
use traffic::redact::{Mode, Redactor};
use traffic::search::Pattern;
use traffic::view::{ViewOptions, view};
use traffic::{Exchange, Message, Provenance, codec, intake, message, websocket};

use crate::common;

/// The key of every vector.
const KEY: &[u8] = b"the key of the golden vectors";

fn redactor(options: &Value) -> Redactor {
    let mode = match options["mode"].as_str() {
        Some("off") => Mode::Off,
        Some("strict") => Mode::Strict,
        _ => Mode::Balanced,
    };
    Redactor::new(mode, KEY.to_vec(), b"the key of the call".to_vec(), &[])
}

fn all(input: &[u8]) -> Vec<Exchange> {
    common::exchanges(intake::detect(input).format.unwrap(), input)
}

fn text(input: &[u8]) -> String {
    String::from_utf8(input.to_vec()).unwrap()
}

fn wire(input: &[u8]) -> Message {
    Message {
        bytes: input.to_vec(),
        provenance: Provenance::Wire,
        decoded: false,
    }
}

/// Makes one call.
pub fn run(call: &str, input: &[u8], options: &Value) -> Value {
    match call {
        "detect" => to_json(intake::detect(input)),
        "intake" => {
            let format = match options["format"].as_str() {
                Some("burp-xml") => intake::Format::BurpXml,
                Some("har") => intake::Format::Har,
                _ => intake::detect(input).format.unwrap(),
            };
            let (items, report) =
                common::read(format, input, usize::MAX, intake::Limits::default());
            json!({ "items": to_json(items), "report": to_json(report) })
        }
        "redact" => {
            let redactor = redactor(options);
            to_json(
                all(input)
                    .iter()
                    .map(|exchange| redactor.exchange(exchange))
                    .collect::<Vec<_>>(),
            )
        }
        "redact-text" => to_json(redactor(options).text(&text(input), options["supplied"] == true)),
        "checks" => {
            let mut checker = Checker::new(KEY.to_vec(), 1_767_225_600_000);
            to_json(
                all(input)
                    .iter()
                    .flat_map(|exchange| checker.push(exchange))
                    .collect::<Vec<_>>(),
            )
        }
        "endpoints" => {
            let mut endpoints = message::endpoints::Endpoints::default();
            for exchange in all(input) {
                endpoints.push(&exchange);
            }
            let (endpoints, left_out) = endpoints.finish();
            json!({ "endpoints": to_json(endpoints), "leftOut": left_out })
        }
        "har" => {
            let entries: Vec<String> = all(input).iter().map(intake::har_entry).collect();
            json!(format!(
                "{}{}{}",
                intake::har_head("1"),
                entries.join(",\n"),
                intake::har_tail()
            ))
        }
        "view" => {
            let options = ViewOptions {
                json: options["json"] == true,
                budget: options["budget"].as_u64().unwrap_or(16_384) as u32,
                ..ViewOptions::default()
            };
            to_json(
                all(input)
                    .iter()
                    .map(|exchange| view(exchange, &options))
                    .collect::<Vec<_>>(),
            )
        }
        "parameters" => to_json(message::parameters::parameters(&wire(input))),
        "insertion-points" => to_json(message::parameters::insertion_points(
            &wire(input),
            options["append"] == true,
        )),
        "parse-request" => to_json(message::head::request(input)),
        "parse-response" => to_json(message::head::response(input)),
        "decode-body" => to_json(message::decode(
            &wire(input),
            options["request"] == true,
            &message::body::BodyLimits::default(),
        )),
        "cookies" => to_json(
            all(input)
                .iter()
                .flat_map(message::cookies::cookies)
                .collect::<Vec<_>>(),
        ),
        "decode-jwt" => to_json(message::jwt::decode(&text(input))),
        "search" => match Pattern::new(
            options["pattern"].as_str().unwrap(),
            false,
            options["ignoreCase"] == true,
        ) {
            Ok(pattern) => to_json(pattern.find(input, &[], 10)),
            Err(error) => json!({ "error": error }),
        },
        "frame" => {
            let mut framer = Framer::new(FramerLimits::default());
            let mut events =
                framer.push(Side::Client, options["client"].as_str().unwrap().as_bytes());
            events
                .extend(framer.push(Side::Server, options["server"].as_str().unwrap().as_bytes()));
            events.extend(framer.finish(Side::Client));
            events.extend(framer.finish(Side::Server));
            to_json(events)
        }
        "websocket" => {
            let response = options["response"].as_str().unwrap_or_default();
            let deflate = websocket::deflate_of(response.as_bytes());
            // The frames of a vector are the client's.
            let resets = deflate.is_some_and(|deflate| deflate.client_resets);
            let limit = options["limit"].as_u64().unwrap_or(1 << 20) as u32;
            let mut decoder = websocket::Decoder::new(deflate.is_some(), resets, limit);
            let frames = STANDARD
                .decode(options["frames"].as_str().unwrap())
                .unwrap();
            json!({ "deflate": to_json(deflate), "frames": to_json(decoder.push(&frames)) })
        }
        "hash" => to_json(codec::hash(input, options["algorithm"].as_str().unwrap()).unwrap()),
        other => panic!("unknown call {other}"),
    }
}

fn to_json(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}
