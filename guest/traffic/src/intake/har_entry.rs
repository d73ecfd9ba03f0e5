//! From the JSON of a HAR entry to an exchange. Every member is optional, except what a request cannot do without.

use serde_json::Value;

use super::har::Entry;
use super::{Bad, Limits, har_body, har_write, time};
use crate::bytes::base64_lenient;
use crate::message::url;
use crate::types::{Direction, Exchange, Message, Origin, Provenance, Warning, WebSocketMessage};

/// Bytes of the unknown members that are kept of an entry.
const EXTRA: usize = 2048;

/// Characters of one unknown member.
const EXTRA_TEXT: usize = 200;

/// WebSocket messages kept of one entry.
const MESSAGES: usize = 100_000;

pub(super) fn build(entry: Entry, index: u64, limits: &Limits) -> Result<Exchange, Bad> {
    if let Some((code, reason)) = entry.broken {
        return Err(Bad::new(code, reason));
    }
    let mut warnings = Vec::new();
    let value = parse(&entry.json, &mut warnings)?;
    drop(entry.json);
    if entry.cut > 0 {
        warnings.push(Warning::new(
            "body-cut",
            format!(
                "a text of the entry is larger than a body may be; {} bytes of it were left out",
                entry.cut
            ),
        ));
    }
    if !value.is_object() {
        return Err(Bad::new("not-an-object", "the entry is no JSON object"));
    }
    let mut exchange = exchange(&value, index, limits, warnings)?;
    har_write::restore(&value, &mut exchange, limits);
    Ok(exchange)
}

/// Reads the JSON; where it breaks the rules in one of the ways that writers do, it is repaired first.
fn parse(json: &[u8], warnings: &mut Vec<Warning>) -> Result<Value, Bad> {
    if let Ok(value) = serde_json::from_slice(json) {
        return Ok(value);
    }
    match serde_json::from_slice(&repair(json)) {
        Ok(value) => {
            warnings.push(Warning::new(
                "json-repaired",
                "the entry is no strict JSON: it holds NaN, a raw control character, a lone surrogate or bytes that are no UTF-8",
            ));
            Ok(value)
        }
        Err(error) => Err(Bad::new(
            "bad-json",
            format!("the entry is no JSON: {error}"),
        )),
    }
}

