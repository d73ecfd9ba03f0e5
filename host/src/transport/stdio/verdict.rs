//! What to do with one line of input: pass it on, refuse it, or leave it.
//!
//! The library below would end the connection, or stay silent, on much of what is refused here.

use rmcp::ErrorData;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, JsonRpcError, JsonRpcMessage, RequestId,
};
use serde_json::Value;

use crate::mcp::unserved;

/// What a line is.
#[derive(Debug)]
pub enum Verdict {
    /// A message for the handler.
    Pass(Box<ClientJsonRpcMessage>),
    /// To be answered with this error and no more.
    Refuse(Box<JsonRpcError>),
    /// Not to be answered: blank, or a notification that concerns nobody.
    Leave,
}

impl Verdict {
    fn refuse(id: Option<RequestId>, code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Refuse(Box::new(refusal(id, code, message)))
    }
}

/// An error reply.
pub fn refusal(id: Option<RequestId>, code: ErrorCode, message: impl Into<String>) -> JsonRpcError {
    JsonRpcError::new(id, ErrorData::new(code, message.into(), None))
}

/// Judges a line.
#[must_use]
pub fn judge(line: &[u8]) -> Verdict {
    let Ok(text) = std::str::from_utf8(line) else {
        return Verdict::refuse(None, ErrorCode::PARSE_ERROR, "the line is not UTF-8");
    };
    let text = text.trim();
    if text.is_empty() {
        return Verdict::Leave;
    }
    let value = match serde_json::from_str::<Value>(text) {
        Ok(value) => value,
        Err(error) => {
            let message = format!("the line is not JSON: {error}");
            return Verdict::refuse(None, ErrorCode::PARSE_ERROR, message);
        }
    };
    match value {
        Value::Object(object) => judge_object(object),
        Value::Array(_) => Verdict::refuse(
            None,
            ErrorCode::INVALID_REQUEST,
            "batches are not taken: send one message a line",
        ),
        _ => Verdict::refuse(
            None,
            ErrorCode::INVALID_REQUEST,
            "a message is a JSON object",
        ),
    }
}

fn judge_object(mut object: serde_json::Map<String, Value>) -> Verdict {
    let given = object.get("id").cloned();
    let id = given
        .clone()
        .and_then(|id| serde_json::from_value::<RequestId>(id).ok());
    let invalid = |message: &str| Verdict::refuse(id.clone(), ErrorCode::INVALID_REQUEST, message);
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid("`jsonrpc` must be \"2.0\"");
    }
    let Some(method) = object.get("method") else {
        // This server asks the client nothing, so a reply answers nothing.
        let reply = object.contains_key("result") || object.contains_key("error");
        return if reply {
            Verdict::Leave
        } else {
            invalid("`method` is missing")
        };
    };
    let Some(method) = method.as_str().map(str::to_owned) else {
        return invalid("`method` must be a string");
    };
    if given.is_some() && id.is_none() {
        return invalid("`id` must be a string or a whole number");
    }
    // Some clients write an absent `params` as null.
    if object.get("params").is_some_and(Value::is_null) {
        object.remove("params");
    }
    match id {
        Some(id) => judge_request(id, &method, object),
        None => serde_json::from_value(Value::Object(object)).map_or(Verdict::Leave, pass_on),
    }
}

fn pass_on(message: ClientJsonRpcMessage) -> Verdict {
    Verdict::Pass(Box::new(message))
}

fn judge_request(id: RequestId, method: &str, object: serde_json::Map<String, Value>) -> Verdict {
    let params = object.get("params").cloned();
    if params.as_ref().is_some_and(|params| !params.is_object()) {
        let message = format!("`params` of {method} must be an object");
        return Verdict::refuse(Some(id), ErrorCode::INVALID_PARAMS, message);
    }
    match serde_json::from_value::<ClientJsonRpcMessage>(Value::Object(object)) {
        Ok(JsonRpcMessage::Request(request))
            if !matches!(request.request, ClientRequest::CustomRequest(_)) =>
        {
            pass_on(JsonRpcMessage::Request(request))
        }
        _ => {
            let error = unserved(method, params);
            Verdict::Refuse(Box::new(JsonRpcError::new(Some(id), error)))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn code(line: &str) -> (i32, Option<String>) {
        match judge(line.as_bytes()) {
            Verdict::Refuse(error) => (error.error.code.0, error.id.map(|id| id.to_string())),
            other => panic!("{line} was not refused: {other:?}"),
        }
    }

    #[test]
    fn what_is_no_message_is_refused_with_the_named_code() {
        let none = None::<String>;
        let id = |id: &str| Some(id.to_owned());
        for (line, expected) in [
            ("{", (-32700, none.clone())),
            ("nonsense", (-32700, none.clone())),
            ("[]", (-32600, none.clone())),
            (
                r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
                (-32600, none.clone()),
            ),
            ("7", (-32600, none.clone())),
            (r#"{"id":1,"method":"ping"}"#, (-32600, id("1"))),
            (
                r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
                (-32600, id("1")),
            ),
            (r#"{"jsonrpc":"2.0","id":1}"#, (-32600, id("1"))),
            (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, (-32600, id("1"))),
            (
                r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
                (-32600, none.clone()),
            ),
            (
                r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
                (-32600, none.clone()),
            ),
            (
                r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
                (-32600, none),
            ),
            (
                r#"{"jsonrpc":"2.0","id":"a","method":"no/such"}"#,
                (-32601, id("a")),
            ),
            (
                r#"{"jsonrpc":"2.0","id":2,"method":"tools/call"}"#,
                (-32602, id("2")),
            ),
            (
                r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":[]}"#,
                (-32602, id("2")),
            ),
            (
                r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":5}}"#,
                (-32602, id("2")),
            ),
            (
                r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","arguments":"b"}}"#,
                (-32602, id("2")),
            ),
            (
                r#"{"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}"#,
                (-32602, id("3")),
            ),
        ] {
            assert_eq!(code(line), expected, "{line}");
        }
    }

    #[test]
    fn invalid_utf_8_is_a_parse_error() {
        let Verdict::Refuse(error) = judge(b"{\"jsonrpc\":\"2.0\xff\"}") else {
            panic!("taken");
        };
        assert_eq!(error.error.code, ErrorCode::PARSE_ERROR);
    }

    #[test]
    fn what_concerns_nobody_is_left() {
        for line in [
            "",
            "  \r",
            r#"{"jsonrpc":"2.0","id":4,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":4,"error":{"code":1,"message":"no"}}"#,
        ] {
            assert!(matches!(judge(line.as_bytes()), Verdict::Leave), "{line}");
        }
    }

    #[test]
    fn a_null_params_is_an_absent_one() {
        let line = r#"{"jsonrpc":"2.0","id":4,"method":"tools/list","params":null}"#;
        assert!(matches!(judge(line.as_bytes()), Verdict::Pass(_)));
    }
}
