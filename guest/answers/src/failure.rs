//! Classifies unsuccessful HTTP replies.

use crate::event::Header;
use crate::text::first_chars;
use stream::json::Json;

/// Why the upstream refused or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The account has no plan for this (400 OPTION_NOT_IN_PLAN).
    NoPlan,
    /// The spend cap is reached (402).
    SpendCap,
    /// Not allowed (403).
    NotAllowed,
    /// Unknown subscription or API version (404).
    NotFound,
    /// The key is wrong (422 SUBSCRIPTION_TOKEN_INVALID, or 401).
    BadKey,
    /// No key was sent (422 VALIDATION on the key's header).
    NoKey,
    /// The request is malformed or its options exclude each other (422, other 400).
    InvalidRequest,
    /// Too many requests a second (429 RATE_LIMITED): try again after a second.
    RateLimited,
    /// The month's quota is used up (429 QUOTA_LIMITED).
    Quota,
    /// The upstream failed (5xx).
    ServerError,
    /// A redirect, which is never followed (3xx).
    Redirect,
    /// Any other status.
    Unexpected,
}

/// An unsuccessful HTTP reply: its kind, and what to do about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The kind.
    pub kind: FailureKind,
    /// The HTTP status.
    pub status: u16,
    /// The upstream's own code, such as `RATE_LIMITED`.
    pub code: Option<String>,
    /// One sentence: what happened and what to do. Never HTML.
    pub message: String,
    /// The upstream's own message: at most 500 code points, never HTML.
    pub detail: Option<String>,
    /// The fields the upstream named.
    pub fields: Vec<String>,
    /// Whether a retry can help. By its status, the failed call was not billed.
    pub retryable: bool,
    /// Seconds to wait first, where the reply names a delay.
    pub retry_after_seconds: Option<f64>,
    /// The upstream's id of the failure, for its support.
    pub id: Option<String>,
}

/// Longest detail in code points: enough for every documented message, short enough to show.
const DETAIL_CHARS: usize = 500;

/// Most bytes of a body that are read; error bodies have some hundred.
const MAX_BODY: usize = 64 * 1024;

/// Most fields that are named.
const MAX_FIELDS: usize = 32;

/// The members of an error body that are used.
#[derive(Default)]
struct ErrorBody {
    code: Option<String>,
    detail: Option<String>,
    fields: Vec<String>,
    id: Option<String>,
}

/// Classifies an unsuccessful HTTP reply by its status, headers and body.
pub fn failure(status: u16, headers: &[Header], body: &[u8]) -> Failure {
    let error = read(body.get(..MAX_BODY).unwrap_or(body));
    let kind = classify(status, &error);
    Failure {
        kind,
        status,
        message: message(kind, status),
        retryable: matches!(kind, FailureKind::RateLimited | FailureKind::ServerError),
        retry_after_seconds: retry_after(headers, kind),
        code: error.code,
        detail: error.detail,
        fields: error.fields,
        id: error.id,
    }
}

fn classify(status: u16, error: &ErrorBody) -> FailureKind {
    let code = error.code.as_deref().unwrap_or_default();
    match (status, code) {
        (300..=399, _) => FailureKind::Redirect,
        (500..=599, _) => FailureKind::ServerError,
        (_, "OPTION_NOT_IN_PLAN") => FailureKind::NoPlan,
        (402, _) | (_, "USAGE_LIMIT_EXCEEDED") => FailureKind::SpendCap,
        (_, "SUBSCRIPTION_TOKEN_INVALID") | (401, _) => FailureKind::BadKey,
        (429, "QUOTA_LIMITED") => FailureKind::Quota,
        (429, _) => FailureKind::RateLimited,
        (403, _) => FailureKind::NotAllowed,
        (404, _) => FailureKind::NotFound,
        (422, _) if error.fields.iter().any(|field| is_key_header(field)) => FailureKind::NoKey,
        (400 | 422, _) => FailureKind::InvalidRequest,
        _ => FailureKind::Unexpected,
    }
}

/// Returns whether a field is the header that carries the key.
fn is_key_header(field: &str) -> bool {
    const HEADER: &str = "x-subscription-token";
    let start = field.len().saturating_sub(HEADER.len());
    let last = field.get(start..).unwrap_or_default();
    last.eq_ignore_ascii_case(HEADER)
}