/// NaN and infinities become null, raw control characters are escaped, lone surrogates and bytes that are no UTF-8 become U+FFFD.
fn repair(json: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(json);
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text.as_ref();
    let mut string = false;
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        if !string {
            let literal = ["-Infinity", "Infinity", "NaN"]
                .iter()
                .find(|literal| rest.starts_with(**literal));
            if let Some(literal) = literal {
                out.push_str("null");
                length = literal.len();
            } else {
                string = first == '"';
                out.push(first);
            }
        } else if first == '"' {
            string = false;
            out.push(first);
        } else if first == '\\' {
            length = repair_escape(rest, &mut out);
        } else if u32::from(first) < 0x20 {
            out.push_str(&format!("\\u{:04x}", u32::from(first)));
        } else {
            out.push(first);
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    out.into_bytes()
}

/// Copies an escape and returns its length.
fn repair_escape(rest: &str, out: &mut String) -> usize {
    let code = |text: &str| -> Option<u32> {
        let digits = text.strip_prefix("\\u")?.get(..4)?;
        u32::from_str_radix(digits, 16).ok()
    };
    let copy = |out: &mut String, length: usize| {
        out.push_str(rest.get(..length).unwrap_or_default());
        length
    };
    match code(rest) {
        Some(0xd800..=0xdbff) => {
            let next = rest.get(6..).and_then(code);
            if matches!(next, Some(0xdc00..=0xdfff)) {
                return copy(out, 12);
            }
        }
        Some(0xdc00..=0xdfff) => {}
        Some(_) => return copy(out, 6),
        None => {
            let second = rest.chars().nth(1);
            if let Some(second) = second
                && "\"\\/bfnrt".contains(second)
            {
                return copy(out, 2);
            }
            // Not an escape: the backslash itself was meant.
            out.push_str("\\\\");
            return 1;
        }
    }
    out.push_str("\\ufffd");
    6
}

fn exchange(
    entry: &Value,
    index: u64,
    limits: &Limits,
    mut warnings: Vec<Warning>,
) -> Result<Exchange, Bad> {
    let request = entry
        .get("request")
        .filter(|request| request.is_object())
        .ok_or_else(|| Bad::new("no-request", "the entry has no request"))?;
    let url = text(request, "url");
    if url.is_empty() {
        return Err(Bad::new("no-url", "the request has no URL"));
    }
    let method = text(request, "method");
    let time_text = text(entry, "startedDateTime");
    let time_ms = time::rfc3339(&time_text);
    if time_ms.is_none() && !time_text.is_empty() {
        warnings.push(Warning::new(
            "bad-time",
            format!("the time {time_text:.40?} is no RFC 3339 time"),
        ));
    }
    let version = fold_version(&text(request, "httpVersion"));
    let (request, origin) =
        request_message(request, &method, &url, &version, limits, &mut warnings)?;
    let reply = entry.get("response").unwrap_or(&Value::Null);
    let (status, response) = response_message(reply, &version, limits, &mut warnings)?;
    Ok(Exchange {
        index,
        time_ms,
        time_text,
        origin,
        url,
        method,
        status,
        http_version: version,
        request,
        response,
        server_address: text(entry, "serverIPAddress"),
        mime_label: String::new(),
        duration_ms: entry
            .get("time")
            .and_then(Value::as_f64)
            .filter(|time| (0.0..1e12).contains(time)),
        error: error(entry, reply),
        note: text(entry, "comment"),
        colour: String::new(),
        web_socket: web_socket(entry, limits, &mut warnings),
        extra: extra(entry),
        warnings,
    })
}

fn text(value: &Value, name: &str) -> String {
    value
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// Returns one spelling for each version; empty where it is unknown.
pub(super) fn fold_version(written: &str) -> String {
    let lower = written.trim().to_ascii_lowercase();
    match lower.as_str() {
        "http/1.0" => "HTTP/1.0",
        "http/1.1" => "HTTP/1.1",
        "h2" | "h2c" | "http/2" | "http/2.0" | "http/2+quic" | "spdy" => "HTTP/2",
        "h3" | "http/3" | "http/3.0" => "HTTP/3",
        _ if lower.starts_with("h3-") || lower.starts_with("h3") => "HTTP/3",
        _ if lower.starts_with("http/2") => "HTTP/2",
        _ if lower.starts_with("http/1") => "HTTP/1.1",
        _ => "",
    }
    .to_owned()
}

/// The version on the first line of a rebuilt message, which must have one.
fn line_version(version: &str) -> &str {
    if version.is_empty() {
        "HTTP/1.1"
    } else {
        version
    }
}

fn request_message(
    request: &Value,
    method: &str,
    url: &str,
    version: &str,
    limits: &Limits,
    warnings: &mut Vec<Warning>,
) -> Result<(Message, Option<Origin>), Bad> {
    let mut headers = headers(request, warnings);
    let pseudo = |name: &str| -> Option<String> {
        headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.clone())
    };
    let authority = pseudo(":authority");
    let pieces = url::split(url);
    let origin = url::origin(url).or_else(|| {
        let authority = authority.as_deref()?;
        let (host, port) = url::host_and_port(authority);
        url::origin_of(&pseudo(":scheme")?, host, port)
    });
    headers.retain(|(name, _)| !name.starts_with(':'));
    let mut target = pieces.path.to_owned();
    if target.is_empty() {
        target.push('/');
    }
    if let Some(query) = pieces.query {
        target.push('?');
        target.push_str(query);
    }
    if method.eq_ignore_ascii_case("CONNECT") {
        target = format!("{}:{}", pieces.host, pieces.port);
    }
    let has_host = headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("host"));
    if !has_host {
        let written = pieces.host.to_owned();
        let host = match pieces.port {
            "" => written,
            port => format!("{written}:{port}"),
        };
        let host = authority.unwrap_or(host);
        if !host.is_empty() {
            headers.insert(0, ("Host".into(), host));
        }
    }
    let media_type = content_type(&headers)
        .or_else(|| request.get("postData").map(|post| text(post, "mimeType")))
        .unwrap_or_default();
    let mut bytes = format!(
        "{} {} {}\r\n",
        one_line(method),
        one_line(&target),
        line_version(version)
    )
    .into_bytes();
    write_headers(&mut bytes, &headers);
    head_limit(&bytes, "request", limits)?;
    let mut body = request.get("postData").map_or_else(Vec::new, |post| {
        har_body::request(post, &media_type, limits.body as usize, warnings)
    });
    bytes.append(&mut body);
    let message = Message {
        bytes,
        provenance: Provenance::Rebuilt,
        decoded: true,
    };
    Ok((message, origin))
}

fn head_limit(head: &[u8], part: &str, limits: &Limits) -> Result<(), Bad> {
    if head.len() > limits.item as usize {
        return Err(Bad::new(
            "head-too-large",
            format!("the head of the {part} has more than {} bytes", limits.item),
        ));
    }
    Ok(())
}

