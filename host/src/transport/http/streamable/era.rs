//! Which revision of the protocol a message belongs to: those with a handshake, or 2026-07-28, which has none.

use http::HeaderMap;
use rmcp::ErrorData;
use rmcp::model::{ErrorCode, ProtocolVersion};
use serde_json::Value;

use super::headers;
use crate::rpc::{Envelope, ErrorReply};

/// How a message is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// In a session that begins with `initialize`.
    Session,
    /// By itself.
    Stateless,
}

impl Era {
    /// Returns the era of a message. A version that nobody knows is taken for one of the future.
    #[must_use]
    pub fn of(headers: &HeaderMap, message: &Envelope) -> Self {
        let method = message.method();
        match (message.protocol_version(), version_header(headers)) {
            (Some(version), _) => Self::of_version(version),
            // A client that falls back to the handshake may still send the header of before.
            (None, _) if method == Some("initialize") => Self::Session,
            (None, Some(version)) => Self::of_version(version),
            (None, None) if method == Some("server/discover") => Self::Stateless,
            (None, None) => Self::Session,
        }
    }

    fn of_version(version: &str) -> Self {
        match known(version) {
            Some(version) if version.has_initialize() => Self::Session,
            _ => Self::Stateless,
        }
    }

    /// Returns whether the headers alone belong to a message without a session.
    #[must_use]
    pub fn is_stateless(headers: &HeaderMap) -> bool {
        version_header(headers).is_some_and(|version| Self::of_version(version) == Self::Stateless)
    }
}

fn version_header(headers: &HeaderMap) -> Option<&str> {
    headers::one(headers, headers::VERSION).ok().flatten()
}

fn known(version: &str) -> Option<&'static ProtocolVersion> {
    let mut versions = ProtocolVersion::KNOWN_VERSIONS.iter();
    versions.find(|known| known.as_str() == version)
}

/// Checks what a request of 2026-07-28 must say about its version, in its header and in itself.
///
/// # Errors
/// The reply to give.
pub fn check_version(headers: &HeaderMap, request: &Envelope) -> Result<(), ErrorReply> {
    let id = || {
        request
            .id()
            .map_or(Value::Null, |id| id.clone().into_json_value())
    };
    let mismatch = |text: String| ErrorReply::of(id(), ErrorCode::HEADER_MISMATCH, text);
    let header = headers::one(headers, headers::VERSION).map_err(mismatch)?;
    let version = match (request.protocol_version(), header) {
        (Some(version), Some(header)) if version == header => version,
        (Some(version), Some(header)) => {
            return Err(mismatch(format!(
                "the header MCP-Protocol-Version is `{header}`, the request says `{version}`"
            )));
        }
        (Some(_), None) => {
            return Err(mismatch(
                "the header MCP-Protocol-Version is missing".to_owned(),
            ));
        }
        (None, header) => {
            if let Some(header) = header
                && known(header).is_none()
            {
                return Err(unsupported(id(), header));
            }
            let text = "the request's _meta has no `io.modelcontextprotocol/protocolVersion`";
            return Err(ErrorReply::of(id(), ErrorCode::INVALID_PARAMS, text));
        }
    };
    match known(version) {
        Some(_) => Ok(()),
        None => Err(unsupported(id(), version)),
    }
}

fn unsupported(id: Value, requested: &str) -> ErrorReply {
    let requested = serde_json::from_value(Value::String(requested.to_owned()));
    let requested = requested.unwrap_or(ProtocolVersion::LATEST);
    let error = ErrorData::unsupported_protocol_version(requested, ProtocolVersion::KNOWN_VERSIONS);
    ErrorReply::new(id, error)
}
