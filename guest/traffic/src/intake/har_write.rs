//! Exchanges as HAR, such that this reader gets them back as they were.
//!
//! The standard members are what any reader expects. What they cannot say (bytes of the wire, colours, provenance) goes into
//! `_glovebox`, and only where the standard members would give something else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::har::Entry;
use super::{Limits, har_body, har_entry, time};
use crate::bytes::base64_lenient;
use crate::message::{self, head::Head};
use crate::types::{Direction, Exchange, Message, Origin, Provenance, Warning};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    started_date_time: String,
    time: f64,
    request: Request<'a>,
    response: Response,
    cache: Empty,
    timings: Timings,
    #[serde(rename = "serverIPAddress", skip_serializing_if = "str::is_empty")]
    server_address: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    comment: &'a str,
    #[serde(rename = "_error", skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(rename = "_webSocketMessages", skip_serializing_if = "Vec::is_empty")]
    web_socket: Vec<Frame>,
    #[serde(rename = "_glovebox", skip_serializing_if = "Option::is_none")]
    own: Option<Own>,
}

#[derive(Serialize)]
struct Empty {}

#[derive(Serialize)]
struct Timings {
    send: i32,
    wait: i32,
    receive: i32,
}

#[derive(Serialize)]
struct Pair {
    name: String,
    value: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    method: &'a str,
    url: &'a str,
    http_version: &'a str,
    cookies: [Pair; 0],
    headers: Vec<Pair>,
    query_string: Vec<Pair>,
    #[serde(skip_serializing_if = "Option::is_none")]
    post_data: Option<Post>,
    headers_size: i32,
    body_size: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Post {
    mime_type: String,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    status: u16,
    status_text: String,
    http_version: String,
    cookies: [Pair; 0],
    headers: Vec<Pair>,
    content: Content,
    #[serde(rename = "redirectURL")]
    redirect_url: String,
    headers_size: i32,
    body_size: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    size: usize,
    mime_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
}

#[derive(Serialize)]
struct Frame {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<f64>,
    opcode: u8,
    data: String,
}

/// What the standard members do not give back.
#[derive(Serialize, Deserialize, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
struct Own {
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<OwnMessage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<OwnMessage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    no_response: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    http_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_unknown: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    colour: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    web_socket_ms: Option<Vec<Option<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warnings: Option<Vec<(String, String)>>,
}

#[derive(Serialize, Deserialize, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
struct OwnMessage {
    /// Base64.
    bytes: String,
    provenance: String,
    decoded: bool,
}

/// Returns the text before the first entry. `version` is this program's.
#[must_use]
pub fn head(version: &str) -> String {
    format!(
        "{{\"log\":{{\"version\":\"1.2\",\"creator\":{{\"name\":\"glovebox\",\"version\":{}}},\"pages\":[],\"entries\":[\n",
        Value::String(version.to_owned())
    )
}

/// Returns the text after the last entry.
#[must_use]
pub fn tail() -> String {
    "\n]}}\n".to_owned()
}

/// Returns an exchange as a HAR entry. Entries are joined by commas.
#[must_use]
pub fn entry(exchange: &Exchange) -> String {
    let mut written = standard(exchange);
    let plain = to_json(&written);
    let again = Entry {
        json: plain.clone().into_bytes(),
        cut: 0,
        broken: None,
    };
    // What the standard members alone would be read as.
    let limits = Limits {
        body: u32::MAX,
        item: u32::MAX,
        ..Limits::default()
    };
    let own = match har_entry::build(again, exchange.index, &limits) {
        Ok(read) => difference(exchange, &read),
        Err(_) => difference(exchange, &blank()),
    };
    if own == Own::default() {
        return plain;
    }
    written.own = Some(own);
    if written.request.url.is_empty() {
        // An entry without a URL would be skipped.
        written.request.url = "about:blank";
    }
    to_json(&written)
}

fn to_json(written: &Written<'_>) -> String {
    serde_json::to_string(written).unwrap_or_default()
}

fn standard(exchange: &Exchange) -> Written<'_> {
    let request = message::head::request(&exchange.request.bytes);
    let body = message::body::decoded(&exchange.request, &request);
    let media_type = request
        .header("content-type")
        .unwrap_or_default()
        .to_owned();
    let post_data = (!body.is_empty()).then(|| {
        let (text, encoding) = har_body::write(&body);
        Post {
            mime_type: media_type,
            text,
            encoding,
        }
    });
    Written {
        started_date_time: started(exchange),
        time: exchange.duration_ms.unwrap_or(-1.0),
        request: Request {
            method: &exchange.method,
            url: &exchange.url,
            http_version: &exchange.http_version,
            cookies: [],
            headers: pairs(&request),
            query_string: query(&exchange.url),
            body_size: body.len(),
            post_data,
            headers_size: -1,
        },
        response: response(exchange),
        cache: Empty {},
        timings: Timings {
            send: -1,
            wait: -1,
            receive: -1,
        },
        server_address: &exchange.server_address,
        comment: &exchange.note,
        error: exchange.error.as_deref(),
        web_socket: exchange
            .web_socket
            .iter()
            .map(|message| Frame {
                kind: match message.direction {
                    Direction::Sent => "send",
                    Direction::Received => "receive",
                    Direction::Error => "error",
                },
                time: message.time_ms.map(|millis| millis / 1000.0),
                opcode: message.opcode,
                data: match (message.opcode, str::from_utf8(&message.payload)) {
                    (1, Ok(text)) => text.to_owned(),
                    (1, Err(_)) => String::from_utf8_lossy(&message.payload).into_owned(),
                    _ => STANDARD.encode(&message.payload),
                },
            })
            .collect(),
        own: None,
    }
}

