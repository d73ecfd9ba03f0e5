//! Secrets in URLs, Referer and bodies; tokens that are weak.

use super::page::Page;
use super::{Severity, Sink};
use crate::message::jwt::{self, Jwt};
use crate::message::{media, url};
use crate::redact::{Redactor, shapes};
use crate::types::Part;

/// Names whose values are secrets beyond doubt.
const NAMES: &[&str] = &[
    "access_token",
    "id_token",
    "refresh_token",
    "api_key",
    "apikey",
    "secret",
    "password",
    "passwd",
    "sessionid",
    "jsessionid",
    "phpsessid",
];

/// Bytes of a value from which on it is a secret.
const LEAST: usize = 8;

/// A month in seconds: longer lifetimes of a token are noted.
const MONTH: i64 = 30 * 86_400;

pub(super) fn check(page: &Page<'_>, redactor: &Redactor, sink: &mut Sink) {
    for (name, value) in url_secrets(page.url) {
        sink.add(
            "secret-in-url",
            Part::Url,
            &name,
            format!("the parameter {name} has a value of {} bytes", value.len()),
        );
    }
    referer(page, sink);
    body(page, redactor, sink);
    tokens(page, redactor, sink);
}

fn url_secrets(address: &str) -> Vec<(String, Vec<u8>)> {
    let Some(query) = url::split(address).query else {
        return Vec::new();
    };
    crate::message::fields::pairs(query.as_bytes(), 0, b"&")
        .into_iter()
        .filter_map(|pair| {
            let name = String::from_utf8_lossy(&url::decode(pair.name.of(query.as_bytes()), true))
                .into_owned();
            let value = url::decode(pair.value.of(query.as_bytes()), true);
            let named = NAMES.contains(&name.to_ascii_lowercase().as_str()) && value.len() >= LEAST;
            let token = shapes::kind_of(&value) == Some("jwt");
            (named || token).then_some((name, value))
        })
        .collect()
}

fn referer(page: &Page<'_>, sink: &mut Sink) {
    let Some(referer) = page.request.header("referer") else {
        return;
    };
    let foreign = url::origin(referer).is_some_and(|origin| origin != page.origin);
    if !foreign {
        return;
    }
    for (name, _) in url_secrets(referer) {
        sink.add(
            "secret-in-referer",
            Part::RequestHead,
            &name,
            format!("the Referer of another site holds the parameter {name}"),
        );
    }
}

fn body(page: &Page<'_>, redactor: &Redactor, sink: &mut Sink) {
    if !page.is_2xx() || media::is_binary(&page.media_type) {
        return;
    }
    let mut found = Vec::new();
    shapes::scan(&page.body, &mut |shaped| found.push(shaped));
    for shaped in found.into_iter().take(100) {
        let value = shaped.span.of(&page.body);
        // A token that the client sent itself is no disclosure.
        let own = page
            .request
            .headers
            .iter()
            .any(|header| memchr::memmem::find(header.value.as_bytes(), value).is_some())
            || memchr::memmem::find(&page.request_body, value).is_some();
        if own {
            continue;
        }
        let severity = match shaped.kind {
            "private-key" => Severity::High,
            "jwt" => Severity::Info,
            _ => Severity::Medium,
        };
        let hash = redactor.hash(value);
        sink.add(
            "secret-in-body",
            Part::ResponseBody,
            &hash,
            format!(
                "a secret of the kind {} ({} bytes)",
                shaped.kind,
                value.len()
            ),
        )
        .severity(severity)
        .at(shaped.span);
    }
}

fn tokens(page: &Page<'_>, redactor: &Redactor, sink: &mut Sink) {
    let mut heads = Vec::new();
    for header in &page.request.headers {
        heads.push((Part::RequestHead, header.value.as_bytes()));
    }
    for header in &page.response.headers {
        heads.push((Part::ResponseHead, header.value.as_bytes()));
    }
    heads.push((Part::Url, page.url.as_bytes()));
    heads.push((Part::RequestBody, &page.request_body));
    if !media::is_binary(&page.media_type) {
        heads.push((Part::ResponseBody, &page.body));
    }
    let mut seen = Vec::new();
    for (part, bytes) in heads {
        shapes::scan(bytes, &mut |shaped| {
            let value = shaped.span.of(bytes);
            if shaped.kind == "jwt"
                && seen.len() < 32
                && !seen.iter().any(|(_, known)| *known == value)
            {
                seen.push((part, value));
            }
        });
    }
    for (part, value) in seen {
        let Some(token) = jwt::decode(&String::from_utf8_lossy(value)) else {
            continue;
        };
        for (severity, evidence) in weaknesses(&token) {
            let subject = format!(
                "{}:{}",
                redactor.hash(value),
                evidence.split(' ').next().unwrap_or_default()
            );
            sink.add("jwt-weak", part, &subject, evidence)
                .severity(severity);
        }
    }
}

fn weaknesses(token: &Jwt) -> Vec<(Severity, String)> {
    let mut found = Vec::new();
    if token.algorithm.eq_ignore_ascii_case("none") {
        found.push((Severity::High, "alg is none".to_owned()));
    }
    for name in ["jku", "x5u", "jwk"] {
        if token.header_names.iter().any(|known| known == name) {
            found.push((Severity::Low, format!("{name} in the header names a key")));
        }
    }
    match (token.expires, token.issued) {
        (None, _) => found.push((Severity::Low, "exp is missing".to_owned())),
        (Some(expires), Some(issued)) if expires - issued > MONTH => {
            found.push((
                Severity::Info,
                format!("exp is {} days after iat", (expires - issued) / 86_400),
            ));
        }
        _ => {}
    }
    found
}
