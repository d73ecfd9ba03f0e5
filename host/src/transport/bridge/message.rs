//! One JSON-RPC message as it came: its bytes, and the parts by which it is routed.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;
use rmcp::model::ErrorCode;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::rpc::{ErrorReply, IdScanner};

/// What some clients put before the first message. It is no part of JSON.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Where a request names its protocol version, in `_meta`.
const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The first version without sessions.
const FIRST_STATELESS: &str = "2026-07-28";
/// Methods that change nothing, or that give the same state when they are repeated.
const REPEATABLE: [&str; 17] = [
    "initialize",
    "server/discover",
    "ping",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "tasks/get",
    "tasks/list",
    "tasks/cancel",
    LISTEN,
];

/// The request of 2026-07-28 whose reply is a stream without an end.
pub const LISTEN: &str = "subscriptions/listen";
/// The request that begins a session.
pub const INITIALIZE: &str = "initialize";
/// The notification that a session has begun.
pub const INITIALIZED: &str = "notifications/initialized";
/// The notification that a request is no longer wanted.
pub const CANCELLED: &str = "notifications/cancelled";
/// The request that calls a tool.
pub const CALL: &str = "tools/call";

/// An id by its value: `1.0` is `1`, and a string is the same however it is escaped.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(String);

/// What a message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A request.
    Request(Id),
    /// A notification.
    Notification,
    /// A reply; without an id where its sender could not read the request.
    Reply(Option<Id>),
}

/// A message.
#[derive(Clone, Debug)]
pub struct Message {
    text: Bytes,
    kind: Kind,
    method: String,
    id: Option<Range<usize>>,
    params: Option<Range<usize>>,
    result: Option<Range<usize>>,
    error: Option<Range<usize>>,
}

#[derive(Deserialize)]
struct Parts<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Keeps a member that is `null`, which is not the same as one that is absent.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(from: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

impl Id {
    /// Reads an id as it is written in JSON. `None` where it is of a kind that no id has.
    #[must_use]
    pub fn of_raw(raw: &str) -> Option<Self> {
        let value = match serde_json::from_str(raw) {
            Ok(value) => value,
            // A string with half a surrogate pair is none to the parser, and the same only to itself.
            Err(_) => return raw.starts_with('"').then(|| Self(format!("r{raw}"))),
        };
        match value {
            Value::Null => Some(Self("null".to_owned())),
            Value::String(text) => Some(Self(format!("s{text}"))),
            Value::Number(number) => Some(Self(number_key(raw, &number))),
            _ => None,
        }
    }
}

fn number_key(raw: &str, number: &serde_json::Number) -> String {
    /// Beyond it, neighbouring whole numbers are one number to most servers.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match number.as_f64() {
        _ if number.is_i64() || number.is_u64() => format!("n{number}"),
        // A zero is added so that -0 is 0.
        Some(value) if value.fract() == 0.0 && value.abs() < EXACT => {
            format!("n{:.0}", value + 0.0)
        }
        _ => format!("n{raw}"),
    }
}

impl Message {
    /// Reads a message of either side, or several in a batch. There is none in an empty text.
    ///
    /// # Errors
    /// The reply to give, with the message's id wherever it can be read.
    pub fn read(text: Bytes) -> Result<Vec<Self>, ErrorReply> {
        let trimmed = text
            .strip_prefix(BYTE_ORDER_MARK)
            .unwrap_or(&text)
            .trim_ascii();
        if trimmed.is_empty() {
            return Ok(Vec::new());
        }
        let refuse =
            |code, reason: String| Err(ErrorReply::of(IdScanner::scan(trimmed), code, reason));
        let Ok(json) = std::str::from_utf8(trimmed) else {
            return refuse(
                ErrorCode::PARSE_ERROR,
                "the message is not UTF-8".to_owned(),
            );
        };
        let slice = text.slice_ref(trimmed);
        if json.starts_with('[') {
            return Self::batch(&slice, json);
        }
        match Self::one(slice, json) {
            Ok(message) => Ok(vec![message]),
            Err(NoMessage::NotJson(reason)) => refuse(ErrorCode::PARSE_ERROR, reason),
            Err(NoMessage::NotRpc(reason)) => refuse(ErrorCode::INVALID_REQUEST, reason.to_owned()),
        }
    }

    fn batch(text: &Bytes, json: &str) -> Result<Vec<Self>, ErrorReply> {
        let refuse = |code, reason: String| ErrorReply::of(Value::Null, code, reason);
        let parts: Vec<&RawValue> = serde_json::from_str(json).map_err(|error| {
            refuse(
                ErrorCode::PARSE_ERROR,
                format!("the message is not JSON: {error}"),
            )
        })?;
        if parts.is_empty() {
            return Err(refuse(
                ErrorCode::INVALID_REQUEST,
                "the batch is empty".to_owned(),
            ));
        }
        let messages = parts.into_iter().map(|part| {
            Self::one(text.slice_ref(part.get().as_bytes()), part.get())
                .map_err(|error| refuse(ErrorCode::INVALID_REQUEST, format!("in a batch: {error}")))
        });
        messages.collect()
    }

