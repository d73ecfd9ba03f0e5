//! Error replies of the JSON-RPC layer itself.

use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde::{Serialize, Serializer};
use serde_json::{Number, Value};

/// Below this a 64-bit floating-point number distinguishes all whole numbers: 2 to the power of 53.
const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;

/// An error reply. Its id is what the client sent, where that could be read, else `null`.
///
/// The library's own type leaves an unknown id out, which JSON-RPC 2.0 does not allow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ErrorReply {
    jsonrpc: Version,
    id: Value,
    error: ErrorData,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Version;

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("2.0")
    }
}

impl ErrorReply {
    /// Makes a reply to the request with this id. An id that is neither a string nor a number that can be repeated
    /// exactly becomes `null`.
    #[must_use]
    pub fn new(id: Value, error: ErrorData) -> Self {
        let id = match id {
            Value::String(_) => id,
            Value::Number(ref number) if is_exact(number) => id,
            _ => Value::Null,
        };
        Self {
            jsonrpc: Version,
            id,
            error,
        }
    }

    /// Makes a reply from a code and a sentence.
    #[must_use]
    pub fn of(id: Value, code: ErrorCode, message: impl Into<String>) -> Self {
        Self::new(id, ErrorData::new(code, message.into(), None))
    }

    /// Returns the id of the request, or `null`.
    #[must_use]
    pub const fn id(&self) -> &Value {
        &self.id
    }

    /// Returns the error's code, on which the status of an HTTP reply depends.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        self.error.code
    }
}

/// Returns whether a number is the one that was written. A number beyond 64 bits, or a fraction of that size, was
/// rounded when it was read: it would be the id of another request.
fn is_exact(number: &Number) -> bool {
    number.is_i64()
        || number.is_u64()
        || number
            .as_f64()
            .is_some_and(|number| number.abs() < EXACT_BELOW)
}

/// Encodes a message as JSON without a line end.
#[must_use]
pub fn encode(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).unwrap_or_else(|error| {
        // Does not happen with rmcp's types. The client still has to get a valid message.
        tracing::error!(%error, "a message could not be encoded as JSON");
        br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"a reply could not be encoded"}}"#
            .to_vec()
    })
}