fn response_message(
    response: &Value,
    version: &str,
    limits: &Limits,
    warnings: &mut Vec<Warning>,
) -> Result<(Option<u16>, Option<Message>), Bad> {
    let status = status(response.get("status").unwrap_or(&Value::Null));
    let empty = Value::Null;
    let content = response.get("content").unwrap_or(&empty);
    let headers = headers(response, warnings);
    let Some(status) = status else {
        if !headers.is_empty() || content.get("text").is_some() {
            warnings.push(Warning::new(
                "no-status",
                "the response has no usable status; it was left out",
            ));
        }
        return Ok((None, None));
    };
    let written = fold_version(&text(response, "httpVersion"));
    let version = if written.is_empty() {
        version
    } else {
        &written
    };
    let media_type = content_type(&headers).unwrap_or_else(|| text(content, "mimeType"));
    let mut bytes = format!(
        "{} {status} {}\r\n",
        line_version(version),
        one_line(&text(response, "statusText"))
    )
    .into_bytes();
    let visible: Vec<(String, String)> = headers
        .into_iter()
        .filter(|(name, _)| !name.starts_with(':'))
        .collect();
    write_headers(&mut bytes, &visible);
    head_limit(&bytes, "response", limits)?;
    let mut body = har_body::response(content, &media_type, limits.body as usize, warnings);
    bytes.append(&mut body);
    Ok((
        Some(status),
        Some(Message {
            bytes,
            provenance: Provenance::Decoded,
            decoded: true,
        }),
    ))
}

/// A status as writers write it: an integer, a float or a string. 0 and -1 mean that there was none.
fn status(value: &Value) -> Option<u16> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    (100.0..1000.0).contains(&number).then_some(number as u16)
}

/// Names and values in order; a list of pairs, of objects, or one object.
fn headers(message: &Value, warnings: &mut Vec<Warning>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    match message.get("headers") {
        Some(Value::Array(list)) => {
            for header in list {
                let (name, value) = match header {
                    Value::Array(pair) => (scalar(pair.first()), scalar(pair.get(1))),
                    _ => (scalar(header.get("name")), scalar(header.get("value"))),
                };
                add_header(&mut found, name, value, warnings);
            }
        }
        Some(Value::Object(map)) => {
            for (name, value) in map {
                add_header(&mut found, name.clone(), scalar(Some(value)), warnings);
            }
        }
        _ => {}
    }
    found
}

fn scalar(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
        _ => String::new(),
    }
}

fn add_header(
    found: &mut Vec<(String, String)>,
    name: String,
    value: String,
    warnings: &mut Vec<Warning>,
) {
    let pseudo = name.strip_prefix(':').unwrap_or(&name);
    if pseudo.is_empty() || !pseudo.bytes().all(crate::message::head::is_token) {
        warnings.push(Warning::new(
            "bad-header-name",
            format!(
                "the header name {name:.40?} cannot stand in a message; the header was left out"
            ),
        ));
        return;
    }
    if !value.contains(['\r', '\n']) {
        if name.eq_ignore_ascii_case("set-cookie") {
            let cookies = split_cookies(&value);
            if cookies.len() > 1 {
                warnings.push(Warning::new(
                    "set-cookie-merged",
                    "several Set-Cookie lines were joined by commas; they were split where a cookie begins",
                ));
            }
            found.extend(cookies.into_iter().map(|cookie| (name.clone(), cookie)));
            return;
        }
        found.push((name, value));
        return;
    }
    warnings.push(Warning::new(
        "header-lines-joined",
        format!("several {name} lines were joined by line ends; they were split"),
    ));
    for line in value
        .split(['\r', '\n'])
        .filter(|line| !line.trim().is_empty())
    {
        found.push((name.clone(), line.trim().to_owned()));
    }
}

/// Splits cookies that were joined by commas. A comma in a date (`Expires=Wed, 21 Oct`) is followed by a day, and no cookie begins there.
fn split_cookies(value: &str) -> Vec<String> {
    let mut cookies: Vec<String> = Vec::new();
    for piece in value.split(',') {
        let begins = piece
            .split(';')
            .next()
            .and_then(|pair| pair.split_once('='))
            .is_some_and(|(name, _)| {
                let name = name.trim_start();
                !name.is_empty() && name.bytes().all(crate::message::head::is_token)
            });
        match cookies.last_mut() {
            Some(last) if !begins => {
                last.push(',');
                last.push_str(piece);
            }
            Some(_) => cookies.push(piece.trim_start().to_owned()),
            None => cookies.push(piece.to_owned()),
        }
    }
    cookies
}

fn content_type(headers: &[(String, String)]) -> Option<String> {
    headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("content-type"))
        .map(|(_, value)| value.clone())
        .filter(|value| !value.trim().is_empty())
}