fn message(kind: FailureKind, status: u16) -> String {
    let text = match kind {
        FailureKind::NoPlan => {
            "The account has no Answers plan; subscribe to it in the API dashboard, or use a key of that plan"
        }
        FailureKind::SpendCap => {
            "The account's spend cap is reached; raise it in the API dashboard or wait for the next month"
        }
        FailureKind::NotAllowed => {
            "The key may not use this; check its plan and restrictions in the API dashboard"
        }
        FailureKind::NotFound => {
            "The upstream knows no such subscription or API version; check the key's plan, and send no Api-Version header"
        }
        FailureKind::BadKey => "The API key is wrong or revoked; check it in the API dashboard",
        FailureKind::NoKey => "No API key was sent; set one",
        FailureKind::InvalidRequest => {
            "The upstream refused the request as invalid; see the detail"
        }
        FailureKind::RateLimited => "Too many requests a second; try again after a second or more",
        FailureKind::Quota => {
            "The month's quota is used up; raise it in the API dashboard or wait for the next month"
        }
        FailureKind::ServerError => "The upstream failed; try again later",
        FailureKind::Redirect => {
            "The upstream answered with a redirect, which is never followed; check the upstream's address"
        }
        FailureKind::Unexpected => "The upstream answered with an unexpected status",
    };
    format!("{text} (HTTP {status}).")
}

/// Returns `Retry-After` in seconds; for a rate limit also the first, per-second part of `X-RateLimit-Reset`.
fn retry_after(headers: &[Header], kind: FailureKind) -> Option<f64> {
    let seconds = |name: &str| {
        let header = headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case(name))?;
        let end = memchr::memchr(b',', header.value.as_bytes());
        let first = header.value.get(..end.unwrap_or(header.value.len()))?;
        Json::Text(first.into())
            .float()
            .filter(|&seconds| seconds >= 0.0)
    };
    seconds("retry-after").or_else(|| {
        (kind == FailureKind::RateLimited)
            .then(|| seconds("x-ratelimit-reset"))
            .flatten()
    })
}

fn read(body: &[u8]) -> ErrorBody {
    let text = String::from_utf8_lossy(body);
    match Json::parse(&text) {
        Some(json) => read_json(&json),
        None => ErrorBody {
            detail: plain(&text),
            ..ErrorBody::default()
        },
    }
}

fn read_json(json: &Json<'_>) -> ErrorBody {
    let error = json.get("error").filter(|error| **error != Json::Null);
    let listed = json.get("errors").and_then(|errors| errors.items().first());
    let error = error.or(listed).unwrap_or(json);
    let text = |name| error.text_of(name).filter(|text: &&str| !text.is_empty());
    let detail = ["detail", "message", "code"].into_iter().find_map(text);
    ErrorBody {
        code: text("code").map(str::to_owned),
        detail: detail.or_else(|| error.text()).and_then(plain),
        fields: fields(error),
        id: text("id").map(str::to_owned),
    }
}

/// Returns the `loc` of each part of `meta.errors`, or of a `detail` list.
fn fields(error: &Json<'_>) -> Vec<String> {
    let of_meta = error.get("meta").and_then(|meta| meta.get("errors"));
    let list = of_meta.or_else(|| error.get("detail"));
    let parts = list.map(Json::items).unwrap_or_default().iter();
    parts
        .filter_map(|part| part.get("loc"))
        .map(field)
        .filter(|field| !field.is_empty())
        .take(MAX_FIELDS)
        .collect()
}

/// Returns a path as text, its steps joined by dots.
fn field(loc: &Json<'_>) -> String {
    let steps = match loc {
        Json::Array(steps) => steps,
        other => std::slice::from_ref(other),
    };
    let mut path = String::new();
    for step in steps {
        if let Some(step) = step.scalar() {
            path.push_str(if path.is_empty() { "" } else { "." });
            path.push_str(step);
        }
    }
    path
}

/// Returns text that can be shown: without HTML and control characters, and of bounded length.
fn plain(text: &str) -> Option<String> {
    let text = text.trim_ascii();
    if text.is_empty() || text.starts_with('<') {
        return None;
    }
    let shown = first_chars(text, DETAIL_CHARS).chars();
    Some(
        shown
            .map(|char| if char.is_control() { ' ' } else { char })
            .collect(),
    )
}
