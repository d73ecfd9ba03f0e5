//! Bodies of HAR entries: text, base64, or parameters that a body is rebuilt from.

use base64::Engine as _;
use serde_json::Value;

use crate::bytes::base64_lenient;
use crate::message::media;
use crate::types::Warning;

/// The characters that stay as they are in a rebuilt form.
const FORM: &percent_encoding::AsciiSet = &percent_encoding::NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'*');

/// The body of a response.
pub(super) fn response(
    content: &Value,
    media_type: &str,
    limit: usize,
    warnings: &mut Vec<Warning>,
) -> Vec<u8> {
    external(content, "response", warnings);
    let Some(text) = content.get("text").and_then(Value::as_str) else {
        let size = content.get("size").and_then(Value::as_f64).unwrap_or(0.0);
        if size > 0.0 {
            warnings.push(Warning::new(
                "no-body",
                format!("the file has no text of the response body of {size} bytes"),
            ));
        }
        return Vec::new();
    };
    let encoding = content
        .get("encoding")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if encoding.eq_ignore_ascii_case("base64") {
        let (bytes, clean) = base64_lenient(text.as_bytes(), limit);
        if clean {
            return bytes;
        }
        warnings.push(Warning::new(
            "bad-base64",
            "the response body is marked as base64 but is none; it was kept as text",
        ));
    }
    characters(text, media_type, limit, warnings)
}

/// Text as bytes. Some writers put each byte of a binary body into one character.
fn characters(text: &str, media_type: &str, limit: usize, warnings: &mut Vec<Warning>) -> Vec<u8> {
    if text.contains('\u{fffd}') {
        warnings.push(Warning::new(
            "replacement-characters",
            "the writer replaced bytes that were no text by U+FFFD; they cannot be recovered",
        ));
    } else if media::is_binary(media_type)
        && !text.is_ascii()
        && text.chars().all(|character| u32::from(character) < 256)
    {
        warnings.push(Warning::new(
            "latin1-body",
            "a binary body was written as one character a byte",
        ));
        return text
            .chars()
            .take(limit)
            .filter_map(|character| u8::try_from(u32::from(character)).ok())
            .collect();
    }
    let bytes = text.as_bytes();
    bytes
        .get(..limit.min(bytes.len()))
        .unwrap_or(bytes)
        .to_vec()
}

fn external(content: &Value, part: &str, warnings: &mut Vec<Warning>) {
    if let Some(file) = content.get("_file").and_then(Value::as_str) {
        warnings.push(Warning::new(
            "external-body",
            format!("the body of the {part} is in another file: {file:.100}"),
        ));
    }
}

/// The body of a request. Text wins; parameters are used where there is no text.
pub(super) fn request(
    post: &Value,
    media_type: &str,
    limit: usize,
    warnings: &mut Vec<Warning>,
) -> Vec<u8> {
    external(post, "request", warnings);
    let text = post.get("text").and_then(Value::as_str).unwrap_or_default();
    if !text.is_empty() {
        let encoding = post
            .get("encoding")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if encoding.eq_ignore_ascii_case("base64") {
            let (bytes, clean) = base64_lenient(text.as_bytes(), limit);
            if clean {
                return bytes;
            }
        }
        return characters(text, media_type, limit, warnings);
    }
    let Some(parameters) = post.get("params").and_then(Value::as_array) else {
        return Vec::new();
    };
    if parameters.is_empty() {
        return Vec::new();
    }
    warnings.push(Warning::new(
        "body-rebuilt",
        "the request body was rebuilt from its parameters",
    ));
    let mut body = match media::parameter(media_type, "boundary") {
        _ if !media::essence(media_type).starts_with("multipart/") => form(parameters),
        boundary => multipart(parameters, &boundary.unwrap_or_else(|| "boundary".into())),
    };
    body.truncate(limit);
    body
}

fn field<'a>(parameter: &'a Value, name: &str) -> &'a str {
    parameter
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn form(parameters: &[Value]) -> Vec<u8> {
    // Some writers encode the parameters, others do not: what has a valid escape and no reserved character is taken as encoded.
    let write = |text: &str| -> String {
        let encoded = text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._*+%".contains(&byte));
        if encoded {
            text.to_owned()
        } else {
            percent_encoding::utf8_percent_encode(text, FORM).to_string()
        }
    };
    let pairs: Vec<String> = parameters
        .iter()
        .map(|parameter| {
            format!(
                "{}={}",
                write(field(parameter, "name")),
                write(field(parameter, "value"))
            )
        })
        .collect();
    pairs.join("&").into_bytes()
}

fn multipart(parameters: &[Value], boundary: &str) -> Vec<u8> {
    let mut body = String::new();
    for parameter in parameters {
        body.push_str(&format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"",
            quoted(field(parameter, "name"))
        ));
        let file = field(parameter, "fileName");
        if !file.is_empty() {
            body.push_str(&format!("; filename=\"{}\"", quoted(file)));
        }
        let kind = field(parameter, "contentType");
        if !kind.is_empty() {
            body.push_str(&format!("\r\nContent-Type: {}", quoted(kind)));
        }
        body.push_str("\r\n\r\n");
        body.push_str(field(parameter, "value"));
        body.push_str("\r\n");
    }
    body.push_str(&format!("--{boundary}--\r\n"));
    body.into_bytes()
}

fn quoted(text: &str) -> String {
    text.replace('"', "%22").replace(['\r', '\n'], " ")
}

/// A body as the text and the encoding of `content`.
pub(super) fn write(bytes: &[u8]) -> (String, Option<&'static str>) {
    match str::from_utf8(bytes) {
        Ok(text) if !text.contains(['\0', '\u{fffd}']) => (text.to_owned(), None),
        _ => (
            base64::engine::general_purpose::STANDARD.encode(bytes),
            Some("base64"),
        ),
    }
}