fn write_headers(bytes: &mut Vec<u8>, headers: &[(String, String)]) {
    for (name, value) in headers {
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(one_line(value).as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
}

/// A text that cannot end its line.
fn one_line(text: &str) -> String {
    text.replace(['\r', '\n', '\0'], " ")
}

fn error(entry: &Value, response: &Value) -> Option<String> {
    [
        (response, "_error"),
        (entry, "_error"),
        (response, "_failureText"),
        (entry, "_failureText"),
    ]
    .into_iter()
    .find_map(|(value, name)| value.get(name)?.as_str())
    .map(|text| text.chars().take(EXTRA_TEXT).collect())
}

fn web_socket(
    entry: &Value,
    limits: &Limits,
    warnings: &mut Vec<Warning>,
) -> Vec<WebSocketMessage> {
    let Some(list) = entry.get("_webSocketMessages").and_then(Value::as_array) else {
        return Vec::new();
    };
    if list.len() > MESSAGES {
        warnings.push(Warning::new(
            "websocket-cut",
            format!("only the first {MESSAGES} WebSocket messages were kept"),
        ));
    }
    list.iter()
        .take(MESSAGES)
        .map(|message| web_socket_message(message, limits, warnings))
        .collect()
}

fn web_socket_message(
    message: &Value,
    limits: &Limits,
    warnings: &mut Vec<Warning>,
) -> WebSocketMessage {
    let opcode = message
        .get("opcode")
        .and_then(Value::as_f64)
        .map_or(1, |opcode| opcode.clamp(0.0, 15.0) as u8);
    let data = message
        .get("data")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let (mut payload, clean) = if opcode == 1 {
        (data.as_bytes().to_vec(), true)
    } else {
        base64_lenient(data.as_bytes(), limits.body as usize)
    };
    if !clean {
        warnings.push(Warning::new(
            "bad-base64",
            "a binary WebSocket message is no base64; it was kept as text",
        ));
        payload = data.as_bytes().to_vec();
    }
    WebSocketMessage {
        direction: match message.get("type").and_then(Value::as_str) {
            Some("send") => Direction::Sent,
            Some("error") => Direction::Error,
            _ => Direction::Received,
        },
        time_ms: message
            .get("time")
            .and_then(Value::as_f64)
            .map(|seconds| seconds * 1000.0),
        opcode,
        payload,
    }
}

/// Scalars whose name begins with an underscore, as a small JSON object; of `_initiator` the type.
fn extra(entry: &Value) -> String {
    const READ: [&str; 5] = [
        "_webSocketMessages",
        "_error",
        "_failureText",
        "_glovebox",
        "_initiator",
    ];
    let Some(map) = entry.as_object() else {
        return String::new();
    };
    let mut members: Vec<(&str, Value)> = map
        .iter()
        .filter(|(name, _)| name.starts_with('_') && !READ.contains(&name.as_str()))
        .filter(|(_, value)| !value.is_object() && !value.is_array() && !value.is_null())
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    if let Some(kind) = entry.get("_initiator").and_then(|value| value.get("type")) {
        members.push(("_initiator", kind.clone()));
    }
    members.sort_by(|left, right| left.0.cmp(right.0));
    let mut out = String::new();
    for (name, value) in members {
        let value = match value {
            Value::String(text) => Value::String(text.chars().take(EXTRA_TEXT).collect()),
            other => other,
        };
        let member = format!("{}:{value}", Value::String(name.to_owned()));
        if out.len() + member.len() + 2 > EXTRA {
            continue;
        }
        out.push(if out.is_empty() { '{' } else { ',' });
        out.push_str(&member);
    }
    if !out.is_empty() {
        out.push('}');
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn cookies_joined_by_commas_are_split_beside_dates() {
        assert_eq!(
            split_cookies("a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Path=/, b=2, c=3"),
            [
                "a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Path=/",
                "b=2",
                "c=3"
            ]
        );
        assert_eq!(split_cookies("a=1,2,3; Path=/"), ["a=1,2,3; Path=/"]);
    }

    #[test]
    fn versions_are_folded() {
        for (written, folded) in [
            ("http/2.0", "HTTP/2"),
            ("h2", "HTTP/2"),
            ("HTTP/2", "HTTP/2"),
            ("h3", "HTTP/3"),
            ("h3-29", "HTTP/3"),
            ("http/3.0", "HTTP/3"),
            ("http/1.1", "HTTP/1.1"),
            ("", ""),
            ("unknown", ""),
        ] {
            assert_eq!(fold_version(written), folded);
        }
    }

    #[test]
    fn json_that_writers_get_wrong_is_repaired() {
        let repaired = repair(b"{\"a\":NaN,\"b\":-Infinity,\"c\":\"x\ny\\ud800z\\q NaN\xff\"}");
        let value: Value = serde_json::from_slice(&repaired).unwrap();
        assert_eq!(value["a"], Value::Null);
        assert_eq!(value["b"], Value::Null);
        assert_eq!(value["c"], "x\ny\u{fffd}z\\q NaN\u{fffd}");
    }
}
