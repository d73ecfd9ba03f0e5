//! The values that every interface shares: exchanges, messages, spans, warnings.

use serde::Serialize;

/// Where the bytes of a message come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provenance {
    /// Recorded on the wire, or sent by us: the bytes are those of the connection.
    Wire,
    /// Rebuilt from fields: names, spacing or framing may differ from the wire.
    Rebuilt,
    /// Rebuilt from fields, and the body was stored after its content codings were removed.
    Decoded,
    /// Sent at an agent's request.
    Agent,
}

/// Which way a WebSocket message went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the client to the server.
    Sent,
    /// From the server to the client.
    Received,
    /// A failure that the writer of the file recorded in place of a message.
    Error,
}

/// A part of an exchange that can be searched, shown or redacted by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The URL.
    Url,
    /// Request line and header lines.
    RequestHead,
    /// The decoded request body.
    RequestBody,
    /// Status line and header lines.
    ResponseHead,
    /// The decoded response body.
    ResponseBody,
    /// The payload of one WebSocket message.
    WebSocket,
    /// The note that came with the exchange.
    Note,
}

/// A half-open range of byte offsets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// Returns the span from `start` to `end`; offsets beyond 4 GiB are cut to the largest offset.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        Self {
            start: u32::try_from(start).unwrap_or(u32::MAX),
            end: u32::try_from(end).unwrap_or(u32::MAX),
        }
    }

    /// Returns the bytes of `whole` that the span covers, or nothing where it does not fit.
    #[must_use]
    pub fn of<'a>(&self, whole: &'a [u8]) -> &'a [u8] {
        whole
            .get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }
}

/// Something odd that did not stop the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// A stable, hyphenated code.
    pub code: String,
    /// One sentence for a person.
    pub detail: String,
}

impl Warning {
    pub(crate) fn new(code: &str, detail: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            detail: detail.into(),
        }
    }
}

/// Scheme, host and port of a URL.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Origin {
    /// In lower case.
    pub scheme: String,
    /// In lower case, without a trailing dot; an IPv6 address without brackets.
    pub host: String,
    /// The port, written or implied by the scheme.
    pub port: u16,
}

/// A request or a response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Head and body.
    #[serde(with = "crate::bytes")]
    pub bytes: Vec<u8>,
    /// Where the bytes come from.
    pub provenance: Provenance,
    /// Whether transfer and content codings were already removed from the body.
    pub decoded: bool,
}

/// One message of a WebSocket connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebSocketMessage {
    /// Which way it went.
    pub direction: Direction,
    /// Milliseconds since the Unix epoch.
    pub time_ms: Option<f64>,
    /// 1 text, 2 binary, 8 close, 9 ping, 10 pong.
    pub opcode: u8,
    /// The payload, without masking and compression.
    #[serde(with = "crate::bytes")]
    pub payload: Vec<u8>,
}

/// A request and its response.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Exchange {
    /// The position in the file, from 0, skipped items counted.
    pub index: u64,
    /// When the request was sent: milliseconds since the Unix epoch. Absent where the file does not say it without doubt.
    pub time_ms: Option<i64>,
    /// The time as the file writes it.
    pub time_text: String,
    /// The origin the request went to.
    pub origin: Option<Origin>,
    /// The URL, as the file writes it or as derived from the request.
    pub url: String,
    /// The method, as written.
    pub method: String,
    /// The status of the response.
    pub status: Option<u16>,
    /// `HTTP/1.0`, `HTTP/1.1`, `HTTP/2`, `HTTP/3`, or empty where it is unknown.
    pub http_version: String,
    /// The request.
    pub request: Message,
    /// The response, where there was one.
    pub response: Option<Message>,
    /// The address of the server, as the file writes it.
    pub server_address: String,
    /// The writer's own label for the kind of the response.
    pub mime_label: String,
    /// How long it took, in milliseconds.
    pub duration_ms: Option<f64>,
    /// Why there is no response, as the file says it.
    pub error: Option<String>,
    /// The note of the person who saved it.
    pub note: String,
    /// The colour the person gave it.
    pub colour: String,
    /// The messages of the WebSocket connection that the exchange opened.
    pub web_socket: Vec<WebSocketMessage>,
    /// Fields of the file that are kept as they are: a JSON object, or empty.
    pub extra: String,
    /// What was odd, and what was lost.
    pub warnings: Vec<Warning>,
}
