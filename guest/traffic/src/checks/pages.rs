//! What a page loads, and where its forms go.

use super::page::{Page, Tag, is_local};
use super::{Severity, Sink};
use crate::message::url;
use crate::redact::keys;
use crate::types::Part;

/// Hosts that were found to put code of others into what they serve.
const POLYFILLS: &[&str] = &[
    "polyfill.io",
    "polyfill.com",
    "bootcss.com",
    "bootcdn.net",
    "staticfile.net",
    "staticfile.org",
    "unionadjs.com",
    "xhsbpza.com",
    "macoms.la",
    "newcrbpc.com",
];

pub(super) fn check(page: &Page<'_>, sink: &mut Sink) {
    basic(page, sink);
    captured_password(page, sink);
    if !page.is_document() {
        return;
    }
    for tag in &page.tags {
        loads(page, tag, sink);
    }
    forms(page, sink);
    view_state(page, sink);
}

fn is_style(tag: &Tag) -> bool {
    tag.name == "link"
        && tag.attribute("rel").is_some_and(|rel| {
            rel.split_ascii_whitespace()
                .any(|word| word.eq_ignore_ascii_case("stylesheet"))
        })
}

fn loads(page: &Page<'_>, tag: &Tag, sink: &mut Sink) {
    let active = tag.name == "script" || tag.name == "iframe" || is_style(tag);
    let address = match tag.name.as_str() {
        "script" | "iframe" | "img" => tag.attribute("src"),
        "link" if is_style(tag) => tag.attribute("href"),
        _ => None,
    };
    let Some(address) = address.map(str::trim) else {
        return;
    };
    let lower = address.to_ascii_lowercase();
    let host = url::split(&lower).host.to_owned();
    if page.https && lower.starts_with("http://") && !is_local(&host) {
        let seen = sink.add(
            "mixed-content",
            Part::ResponseBody,
            &host,
            format!("<{}> loads from http://{host}", tag.name),
        );
        seen.at(tag.place);
        if !active {
            seen.severity(Severity::Low);
        }
    }
    let foreign = !host.is_empty() && host != page.origin.host;
    if foreign && (tag.name == "script" || is_style(tag)) && tag.attribute("integrity").is_none() {
        sink.add(
            "sri-missing",
            Part::ResponseBody,
            &host,
            format!("<{}> of {host} has no integrity", tag.name),
        )
        .at(tag.place);
    }
    let known = |name: &str| {
        host == name
            || host
                .strip_suffix(name)
                .is_some_and(|rest| rest.ends_with('.'))
    };
    if tag.name == "script" && POLYFILLS.iter().any(|name| known(name)) {
        sink.add(
            "polyfill-cdn",
            Part::ResponseBody,
            &host,
            format!("a script is loaded from {host}"),
        )
        .at(tag.place);
    }
}

fn is_password(tag: &Tag) -> bool {
    tag.name == "input"
        && tag
            .attribute("type")
            .is_some_and(|kind| kind.eq_ignore_ascii_case("password"))
}

fn forms(page: &Page<'_>, sink: &mut Sink) {
    for tag in &page.tags {
        let to_http = tag.name == "form"
            && tag
                .attribute("action")
                .is_some_and(|action| action.trim().to_ascii_lowercase().starts_with("http://"));
        if page.https && to_http {
            sink.add(
                "insecure-form",
                Part::ResponseBody,
                "form",
                "a form of an HTTPS page goes to HTTP",
            )
            .at(tag.place);
        }
        if !page.https && !page.local() && is_password(tag) {
            sink.add(
                "insecure-form",
                Part::ResponseBody,
                "password",
                "a page over HTTP asks for a password",
            )
            .at(tag.place);
        }
    }
    forged(page, sink);
}

