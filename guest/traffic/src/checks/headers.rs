//! Security headers, banners, debug headers.

use super::page::Page;
use super::{Severity, Sink};
use crate::message::media;
use crate::types::Part;

/// A day in seconds: shorter lifetimes of HSTS protect nobody who comes back.
const DAY: u64 = 86_400;

pub(super) fn check(page: &Page<'_>, sink: &mut Sink) {
    let document = page.is_document();
    if document {
        hsts(page, sink);
        policy(page, sink);
        frames(page, sink);
    }
    sniffing(page, sink);
    banners(page, sink);
}

fn hsts(page: &Page<'_>, sink: &mut Sink) {
    let address = page.origin.host.parse::<std::net::IpAddr>().is_ok();
    if !page.https || address || page.local() {
        return;
    }
    let Some(value) = page.response.header("strict-transport-security") else {
        sink.add("hsts", Part::ResponseHead, "", "the header is missing");
        return;
    };
    let age = value
        .split(';')
        .filter_map(|directive| directive.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("max-age"))
        .and_then(|(_, age)| age.trim().trim_matches('"').parse::<u64>().ok());
    match age {
        None | Some(0) => {
            sink.add("hsts", Part::ResponseHead, "", "max-age is 0 or missing");
        }
        Some(age) if age < DAY => {
            sink.add(
                "hsts",
                Part::ResponseHead,
                "",
                format!("max-age is {age} s, less than a day"),
            );
        }
        Some(_) => {}
    }
}

/// The directives of all enforced policies: name and sources, in lower case.
fn policies(page: &Page<'_>) -> Vec<(String, Vec<String>)> {
    let meta = page
        .tags
        .iter()
        .filter(|tag| tag.name == "meta")
        .filter(|tag| {
            tag.attribute("http-equiv")
                .is_some_and(|name| name.eq_ignore_ascii_case("content-security-policy"))
        })
        .filter_map(|tag| tag.attribute("content"));
    page.response
        .all("content-security-policy")
        .chain(meta)
        .flat_map(|policy| policy.split([';', ',']))
        .filter_map(|directive| {
            let mut words = directive
                .split_ascii_whitespace()
                .map(str::to_ascii_lowercase);
            Some((words.next()?, words.collect()))
        })
        .collect()
}

fn policy(page: &Page<'_>, sink: &mut Sink) {
    let policies = policies(page);
    if policies.is_empty() {
        let report_only = page
            .response
            .header("content-security-policy-report-only")
            .is_some();
        let evidence = if report_only {
            "the policy is only reported"
        } else {
            "there is no policy"
        };
        let seen = sink.add("csp-missing", Part::ResponseHead, "", evidence);
        if report_only {
            seen.severity(Severity::Info);
        }
        return;
    }
    let sources = |name: &str| {
        policies
            .iter()
            .find(|(directive, _)| directive == name)
            .map(|(_, sources)| sources)
    };
    let Some(scripts) = sources("script-src").or_else(|| sources("default-src")) else {
        // A policy that only says who may frame the page restricts no script, and does not mean to.
        if policies.iter().any(|(name, _)| name.ends_with("-src")) {
            sink.add(
                "csp-weak",
                Part::ResponseHead,
                "",
                "neither script-src nor default-src is set",
            );
        }
        return;
    };
    let strict = scripts.iter().any(|source| {
        source.starts_with("'nonce-") || source.starts_with("'sha") || source == "'strict-dynamic'"
    });
    for source in scripts {
        let weak = (source == "'unsafe-inline'" && !strict) || source == "*" || source == "data:";
        if weak {
            sink.add(
                "csp-weak",
                Part::ResponseHead,
                "",
                format!("scripts are allowed from {source}"),
            );
            return;
        }
    }
}

fn frames(page: &Page<'_>, sink: &mut Sink) {
    let option = page
        .response
        .header("x-frame-options")
        .is_some_and(|value| {
            value.eq_ignore_ascii_case("deny") || value.eq_ignore_ascii_case("sameorigin")
        });
    // `<meta>` policies cannot restrict framing.
    let ancestors = page
        .response
        .all("content-security-policy")
        .flat_map(|policy| policy.split([';', ',']))
        .map(|directive| directive.split_ascii_whitespace().collect::<Vec<_>>())
        .any(|words| {
            words
                .first()
                .is_some_and(|name| name.eq_ignore_ascii_case("frame-ancestors"))
                && !words.contains(&"*")
        });
    if !option && !ancestors {
        sink.add(
            "clickjacking",
            Part::ResponseHead,
            "",
            "neither X-Frame-Options nor frame-ancestors restricts framing",
        );
    }
}

fn sniffing(page: &Page<'_>, sink: &mut Sink) {
    if !page.is_2xx() || page.body.is_empty() {
        return;
    }
    if page.media_type.trim().is_empty() {
        sink.add(
            "content-type-missing",
            Part::ResponseHead,
            "",
            format!("a body of {} bytes has no Content-Type", page.body.len()),
        );
        return;
    }
    let kind = media::essence(&page.media_type);
    let executes = media::is_html(&kind) || media::is_script(&kind) || kind == "text/css";
    let nosniff = page
        .response
        .header("x-content-type-options")
        .is_some_and(|value| value.trim().eq_ignore_ascii_case("nosniff"));
    if executes && !nosniff {
        sink.add(
            "nosniff-missing",
            Part::ResponseHead,
            "",
            format!("a response of type {kind} may be sniffed"),
        );
    }
}

fn banners(page: &Page<'_>, sink: &mut Sink) {
    for header in &page.response.headers {
        let name = header.name.to_ascii_lowercase();
        match name.as_str() {
            "server" | "x-powered-by" | "x-aspnet-version" | "x-aspnetmvc-version"
                if has_version(&header.value) =>
            {
                sink.add(
                    "version-banner",
                    Part::ResponseHead,
                    &name,
                    format!("{}: {}", header.name, header.value),
                )
                .at(header.place);
            }
            "x-debug-token" | "x-debug-token-link" | "x-chromelogger-data" | "x-chromephp-data" => {
                sink.add(
                    "debug-header",
                    Part::ResponseHead,
                    &name,
                    format!("{} is sent", header.name),
                )
                .at(header.place);
            }
            _ => {}
        }
    }
}

/// Digit, dot, digit.
fn has_version(value: &str) -> bool {
    value
        .as_bytes()
        .windows(3)
        .any(|three| matches!(three, [left, b'.', right] if left.is_ascii_digit() && right.is_ascii_digit()))
}
