//! Cookies that a response sets.

use super::page::{Page, SetCookie};
use super::{Severity, Sink};
use crate::redact::keys;
use crate::types::Part;

pub(super) fn check(page: &Page<'_>, sink: &mut Sink) {
    for cookie in page.cookies() {
        flags(page, &cookie, sink);
        prefix(&cookie, sink);
        domain(page, &cookie, sink);
    }
    caching(page, sink);
}

/// Whether a cookie carries a session, by its name. A token that scripts must read (against forged requests) is none.
fn is_session(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let forgery = lower.contains("csrf") || lower.contains("xsrf");
    let known = ["sess", "auth", "login", "remember"]
        .iter()
        .any(|part| lower.contains(part))
        || lower == "sid";
    !forgery && (known || keys::is_secret(name.as_bytes(), false))
}

fn flags(page: &Page<'_>, cookie: &SetCookie<'_>, sink: &mut Sink) {
    let name = &cookie.name;
    let secure = cookie.attribute("secure").is_some();
    if is_session(name) && cookie.attribute("httponly").is_none() {
        sink.add(
            "cookie-httponly",
            Part::ResponseHead,
            name,
            format!("the cookie {name} has no HttpOnly"),
        )
        .at(cookie.place);
    }
    if page.https && !secure {
        let seen = sink.add(
            "cookie-secure",
            Part::ResponseHead,
            name,
            format!("the cookie {name} has no Secure"),
        );
        seen.at(cookie.place);
        if is_session(name) {
            seen.severity(Severity::Medium);
        }
    }
    match cookie
        .attribute("samesite")
        .map(str::to_ascii_lowercase)
        .as_deref()
    {
        Some("none") if !secure => {
            sink.add(
                "cookie-samesite",
                Part::ResponseHead,
                name,
                format!("the cookie {name} has SameSite=None without Secure"),
            )
            .severity(Severity::Medium)
            .at(cookie.place);
        }
        None if is_session(name) => {
            sink.add(
                "cookie-samesite",
                Part::ResponseHead,
                name,
                format!("the cookie {name} has no SameSite"),
            )
            .severity(Severity::Info)
            .at(cookie.place);
        }
        _ => {}
    }
}

fn prefix(cookie: &SetCookie<'_>, sink: &mut Sink) {
    let secure = cookie.attribute("secure").is_some();
    let broken = if cookie.name.starts_with("__Host-") {
        !secure
            || cookie
                .attribute("domain")
                .is_some_and(|domain| !domain.is_empty())
            || cookie.attribute("path") != Some("/")
    } else {
        cookie.name.starts_with("__Secure-") && !secure
    };
    if broken {
        sink.add(
            "cookie-prefix",
            Part::ResponseHead,
            &cookie.name,
            format!("the cookie {} breaks the rules of its prefix", cookie.name),
        )
        .at(cookie.place);
    }
}

fn domain(page: &Page<'_>, cookie: &SetCookie<'_>, sink: &mut Sink) {
    let Some(domain) = cookie.attribute("domain") else {
        return;
    };
    let domain = domain.trim_start_matches('.').to_ascii_lowercase();
    // A browser refuses a cookie for a public suffix; one label is always one.
    let parent = page
        .origin
        .host
        .strip_suffix(&domain)
        .is_some_and(|rest| rest.ends_with('.'));
    if parent && domain.contains('.') && is_session(&cookie.name) {
        sink.add(
            "cookie-domain",
            Part::ResponseHead,
            &cookie.name,
            format!(
                "the cookie {} is sent to every host of {domain}",
                cookie.name
            ),
        )
        .at(cookie.place);
    }
}

fn caching(page: &Page<'_>, sink: &mut Sink) {
    let directives = page.cache_control();
    let has = |name: &str| directives.iter().any(|directive| directive == name);
    let shared = has("public")
        || directives.iter().any(|directive| {
            directive
                .strip_prefix("s-maxage=")
                .and_then(|age| age.parse::<u64>().ok())
                .is_some_and(|age| age > 0)
        });
    let shared = shared && !has("no-store") && !has("private");
    if shared && let Some(cookie) = page.cookies().first() {
        sink.add(
            "cacheable-cookie",
            Part::ResponseHead,
            &cookie.name,
            format!(
                "the cookie {} is set on a response for shared caches",
                cookie.name
            ),
        )
        .at(cookie.place);
    }
    let kind = crate::message::media::is_json(&page.media_type)
        || crate::message::media::is_html(&page.media_type);
    if page.is_authenticated()
        && page.is_2xx()
        && kind
        && !page.body.is_empty()
        && !has("no-store")
        && !has("private")
    {
        let seen = sink.add(
            "cacheable-private",
            Part::ResponseHead,
            "",
            "Cache-Control has neither no-store nor private",
        );
        if shared {
            seen.severity(Severity::Medium);
        }
    }
}