/// POST forms without a token, where the session cookie goes along with requests of other sites.
fn forged(page: &Page<'_>, sink: &mut Sink) {
    let same_site = page.cookies().iter().any(|cookie| {
        cookie
            .attribute("samesite")
            .is_some_and(|value| !value.eq_ignore_ascii_case("none"))
    });
    if !page.is_authenticated() || page.request.header("cookie").is_none() || same_site {
        return;
    }
    let mut open: Option<(&Tag, bool)> = None;
    let mut bare = Vec::new();
    for tag in &page.tags {
        match tag.name.as_str() {
            "form" => {
                bare.extend(open.filter(|(_, token)| !token).map(|(form, _)| form));
                let post = tag
                    .attribute("method")
                    .is_some_and(|method| method.eq_ignore_ascii_case("post"));
                open = post.then_some((tag, false));
            }
            "input" => {
                let hidden = tag
                    .attribute("type")
                    .is_some_and(|kind| kind.eq_ignore_ascii_case("hidden"));
                let name = tag.attribute("name").unwrap_or_default();
                let lower = name.to_ascii_lowercase();
                let token = [
                    "csrf",
                    "xsrf",
                    "token",
                    "nonce",
                    "authenticity",
                    "__requestverification",
                ]
                .iter()
                .any(|part| lower.contains(part))
                    || keys::is_secret(name.as_bytes(), false);
                if hidden
                    && token
                    && let Some((_, has)) = &mut open
                {
                    *has = true;
                }
            }
            _ => {}
        }
    }
    bare.extend(open.filter(|(_, token)| !token).map(|(form, _)| form));
    for form in bare.into_iter().take(10) {
        let action: String = form
            .attribute("action")
            .unwrap_or_default()
            .split('?')
            .next()
            .unwrap_or_default()
            .to_owned();
        sink.add(
            "csrf-token-absent",
            Part::ResponseBody,
            &action,
            "a POST form has no hidden token",
        )
        .confidence(super::Confidence::Tentative)
        .at(form.place);
    }
}

fn captured_password(page: &Page<'_>, sink: &mut Sink) {
    if page.https || page.local() {
        return;
    }
    for (name, value, _) in page.parameters() {
        let lower = name.to_ascii_lowercase();
        let password = ["password", "passwd", "pwd", "passphrase"]
            .iter()
            .any(|word| lower.contains(word));
        if password && !value.is_empty() {
            sink.add(
                "insecure-form",
                Part::RequestBody,
                &name,
                format!("the parameter {name} was sent over HTTP"),
            );
        }
    }
}

fn basic(page: &Page<'_>, sink: &mut Sink) {
    if page.https || page.local() {
        return;
    }
    let is_basic = |value: &str| {
        value
            .get(..5)
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case("basic"))
    };
    if page.request.header("authorization").is_some_and(is_basic) {
        sink.add(
            "basic-over-http",
            Part::RequestHead,
            "",
            "credentials were sent over HTTP",
        );
    } else if page.status == 401 && page.response.all("www-authenticate").any(is_basic) {
        sink.add(
            "basic-over-http",
            Part::ResponseHead,
            "",
            "credentials are asked for over HTTP",
        );
    }
}

/// ASP.NET view states that carry no MAC. Where it was decoded it begins with FF 01, and a MAC is 20 or 32 bytes after the last object.
fn view_state(page: &Page<'_>, sink: &mut Sink) {
    for tag in &page.tags {
        let name = tag.attribute("name").unwrap_or_default();
        if tag.name != "input" || name != "__VIEWSTATE" {
            continue;
        }
        let value = tag.attribute("value").unwrap_or_default();
        let (bytes, clean) = crate::bytes::base64_lenient(value.as_bytes(), 64 << 10);
        // An unsigned state ends with the end of its structure: 0x64 closes a pair without a hash after it.
        let old = bytes.starts_with(b"\xff\x01") && bytes.last() == Some(&0x64);
        if clean && old {
            sink.add(
                "viewstate-unsigned",
                Part::ResponseBody,
                name,
                "the view state ends without a MAC",
            )
            .confidence(super::Confidence::Tentative)
            .at(tag.place);
        }
    }
}