    fn one(text: Bytes, json: &str) -> Result<Self, NoMessage> {
        let parts: Parts<'_> = serde_json::from_str(json)
            .map_err(|error| NoMessage::NotJson(format!("the message is not JSON-RPC: {error}")))?;
        let id = parts.id.map(|id| Id::of_raw(id.get()));
        let kind = match (&parts.method, id) {
            (Some(_), None) => Kind::Notification,
            (Some(_), Some(Some(id))) => Kind::Request(id),
            (None, id) if parts.result.is_some() || parts.error.is_some() => {
                Kind::Reply(id.flatten())
            }
            (None, _) => return Err(NoMessage::NotRpc("`method` is missing")),
            (Some(_), Some(None)) => {
                return Err(NoMessage::NotRpc("`id` must be a string or a number"));
            }
        };
        let range = |part: Option<&RawValue>| {
            let part = part?.get();
            let start = (part.as_ptr() as usize).checked_sub(json.as_ptr() as usize)?;
            Some(start..start + part.len())
        };
        Ok(Self {
            id: range(parts.id),
            params: range(parts.params),
            result: range(parts.result),
            error: range(parts.error),
            method: parts.method.unwrap_or_default().into_owned(),
            kind,
            text,
        })
    }

    /// Makes a request of the bridge itself.
    #[must_use]
    pub fn request(id: &str, method: &str, params: Option<&RawValue>) -> Option<Self> {
        let mut object = serde_json::json!({ "jsonrpc": "2.0", "id": id, "method": method });
        if let (Some(params), Value::Object(members)) = (params, &mut object) {
            members.insert(
                "params".to_owned(),
                serde_json::from_str(params.get()).ok()?,
            );
        }
        Self::read(object.to_string().into()).ok()?.pop()
    }

    /// Makes a notification of the bridge itself.
    #[must_use]
    pub fn notification(method: &str, params: Option<Value>) -> Option<Self> {
        let mut object = serde_json::json!({ "jsonrpc": "2.0", "method": method });
        if let (Some(params), Value::Object(members)) = (params, &mut object) {
            members.insert("params".to_owned(), params);
        }
        Self::read(object.to_string().into()).ok()?.pop()
    }

    /// Returns the message's bytes, as they came.
    #[must_use]
    pub const fn text(&self) -> &Bytes {
        &self.text
    }

    /// Returns the message as a line without its end. Line ends between the members of JSON become spaces.
    #[must_use]
    pub fn line(&self) -> Vec<u8> {
        let mut line = Vec::with_capacity(self.text.len() + 1);
        line.extend_from_slice(&self.text);
        for byte in &mut line {
            if matches!(*byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        line
    }

    /// Returns what the message is.
    #[must_use]
    pub const fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Returns the method; empty for a reply.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Returns the id as it was written.
    #[must_use]
    pub fn raw_id(&self) -> Option<&str> {
        self.raw(self.id.as_ref())
    }

    /// Returns whether the message is a reply that says that the request failed.
    #[must_use]
    pub const fn is_error(&self) -> bool {
        self.error.is_some()
    }

    /// Returns the parameters as they were written.
    #[must_use]
    pub fn raw_params(&self) -> Option<&str> {
        self.raw(self.params.as_ref())
    }

    /// Returns the result as it was written.
    #[must_use]
    pub fn raw_result(&self) -> Option<&str> {
        self.raw(self.result.as_ref())
    }

    /// Returns a reply's error.
    #[must_use]
    pub fn error(&self) -> Option<Value> {
        serde_json::from_str(self.raw(self.error.as_ref())?).ok()
    }

    fn raw(&self, range: Option<&Range<usize>>) -> Option<&str> {
        std::str::from_utf8(self.text.get(range?.clone())?).ok()
    }

    /// Returns the members of the parameters, each as it was written.
    #[must_use]
    pub fn params(&self) -> Map<String, Value> {
        self.raw_params()
            .and_then(|params| serde_json::from_str(params).ok())
            .unwrap_or_default()
    }

    /// Returns the id that a cancellation names.
    #[must_use]
    pub fn cancelled_id(&self) -> Option<Id> {
        #[derive(Deserialize)]
        struct Cancelled<'a> {
            #[serde(borrow, rename = "requestId")]
            request_id: &'a RawValue,
        }
        let params: Cancelled<'_> = serde_json::from_str(self.raw_params()?).ok()?;
        Id::of_raw(params.request_id.get())
    }

    /// Returns the protocol version of a request that needs no session: it names one since 2026-07-28 itself.
    #[must_use]
    pub fn stateless_version(&self) -> Option<String> {
        // Versions are dates. What is no date is newer than all of them.
        self.protocol_version()
            .filter(|version| version.as_str() >= FIRST_STATELESS)
    }

    fn protocol_version(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Params {
            #[serde(rename = "_meta")]
            meta: Option<Map<String, Value>>,
        }
        let params = self.raw_params()?;
        if !params.contains("protocolVersion") {
            return None;
        }
        let params: Params = serde_json::from_str(params).ok()?;
        Some(params.meta?.get(PROTOCOL_VERSION)?.as_str()?.to_owned())
    }

    /// Returns whether the request may be sent again when it may have been sent before.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        REPEATABLE.contains(&self.method.as_str())
    }

