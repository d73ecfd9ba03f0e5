//! The methods of the protocol, and why a request for one cannot be served.

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CancelTaskParams, CompleteRequestParams, DiscoverRequestParams,
    ErrorCode, GetPromptRequestParams, GetTaskParams, InitializeRequestParams,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, SubscribeRequestParams,
    SubscriptionsListenRequestParams, UnsubscribeRequestParams, UpdateTaskParams,
};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value};

/// What 2026-07-28 did away with. A request of that version for one is refused before its parameters are looked at.
const REMOVED: [&str; 5] = [
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
];

/// Returns whether the protocol version that a request names has no such method any more.
pub(super) fn is_removed(method: &str, version: Option<&str>) -> bool {
    let stateless = version.is_some_and(|version| {
        ProtocolVersion::KNOWN_VERSIONS
            .iter()
            .any(|known| known.as_str() == version && !known.has_initialize())
    });
    stateless && REMOVED.contains(&method)
}

/// The error for a method that does not exist.
pub(super) fn not_found(method: &str) -> ErrorData {
    let message = format!("there is no method {method}");
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
}

/// Returns why a request that could not be read as one of the known ones cannot be served: its method is unknown, or
/// its parameters do not fit.
pub(super) fn why_unreadable(method: &str, params: Map<String, Value>) -> ErrorData {
    match check_of(method) {
        Some(check) => misfit(method, wrong(check, params)),
        None => not_found(method),
    }
}

/// Returns what is wrong with the parameters of a list, which the library would take as absent.
pub(super) fn wrong_list_params(method: &str, params: &Map<String, Value>) -> Option<ErrorData> {
    if params.is_empty() || !method.ends_with("/list") {
        return None;
    }
    let reason = wrong(check_of(method)?, params.clone())?;
    Some(misfit(method, Some(reason)))
}

fn misfit(method: &str, reason: Option<String>) -> ErrorData {
    let reason = reason
        .map(|reason| format!(": {reason}"))
        .unwrap_or_default();
    let message = format!("the parameters of {method} do not fit{reason}");
    ErrorData::new(ErrorCode::INVALID_PARAMS, message, None)
}

type Check = fn(Value) -> Option<String>;

fn wrong(check: Check, params: Map<String, Value>) -> Option<String> {
    match params.get("_meta") {
        Some(meta) if !meta.is_object() => Some("`_meta` must be an object".to_owned()),
        _ => check(Value::Object(params)),
    }
}

/// Returns the check that says what is wrong with a method's parameters; `None` for an unknown method.
fn check_of(method: &str) -> Option<Check> {
    fn against<T: DeserializeOwned>(params: Value) -> Option<String> {
        serde_json::from_value::<T>(params)
            .err()
            .map(|error| error.to_string())
    }
    Some(match method {
        "initialize" => against::<InitializeRequestParams>,
        "ping" => against::<IgnoredAny>,
        "server/discover" => against::<DiscoverRequestParams>,
        "tools/call" => against::<CallToolRequestParams>,
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => {
            against::<PaginatedRequestParams>
        }
        "prompts/get" => against::<GetPromptRequestParams>,
        "resources/read" => against::<ReadResourceRequestParams>,
        "resources/subscribe" => against::<SubscribeRequestParams>,
        "resources/unsubscribe" => against::<UnsubscribeRequestParams>,
        "subscriptions/listen" => against::<SubscriptionsListenRequestParams>,
        "completion/complete" => against::<CompleteRequestParams>,
        "tasks/get" => against::<GetTaskParams>,
        "tasks/update" => against::<UpdateTaskParams>,
        "tasks/cancel" => against::<CancelTaskParams>,
        _ => return None,
    })
}
