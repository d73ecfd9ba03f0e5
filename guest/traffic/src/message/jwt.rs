//! JSON Web Tokens, decoded and never verified.

use serde::Serialize;
use serde_json::Value;

use crate::bytes::base64_lenient;

/// Bytes of a token.
const TOKEN: usize = 64 << 10;

/// A token, decoded. The signature is left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Jwt {
    /// The header as JSON.
    pub header: String,
    /// The payload as JSON; empty where it is encrypted or no JSON.
    pub payload: String,
    /// The member `alg`.
    pub algorithm: String,
    /// The names of the header's members.
    pub header_names: Vec<String>,
    /// `iat`: seconds since the Unix epoch.
    pub issued: Option<i64>,
    /// `exp`: seconds since the Unix epoch.
    pub expires: Option<i64>,
    /// Whether there is a signature.
    pub signed: bool,
}

/// Decodes a token; `None` where it is none.
#[must_use]
pub fn decode(token: &str) -> Option<Jwt> {
    let token = token.trim();
    let token = token
        .strip_prefix("Bearer ")
        .or(token.strip_prefix("bearer "))
        .unwrap_or(token)
        .trim();
    if token.len() > TOKEN {
        return None;
    }
    let mut parts = token.split('.');
    let (header_text, header) = part(parts.next()?)?;
    let payload = part(parts.next()?);
    let signature = parts.next().unwrap_or_default();
    let map = header.as_object()?;
    let seconds = |name: &str| {
        let value = payload.as_ref()?.1.get(name)?;
        value.as_i64().or_else(|| {
            value
                .as_f64()
                .filter(|number| number.abs() < 1e15)
                .map(|number| number as i64)
        })
    };
    let mut header_names: Vec<String> = map.keys().cloned().collect();
    header_names.sort();
    Some(Jwt {
        algorithm: header
            .get("alg")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
        header_names,
        issued: seconds("iat"),
        expires: seconds("exp"),
        signed: !signature.is_empty(),
        header: header_text,
        payload: payload.map_or(String::new(), |(text, _)| text),
    })
}

/// The JSON of a part, as written and as a value.
fn part(text: &str) -> Option<(String, Value)> {
    let (bytes, clean) = base64_lenient(text.as_bytes(), TOKEN);
    if !clean {
        return None;
    }
    let text = String::from_utf8(bytes).ok()?;
    let value = serde_json::from_str(&text).ok()?;
    Some((text, value))
}