    /// Returns the message with another id, given as JSON. A message without an id is returned as it is.
    #[must_use]
    pub fn with_id(&self, raw: &str) -> Option<Self> {
        let Some(range) = self.id.clone() else {
            return Some(self.clone());
        };
        let mut text = Vec::with_capacity(self.text.len() + raw.len());
        text.extend_from_slice(self.text.get(..range.start)?);
        text.extend_from_slice(raw.as_bytes());
        text.extend_from_slice(self.text.get(range.end..)?);
        Self::read(text.into()).ok()?.pop()
    }

    /// Returns the answer to this request that has the error of another message.
    #[must_use]
    pub fn answer_with(&self, error: &Self) -> Option<Self> {
        let (id, error) = (self.raw_id()?, error.raw(error.error.as_ref())?);
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
        Self::read(text.into()).ok()?.pop()
    }
}

/// Why a text is no message.
#[derive(Debug, thiserror::Error)]
enum NoMessage {
    #[error("{0}")]
    NotJson(String),
    #[error("{0}")]
    NotRpc(&'static str),
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str) -> Message {
        Message::read(Bytes::copy_from_slice(text.as_bytes()))
            .unwrap()
            .pop()
            .unwrap()
    }

    #[test]
    fn ids_are_compared_by_value() {
        let same = [
            ("1", "1.0"),
            ("1000", "1e3"),
            ("-0", "0"),
            (r#""a""#, r#""\u0061""#),
        ];
        for (one, other) in same {
            assert_eq!(Id::of_raw(one), Id::of_raw(other), "{one} {other}");
        }
        let different = [
            ("1", r#""1""#),
            ("null", r#""null""#),
            ("1.5", "1"),
            ("9007199254740993", "9007199254740992"),
            ("9007199254740993.0", "9007199254740992.0"),
        ];
        for (one, other) in different {
            assert_ne!(Id::of_raw(one), Id::of_raw(other), "{one} {other}");
        }
        for none in ["true", "[1]", "{}"] {
            assert_eq!(Id::of_raw(none), None, "{none}");
        }
    }

    #[test]
    fn a_message_keeps_its_bytes_and_gives_its_parts() {
        let text = r#" {"params":{"x":[1,"\ud800"]},"method":"tools\/call" , "jsonrpc":"2.0","id": 1e2 } "#;
        let message = read(text);
        assert_eq!(message.text(), text.trim());
        assert_eq!(message.method(), CALL);
        assert_eq!(message.raw_id(), Some("1e2"));
        assert_eq!(message.raw_params(), Some(r#"{"x":[1,"\ud800"]}"#));
        let other = message.with_id(r#""b""#).unwrap();
        assert_eq!(other.text(), text.trim().replace("1e2", r#""b""#).as_str());
        assert_eq!(
            read("{\"id\":1,\r\n\"result\":{}}").line(),
            b"{\"id\":1,  \"result\":{}}"
        );
    }

    #[test]
    fn kinds_are_told_apart() {
        let id = |raw| Id::of_raw(raw).unwrap();
        for (text, kind) in [
            (r#"{"method":"a","id":null}"#, Kind::Request(id("null"))),
            (r#"{"method":"a"}"#, Kind::Notification),
            (r#"{"id":1,"result":null}"#, Kind::Reply(Some(id("1")))),
            (r#"{"id":null,"error":{}}"#, Kind::Reply(None)),
        ] {
            let kind = match kind {
                Kind::Reply(None) => Kind::Reply(Some(id("null"))),
                kind => kind,
            };
            assert_eq!(read(text).kind(), &kind, "{text}");
        }
        assert_eq!(read(r#"{"error":{}}"#).kind(), &Kind::Reply(None));
        for bad in [
            "{",
            "1",
            "[]",
            r#"{"id":1}"#,
            r#"{"method":"a","id":{}}"#,
            "[{}]",
        ] {
            assert!(
                Message::read(Bytes::from_static(bad.as_bytes())).is_err(),
                "{bad}"
            );
        }
        assert!(
            Message::read(Bytes::from_static(b" \r"))
                .unwrap()
                .is_empty()
        );
        let batch = Bytes::from_static(br#"[{"method":"a"},{"method":"b","id":1}]"#);
        let batch = Message::read(batch).unwrap();
        assert_eq!(batch.len(), 2);
        assert_eq!(batch.last().unwrap().text(), r#"{"method":"b","id":1}"#);
    }

    #[test]
    fn the_version_is_the_one_in_meta() {
        let text = r#"{"id":1,"method":"a","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        assert_eq!(read(text).protocol_version().as_deref(), Some("2026-07-28"));
        let text = r#"{"id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
        assert_eq!(read(text).protocol_version(), None);
    }
}
