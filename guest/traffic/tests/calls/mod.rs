//! The calls of the golden vectors, as any runtime makes them through the component.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

use serde_json::{Value, json};
use traffic::intake;

use crate::common;

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
        other => panic!("unknown call {other}"),
    }
}

fn to_json(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}