fn started(exchange: &Exchange) -> String {
    match exchange.time_ms {
        Some(millis) if time::rfc3339(&exchange.time_text) != Some(millis) => {
            time::to_rfc3339(millis)
        }
        _ => exchange.time_text.clone(),
    }
}

fn pairs(head: &Head) -> Vec<Pair> {
    head.headers
        .iter()
        .map(|header| Pair {
            name: header.name.clone(),
            value: header.value.clone(),
        })
        .collect()
}

fn query(url: &str) -> Vec<Pair> {
    let Some(query) = message::url::split(url).query else {
        return Vec::new();
    };
    let decode = |text: &str| -> String {
        String::from_utf8_lossy(&message::url::decode(text.as_bytes(), true)).into_owned()
    };
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Pair {
                name: decode(name),
                value: decode(value),
            }
        })
        .collect()
}

fn response(exchange: &Exchange) -> Response {
    let Some(response) = &exchange.response else {
        return Response {
            status: 0,
            status_text: String::new(),
            http_version: String::new(),
            cookies: [],
            headers: Vec::new(),
            content: Content {
                size: 0,
                mime_type: "x-unknown".into(),
                text: None,
                encoding: None,
            },
            redirect_url: String::new(),
            headers_size: -1,
            body_size: -1,
        };
    };
    let head = message::head::response(&response.bytes);
    let body = message::body::decoded(response, &head);
    let (text, encoding) = har_body::write(&body);
    Response {
        status: exchange.status.or(head.status).unwrap_or(0),
        status_text: head.reason.clone(),
        http_version: head.version.clone(),
        cookies: [],
        headers: pairs(&head),
        content: Content {
            size: body.len(),
            mime_type: head.header("content-type").unwrap_or_default().to_owned(),
            text: (!body.is_empty()).then_some(text),
            encoding,
        },
        redirect_url: head.header("location").unwrap_or_default().to_owned(),
        headers_size: -1,
        body_size: head.body.of(&response.bytes).len() as i64,
    }
}

fn own_message(message: &Message) -> OwnMessage {
    OwnMessage {
        bytes: STANDARD.encode(&message.bytes),
        provenance: match message.provenance {
            Provenance::Wire => "wire",
            Provenance::Rebuilt => "rebuilt",
            Provenance::Decoded => "decoded",
            Provenance::Agent => "agent",
        }
        .to_owned(),
        decoded: message.decoded,
    }
}

fn blank() -> Exchange {
    Exchange {
        index: 0,
        time_ms: None,
        time_text: String::new(),
        origin: None,
        url: String::new(),
        method: String::new(),
        status: None,
        http_version: String::new(),
        request: Message {
            bytes: Vec::new(),
            provenance: Provenance::Rebuilt,
            decoded: true,
        },
        response: None,
        server_address: String::new(),
        mime_label: String::new(),
        duration_ms: None,
        error: None,
        note: String::new(),
        colour: String::new(),
        web_socket: Vec::new(),
        extra: String::new(),
        warnings: Vec::new(),
    }
}

