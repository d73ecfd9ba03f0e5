//! From the elements of a Burp item to an exchange.

use super::burp::{Field, Fields, Slot};
use super::{Bad, Limits, time};
use crate::bytes::{base64_lenient, lossy};
use crate::message::head::{self, Head};
use crate::message::url;
use crate::types::{Exchange, Message, Origin, Provenance, Warning};

/// Characters of a short field, such as the method.
const SHORT: usize = 4096;

/// Characters of a URL.
const URL: usize = 1 << 20;

pub(super) fn build(mut fields: Fields, index: u64, limits: &Limits) -> Result<Exchange, Bad> {
    if let Some((code, reason)) = fields.broken.take() {
        return Err(Bad::new(code, reason));
    }
    let mut warnings = Vec::new();
    let request = message(fields.take(Slot::Request), true, limits, &mut warnings)?;
    let Some(request) = request else {
        return Err(Bad::new("no-request", "the item has no request"));
    };
    let response = message(fields.take(Slot::Response), false, limits, &mut warnings)?;
    let head = head::request(&request.bytes);
    let reply = response
        .as_ref()
        .map(|response| head::response(&response.bytes));
    let target = target(&mut fields, &head);
    let status = short(&mut fields, Slot::Status)
        .parse()
        .ok()
        .or(reply.as_ref().and_then(|reply| reply.status));
    let time_text = short(&mut fields, Slot::Time);
    let time_ms = time::java_date(&time_text).or_else(|| time::rfc3339(&time_text));
    if time_ms.is_none() && !time_text.is_empty() {
        warnings.push(Warning::new(
            "time-zone-unknown",
            format!("the time {time_text:?} names no zone that is certain"),
        ));
    }
    let method = short(&mut fields, Slot::Method);
    Ok(Exchange {
        index,
        time_ms,
        time_text,
        origin: target.0,
        url: target.1,
        method: if head.method.is_empty() {
            method
        } else {
            head.method.clone()
        },
        status,
        http_version: version(&head, reply.as_ref()),
        request,
        response,
        server_address: lossy(&fields.address, SHORT),
        mime_label: short(&mut fields, Slot::Mimetype),
        duration_ms: None,
        error: None,
        note: text(&mut fields, Slot::Comment, limits.item as usize),
        colour: short(&mut fields, Slot::Colour),
        web_socket: Vec::new(),
        extra: String::new(),
        warnings,
    })
}

fn text(fields: &mut Fields, slot: Slot, limit: usize) -> String {
    let bytes = fields.take(slot).bytes;
    lossy(bytes.trim_ascii(), limit)
}

fn short(fields: &mut Fields, slot: Slot) -> String {
    text(fields, slot, SHORT)
}

/// The version folded to one spelling; empty where it is unknown.
fn version(head: &Head, reply: Option<&Head>) -> String {
    let written = if head.version.is_empty() {
        reply.map_or("", |reply| reply.version.as_str())
    } else {
        &head.version
    };
    super::har_entry::fold_version(written)
}

/// The bytes of a message with their provenance; `None` where the element is missing or empty.
fn message(
    field: Field,
    request: bool,
    limits: &Limits,
    warnings: &mut Vec<Warning>,
) -> Result<Option<Message>, Bad> {
    let part = if request { "request" } else { "response" };
    if !field.present || field.bytes.is_empty() {
        return Ok(None);
    }
    let most = (limits.body as usize).saturating_add(limits.item as usize);
    let dropped = field.dropped;
    let mut bytes = match field.base64 {
        Some(true) => from_base64(&field.bytes, part, most, warnings),
        Some(false) => raw(field),
        None => guess(field, request, most),
    };
    if bytes.is_empty() {
        return Ok(None);
    }
    let length = head::head_length(&bytes).unwrap_or(bytes.len());
    if length > limits.item as usize {
        return Err(Bad::new(
            "head-too-large",
            format!("the head of the {part} has more than {} bytes", limits.item),
        ));
    }
    let keep = length.saturating_add(limits.body as usize);
    if bytes.len() > keep || dropped > 0 {
        let more = if dropped > 0 { "more than " } else { "" };
        warnings.push(Warning::new(
            "body-cut",
            format!(
                "the body of the {part} has {more}{} bytes; the first {} were kept",
                bytes.len() - length,
                limits
                    .body
                    .min(u32::try_from(bytes.len() - length).unwrap_or(u32::MAX))
            ),
        ));
        bytes.truncate(keep);
    }
    // HTTP/2 is written as HTTP/1 text: names, reason and Host are the program's, not the wire's.
    let line = bytes
        .split(|&byte| byte == b'\n')
        .next()
        .unwrap_or_default();
    let rebuilt = memchr::memmem::find(line, b"HTTP/2").is_some()
        || memchr::memmem::find(line, b"HTTP/3").is_some();
    Ok(Some(Message {
        bytes,
        provenance: if rebuilt {
            Provenance::Rebuilt
        } else {
            Provenance::Wire
        },
        decoded: false,
    }))
}

fn from_base64(text: &[u8], part: &str, most: usize, warnings: &mut Vec<Warning>) -> Vec<u8> {
    let (bytes, clean) = base64_lenient(text, most);
    if !clean {
        warnings.push(Warning::new(
            "bad-base64",
            format!("the {part} is no clean base64; what could be decoded was kept"),
        ));
    }
    bytes
}

/// A raw message. Outside of CDATA, line ends before it are indentation: no message begins with white space.
fn raw(field: Field) -> Vec<u8> {
    if field.cdata {
        return field.bytes;
    }
    field.bytes.trim_ascii_start().to_vec()
}

/// A message whose element does not say how it is written: base64 where it decodes to a message.
fn guess(field: Field, request: bool, most: usize) -> Vec<u8> {
    let (bytes, clean) = base64_lenient(&field.bytes, most);
    let message = if request {
        bytes
            .iter()
            .take(64)
            .position(|&byte| byte == b' ')
            .is_some_and(|space| space > 0)
            && bytes
                .iter()
                .take(16)
                .all(|byte| (b' '..0x7f).contains(byte))
    } else {
        bytes.starts_with(b"HTTP/")
    };
    if clean && message { bytes } else { raw(field) }
}

/// Origin and URL: what the item says, else what can be told from the request.
fn target(fields: &mut Fields, head: &Head) -> (Option<Origin>, String) {
    let written = text(fields, Slot::Url, URL);
    let host = short(fields, Slot::Host);
    let port = short(fields, Slot::Port);
    let protocol = short(fields, Slot::Protocol);
    let path = text(fields, Slot::Path, URL);
    let origin = url::origin_of(&protocol, &host, &port)
        .or_else(|| url::origin(&written))
        .or_else(|| url::origin(&head.target))
        .or_else(|| {
            let (host, port) = url::host_and_port(head.header("host")?);
            let scheme = if port == "80" { "http" } else { "https" };
            url::origin_of(scheme, host, port)
        });
    let url = if !written.is_empty() {
        written
    } else if !url::split(&head.target).scheme.is_empty() {
        head.target.clone()
    } else {
        let path = if path.is_empty() { &head.target } else { &path };
        match &origin {
            Some(origin) => format!("{}{path}", origin.to_url()),
            None => path.clone(),
        }
    };
    (origin, url)
}
