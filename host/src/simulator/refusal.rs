//! Refusals in all response formats that were observed.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::{Value, json};

use super::variants::Variants;
use crate::jobs::clock;

/// The reason for a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// 400: the plan of the account does not include the request.
    Plan,
    /// 402: the spending limit is reached.
    SpendCap,
    /// 403: not allowed.
    NotAllowed,
    /// 404: no such subscription.
    NotFound,
    /// 422: an invalid key.
    Key,
    /// 422: an invalid field.
    Validation,
    /// 422: options that exclude each other.
    Option,
    /// 429: too many requests per second.
    Rate,
    /// 429: the quota of the month is used up.
    Quota,
    /// 500: internal error.
    Server,
    /// 503: unavailable.
    Unavailable,
    /// 502 of a proxy, as HTML.
    Html,
    /// 302 to another host.
    Redirect,
}

/// The status and texts of one kind of refusal.
struct Wire {
    name: &'static str,
    status: u16,
    code: &'static str,
    detail: &'static str,
}

impl Refusal {
    const ALL: [Self; 13] = [
        Self::Plan,
        Self::SpendCap,
        Self::NotAllowed,
        Self::NotFound,
        Self::Key,
        Self::Validation,
        Self::Option,
        Self::Rate,
        Self::Quota,
        Self::Server,
        Self::Unavailable,
        Self::Html,
        Self::Redirect,
    ];

    /// Returns the refusal of a scenario name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|refused| refused.wire().name == name)
    }

    /// Returns whether the refusal is temporary, so that a second attempt succeeds.
    #[must_use]
    pub const fn is_temporary(self) -> bool {
        matches!(self, Self::Rate)
    }

    /// Returns the HTTP status.
    #[must_use]
    pub const fn status(self) -> u16 {
        self.wire().status
    }

    const fn wire(self) -> Wire {
        let (name, status, code, detail) = match self {
            Self::Plan => (
                "error-400-plan",
                400,
                "OPTION_NOT_IN_PLAN",
                "The option is not available in your plan.",
            ),
            Self::SpendCap => (
                "error-402",
                402,
                "USAGE_LIMIT_EXCEEDED",
                "The spending limit of this account is reached.",
            ),
            Self::NotAllowed => (
                "error-403",
                403,
                "RESOURCE_NOT_ALLOWED",
                "This subscription may not use the resource.",
            ),
            Self::NotFound => (
                "error-404",
                404,
                "SUBSCRIPTION_NOT_FOUND",
                "The subscription was not found.",
            ),
            Self::Key => (
                "error-422-key",
                422,
                "SUBSCRIPTION_TOKEN_INVALID",
                "The provided subscription token is invalid.",
            ),
            Self::Validation => (
                "error-422-validation",
                422,
                "VALIDATION",
                "Unable to validate request parameter(s)",
            ),
            Self::Option => (
                "error-422-option",
                422,
                "VALIDATION",
                "Research mode does not support `enable_citations`.",
            ),
            Self::Rate => (
                "error-429-rate",
                429,
                "RATE_LIMITED",
                "Request rate limit exceeded for plan.",
            ),
            Self::Quota => (
                "error-429-quota",
                429,
                "QUOTA_LIMITED",
                "Request quota limit exceeded for plan.",
            ),
            Self::Server => ("error-500", 500, "INTERNAL", "An internal error occurred."),
            Self::Unavailable => (
                "error-503",
                503,
                "UNAVAILABLE",
                "The service is temporarily unavailable.",
            ),
            Self::Html => ("html-502", 502, "", ""),
            Self::Redirect => ("redirect", 302, "", ""),
        };
        Wire {
            name,
            status,
            code,
            detail,
        }
    }

    /// Returns the response.
    #[must_use]
    pub fn response(self, variants: Variants, meta: Value) -> Response {
        let wire = self.wire();
        match self {
            Self::Html => reply(wire.status, "text/html", HTML.to_owned()),
            Self::Redirect => {
                let mut response = reply(wire.status, "text/html", String::new());
                response.headers_mut().insert(
                    header::LOCATION,
                    HeaderValue::from_static("https://elsewhere.example/"),
                );
                response
            }
            Self::Option if !variants.docs && !variants.text => detail(wire.status, wire.detail),
            _ if variants.text => reply(wire.status, "text/plain", wire.detail.to_owned()),
            _ if variants.detail => detail(wire.status, wire.detail),
            _ => {
                let meta = if self == Self::Validation && meta.is_null() {
                    example_meta()
                } else {
                    meta
                };
                envelope(&wire, meta, variants.docs)
            }
        }
    }
}

const HTML: &str = "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head>\n<body><center><h1>502 Bad Gateway</h1></center><hr><center>edge</center></body></html>\n";

/// Returns the response `{"detail": "…"}`, which the API sends for options that exclude each other.
pub fn detail(status: u16, text: &str) -> Response {
    reply(
        status,
        "application/json",
        json!({ "detail": text }).to_string(),
    )
}

fn envelope(wire: &Wire, meta: Value, docs: bool) -> Response {
    let mut error = json!({
        "id": uuid::Uuid::new_v4().to_string(),
        "status": wire.status,
        "code": wire.code,
        "detail": wire.detail,
    });
    if let (Some(members), false) = (error.as_object_mut(), meta.is_null()) {
        members.insert("meta".to_owned(), meta);
    }
    let time = clock::now().0.div_euclid(1000);
    let body = if docs {
        json!({ "type": "ErrorResponse", "errors": [error], "time": time })
    } else {
        json!({ "type": "ErrorResponse", "error": error, "time": time })
    };
    reply(wire.status, "application/json", body.to_string())
}

fn example_meta() -> Value {
    json!({ "errors": [{
        "type": "less_than_equal",
        "loc": ["body", "research_maximum_number_of_queries"],
        "msg": "Input should be less than or equal to 50",
        "input": 51,
    }] })
}

/// Returns a response with a complete body.
pub fn reply(status: u16, content_type: &'static str, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