/// What must be said beside the standard members so that `wanted` is read.
fn difference(wanted: &Exchange, read: &Exchange) -> Own {
    let text = |wanted: &String, read: &String| (wanted != read).then(|| wanted.clone());
    let message = |wanted: &Message| Some(own_message(wanted));
    Own {
        request: (wanted.request != read.request).then(|| own_message(&wanted.request)),
        response: (wanted.response != read.response)
            .then(|| wanted.response.as_ref().and_then(message))
            .flatten(),
        no_response: (wanted.response.is_none() && read.response.is_some()).then_some(true),
        status: (wanted.status != read.status).then_some(wanted.status.unwrap_or(0)),
        url: text(&wanted.url, &read.url),
        method: text(&wanted.method, &read.method),
        http_version: text(&wanted.http_version, &read.http_version),
        origin: (wanted.origin != read.origin)
            .then(|| wanted.origin.as_ref().map_or(String::new(), Origin::to_url)),
        time_text: text(&wanted.time_text, &read.time_text),
        time_unknown: (wanted.time_ms.is_none() && read.time_ms.is_some()).then_some(true),
        mime_label: text(&wanted.mime_label, &read.mime_label),
        colour: text(&wanted.colour, &read.colour),
        note: text(&wanted.note, &read.note),
        error: (wanted.error != read.error)
            .then(|| wanted.error.clone())
            .flatten(),
        extra: text(&wanted.extra, &read.extra),
        web_socket_ms: (wanted.web_socket != read.web_socket).then(|| {
            wanted
                .web_socket
                .iter()
                .map(|message| message.time_ms)
                .collect()
        }),
        warnings: (wanted.warnings != read.warnings).then(|| {
            wanted
                .warnings
                .iter()
                .map(|warning| (warning.code.clone(), warning.detail.clone()))
                .collect()
        }),
    }
}

/// Applies what `_glovebox` of an entry says. A member that does not fit is ignored: the file is untrusted like any other.
pub(super) fn restore(entry: &Value, exchange: &mut Exchange, limits: &Limits) {
    let Some(own) = entry.get("_glovebox") else {
        return;
    };
    let Ok(own) = Own::deserialize(own) else {
        exchange.warnings.push(Warning::new(
            "bad-glovebox-member",
            "the member \"_glovebox\" is not as this program writes it; it was ignored",
        ));
        return;
    };
    let set = |place: &mut String, value: Option<String>| {
        if let Some(value) = value {
            *place = value;
        }
    };
    if let Some(message) = own
        .request
        .and_then(|message| read_message(message, limits))
    {
        exchange.request = message;
    }
    if let Some(message) = own
        .response
        .and_then(|message| read_message(message, limits))
    {
        exchange.response = Some(message);
    }
    if own.no_response == Some(true) {
        exchange.response = None;
    }
    if let Some(status) = own.status {
        exchange.status = (status != 0).then_some(status);
    }
    if let Some(origin) = own.origin {
        exchange.origin = message::url::origin(&origin);
    }
    if own.time_unknown == Some(true) {
        exchange.time_ms = None;
    }
    if let Some(error) = own.error {
        exchange.error = Some(error);
    }
    if let Some(times) = own.web_socket_ms {
        for (message, time) in exchange.web_socket.iter_mut().zip(times) {
            message.time_ms = time;
        }
    }
    if let Some(warnings) = own.warnings {
        exchange.warnings = warnings
            .into_iter()
            .map(|(code, detail)| Warning { code, detail })
            .collect();
    }
    set(&mut exchange.url, own.url);
    set(&mut exchange.method, own.method);
    set(&mut exchange.http_version, own.http_version);
    set(&mut exchange.time_text, own.time_text);
    set(&mut exchange.mime_label, own.mime_label);
    set(&mut exchange.colour, own.colour);
    set(&mut exchange.note, own.note);
    set(&mut exchange.extra, own.extra);
}

fn read_message(message: OwnMessage, limits: &Limits) -> Option<Message> {
    let most = (limits.body as usize).saturating_add(limits.item as usize);
    let (bytes, clean) = base64_lenient(message.bytes.as_bytes(), most);
    let provenance = match message.provenance.as_str() {
        "wire" => Provenance::Wire,
        "rebuilt" => Provenance::Rebuilt,
        "decoded" => Provenance::Decoded,
        "agent" => Provenance::Agent,
        _ => return None,
    };
    clean.then_some(Message {
        bytes,
        provenance,
        decoded: message.decoded,
    })
}
