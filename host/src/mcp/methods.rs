//! The methods of the protocol, and why a request for one cannot be read.

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CancelTaskParams, CompleteRequestParams, DiscoverRequestParams,
    ErrorCode, GetPromptRequestParams, GetTaskParams, InitializeRequestParams,
    PaginatedRequestParams, ReadResourceRequestParams, SubscribeRequestParams,
    SubscriptionsListenRequestParams, UnsubscribeRequestParams, UpdateTaskParams,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Why a request that fits no known one cannot be served: its parameters, or its method.
#[must_use]
pub fn unserved(method: &str, params: Option<Value>) -> ErrorData {
    match misfit(
        method,
        params.unwrap_or_else(|| Value::Object(serde_json::Map::new())),
    ) {
        Some(Some(reason)) => {
            let message = format!("the parameters of {method} do not fit: {reason}");
            ErrorData::new(ErrorCode::INVALID_PARAMS, message, None)
        }
        Some(None) => {
            let message = format!("the parameters of {method} do not fit");
            ErrorData::new(ErrorCode::INVALID_PARAMS, message, None)
        }
        None => {
            let message = format!("there is no method {method}");
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
        }
    }
}

/// `None` for an unknown method; else what is wrong with its parameters, as far as a second look can tell.
fn misfit(method: &str, params: Value) -> Option<Option<String>> {
    fn against<T: DeserializeOwned>(params: Value) -> Option<String> {
        serde_json::from_value::<T>(params)
            .err()
            .map(|error| error.to_string())
    }
    let check: fn(Value) -> Option<String> = match method {
        "initialize" => against::<InitializeRequestParams>,
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
    };
    Some(check(params))
}
