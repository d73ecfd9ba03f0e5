//! What an unsuccessful reply means: every row of the table, in every envelope.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

use answers::{Failure, FailureKind, Header, failure};

/// The kind, for one code in the documented envelope, the wire's, and none.
fn kinds(status: u16, code: &str) -> FailureKind {
    let wire = format!(
        r#"{{"type":"ErrorResponse","error":{{"id":"e-1","code":"{code}","detail":"It said no.","status":{status},"meta":{{}}}},"time":1}}"#
    );
    let documented = format!(
        r#"{{"type":"ErrorResponse","errors":[{{"id":"e-1","code":"{code}","detail":"It said no.","status":{status},"meta":{{"component":"x"}}}}],"time":1}}"#
    );
    let found: Vec<Failure> = [wire, documented]
        .iter()
        .map(|body| failure(status, &[], body.as_bytes()))
        .collect();
    for one in &found {
        assert_eq!(one.code.as_deref(), Some(code));
        assert_eq!(one.detail.as_deref(), Some("It said no."));
        assert_eq!(one.id.as_deref(), Some("e-1"));
        assert_eq!(one.status, status);
        assert!(one.message.ends_with(&format!("(HTTP {status}).")));
    }
    let [first, second] = &found[..] else {
        panic!("two envelopes")
    };
    assert_eq!(first.kind, second.kind);
    first.kind
}

#[test]
fn every_row_in_both_envelopes() {
    for (status, code, kind) in [
        (400, "OPTION_NOT_IN_PLAN", FailureKind::NoPlan),
        (400, "SOMETHING", FailureKind::InvalidRequest),
        (401, "UNAUTHORIZED", FailureKind::BadKey),
        (402, "USAGE_LIMIT_EXCEEDED", FailureKind::SpendCap),
        (403, "RESOURCE_NOT_ALLOWED", FailureKind::NotAllowed),
        (404, "SUBSCRIPTION_NOT_FOUND", FailureKind::NotFound),
        (422, "SUBSCRIPTION_TOKEN_INVALID", FailureKind::BadKey),
        (422, "VALIDATION", FailureKind::InvalidRequest),
        (429, "RATE_LIMITED", FailureKind::RateLimited),
        (429, "QUOTA_LIMITED", FailureKind::Quota),
        (500, "INTERNAL", FailureKind::ServerError),
        (418, "TEAPOT", FailureKind::Unexpected),
    ] {
        assert_eq!(kinds(status, code), kind, "{status} {code}");
    }
}

#[test]
fn statuses_alone() {
    for (status, kind) in [
        (302, FailureKind::Redirect),
        (400, FailureKind::InvalidRequest),
        (402, FailureKind::SpendCap),
        (403, FailureKind::NotAllowed),
        (404, FailureKind::NotFound),
        (422, FailureKind::InvalidRequest),
        (429, FailureKind::RateLimited),
        (502, FailureKind::ServerError),
        (599, FailureKind::ServerError),
        (204, FailureKind::Unexpected),
    ] {
        let found = failure(status, &[], b"");
        assert_eq!(found.kind, kind, "{status}");
        assert_eq!(found.detail, None);
    }
}

#[test]
fn validation_names_its_fields() {
    let body = br#"{"type":"ErrorResponse","error":{"id":"i","code":"VALIDATION","detail":"Unable to validate request parameter(s)","status":422,
        "meta":{"errors":[{"type":"missing","loc":["body","messages",0,"content"],"msg":"Field required"},{"loc":"query"},{"loc":[]}]}}}"#;
    let found = failure(422, &[], body);
    assert_eq!(found.kind, FailureKind::InvalidRequest);
    assert_eq!(found.fields, ["body.messages.0.content", "query"]);
}

#[test]
fn a_missing_key_is_told_from_a_bad_request() {
    let body = br#"{"error":{"code":"VALIDATION","meta":{"errors":[{"loc":["header","x-subscription-token"]}]}}}"#;
    assert_eq!(failure(422, &[], body).kind, FailureKind::NoKey);
}

#[test]
fn a_detail_alone() {
    let found = failure(
        422,
        &[],
        br#"{"detail":"research mode does not support `enable_citations`"}"#,
    );
    assert_eq!(found.kind, FailureKind::InvalidRequest);
    assert_eq!(
        found.detail.as_deref(),
        Some("research mode does not support `enable_citations`")
    );
    let found = failure(
        422,
        &[],
        br#"{"detail":[{"loc":["body","seed"],"msg":"not an integer"}]}"#,
    );
    assert_eq!(found.fields, ["body.seed"]);
}

#[test]
fn text_is_shown_and_html_is_not() {
    let found = failure(500, &[], b"  upstream\nconnect error \x1b[31m");
    assert_eq!(
        found.detail.as_deref(),
        Some("upstream connect error  [31m")
    );
    let found = failure(
        502,
        &[],
        b"<!DOCTYPE html><html><body>Bad Gateway</body></html>",
    );
    assert_eq!(found.detail, None);
    assert!(!found.message.contains('<'));
    let inside = failure(
        500,
        &[],
        br#"{"error":{"detail":"<html>no</html>","code":"X"}}"#,
    );
    assert_eq!(inside.detail, None);
    let long = failure(500, &[], "é".repeat(2000).as_bytes());
    assert_eq!(long.detail.unwrap().chars().count(), 500);
}

#[test]
fn what_can_be_tried_again() {
    let header = |name: &str, value: &str| Header {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    let rate = br#"{"error":{"code":"RATE_LIMITED"}}"#;
    let found = failure(429, &[header("Retry-After", "2.5")], rate);
    assert!(found.retryable);
    assert_eq!(found.retry_after_seconds, Some(2.5));
    let found = failure(429, &[header("x-ratelimit-reset", "1, 86400")], rate);
    assert_eq!(found.retry_after_seconds, Some(1.0));
    let found = failure(
        429,
        &[header("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")],
        rate,
    );
    assert_eq!(found.retry_after_seconds, None);
    let found = failure(
        429,
        &[header("x-ratelimit-reset", "1")],
        br#"{"error":{"code":"QUOTA_LIMITED"}}"#,
    );
    assert!(!found.retryable);
    assert_eq!(found.retry_after_seconds, None);
    assert!(failure(503, &[], b"").retryable);
    assert!(!failure(422, &[], b"").retryable);
}

#[test]
fn odd_bodies_do_no_harm() {
    for body in [
        &b"{"[..],
        b"[]",
        b"null",
        b"{\"error\":null}",
        b"{\"error\":[]}",
        b"\xff\xfe",
        b"{\"error\":\"text\"}",
    ] {
        assert_eq!(failure(500, &[], body).kind, FailureKind::ServerError);
    }
    assert_eq!(
        failure(500, &[], b"{\"error\":\"text\"}").detail.as_deref(),
        Some("text")
    );
    let deep = "[".repeat(100_000);
    failure(500, &[], deep.as_bytes());
}
