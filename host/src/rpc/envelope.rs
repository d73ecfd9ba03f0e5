//! Parses one message in two steps: the members that every JSON-RPC message has, then the parameters of its method.
//!
//! rmcp would end the connection, or not answer, on many of the messages that get an error reply here.

use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, JsonRpcMessage, RequestId};
use serde_json::{Map, Value};

use super::{ErrorReply, IdScanner, methods, surrogates};

/// A byte order mark, which some clients send before the first message. It is not part of JSON.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Where a message names its protocol version, in `_meta`.
const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// A well-formed JSON-RPC message whose parameters have not been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// `None` for a notification.
    id: Option<RequestId>,
    /// `None` for a reply.
    method: Option<String>,
    message: Map<String, Value>,
}

impl Envelope {
    /// Parses a message. Returns `None` for an empty line.
    ///
    /// # Errors
    /// The reply to give, with the message's id wherever it can be read.
    pub fn read(text: &[u8]) -> Result<Option<Self>, ErrorReply> {
        let text = text
            .strip_prefix(BYTE_ORDER_MARK)
            .unwrap_or(text)
            .trim_ascii();
        if text.is_empty() {
            return Ok(None);
        }
        match parse(text) {
            Ok(Value::Object(message)) => Self::of(message).map(Some),
            Ok(Value::Array(_)) => Err(invalid(
                Value::Null,
                "batches are not supported: send each message by itself",
            )),
            Ok(_) => Err(invalid(Value::Null, "a message must be a JSON object")),
            Err(reason) => Err(ErrorReply::of(
                IdScanner::scan(text),
                ErrorCode::PARSE_ERROR,
                reason,
            )),
        }
    }

    fn of(mut message: Map<String, Value>) -> Result<Self, ErrorReply> {
        let given = message.get("id").cloned();
        let refuse = |reason| Err(invalid(given.clone().unwrap_or_default(), reason));
        if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return refuse("`jsonrpc` must be \"2.0\"");
        }
        let method = match message.get("method") {
            Some(Value::String(method)) => Some(method.clone()),
            Some(_) => return refuse("`method` must be a string"),
            None if message.contains_key("result") || message.contains_key("error") => None,
            None => return refuse("`method` is missing"),
        };
        let id = match given.clone().map(serde_json::from_value::<RequestId>) {
            Some(Ok(id)) => Some(id),
            None => None,
            // An error reply may have no id.
            Some(Err(_)) if method.is_none() => None,
            Some(Err(_)) => return refuse("`id` must be a string or a whole number of 64 bits"),
        };
        // Some clients send absent parameters as null.
        if message.get("params").is_some_and(Value::is_null) {
            message.remove("params");
        }
        Ok(Self {
            id,
            method,
            message,
        })
    }

    /// Returns the id of a request; `None` for a notification.
    #[must_use]
    pub const fn id(&self) -> Option<&RequestId> {
        self.id.as_ref()
    }

    /// Returns the method of a request or notification; `None` for a reply.
    #[must_use]
    pub fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }

    /// Returns a parameter.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<&Value> {
        self.message.get("params")?.get(name)
    }

    /// Returns the message as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        Value::Object(self.message.clone()).to_string()
    }

    /// Returns the protocol version that the message itself names, as those since 2026-07-28 do.
    #[must_use]
    pub fn protocol_version(&self) -> Option<&str> {
        self.param("_meta")?.get(PROTOCOL_VERSION)?.as_str()
    }

    /// Checks the parameters. Returns `None` for a notification or reply that cannot be read: neither is answered.
    ///
    /// # Errors
    /// The reply to give to a request that cannot be served.
    pub fn check(self) -> Result<Option<ClientJsonRpcMessage>, ErrorReply> {
        let version = self.protocol_version();
        let (Some(method), Some(id)) = (&self.method, &self.id) else {
            return Ok(serde_json::from_value(Value::Object(self.message)).ok());
        };
        let refuse = |error| Err(ErrorReply::new(id.clone().into_json_value(), error));
        if methods::is_removed(method, version) {
            return refuse(methods::not_found(method));
        }
        let params = match self.message.get("params") {
            None => Map::new(),
            Some(Value::Object(params)) => params.clone(),
            Some(_) => {
                let message = format!("`params` of {method} must be an object");
                return refuse(rmcp::ErrorData::invalid_params(message, None));
            }
        };
        if let Some(error) = methods::wrong_list_params(method, &params) {
            return refuse(error);
        }
        match serde_json::from_value::<ClientJsonRpcMessage>(Value::Object(self.message)) {
            Ok(JsonRpcMessage::Request(request))
                if !matches!(request.request, ClientRequest::CustomRequest(_)) =>
            {
                Ok(Some(JsonRpcMessage::Request(request)))
            }
            _ => refuse(methods::why_unreadable(method, params)),
        }
    }
}

fn invalid(id: Value, reason: &str) -> ErrorReply {
    ErrorReply::of(id, ErrorCode::INVALID_REQUEST, reason)
}

/// Reads JSON, with lone surrogates as U+FFFD. An error is a sentence.
fn parse(text: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(text).map_err(|_| "the message is not UTF-8".to_owned())?;
    let error = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    surrogates::replaced(text)
        .map_or(Err(error), |text| serde_json::from_str(&text))
        .map_err(|error| format!("the message is not JSON: {error}"))
}
