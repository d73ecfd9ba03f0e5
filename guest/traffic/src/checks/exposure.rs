//! What a server shows and should not: traces, paths, listings, addresses, files; redirects; serialised objects.

use super::page::Page;
use super::{Confidence, Severity, Sink};
use crate::bytes::find_from;
use crate::message::{media, url};
use crate::types::{Part, Span};

pub(super) fn check(page: &Page<'_>, sink: &mut Sink) {
    let text = !media::is_binary(&page.media_type);
    if text {
        let traced = stack_trace(page, sink);
        paths(page, traced, sink);
        listing(page, sink);
    }
    private_addresses(page, text, sink);
    redirect(page, sink);
    files(page, sink);
    serialized(page, sink);
    api(page, sink);
}

/// Lines of a page, with their offsets.
fn lines(body: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    body.split(|&byte| byte == b'\n').map(move |line| {
        let start = at;
        at += line.len() + 1;
        (start, line)
    })
}

fn contains(line: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(line, part).is_some()
}

/// Whether digits follow the first occurrence of `part`.
fn digits_after(line: &[u8], part: &[u8]) -> bool {
    find_from(line, part, 0)
        .and_then(|at| line.get(at + part.len()))
        .is_some_and(u8::is_ascii_digit)
}

/// The kind of frame that a line is.
fn frame(line: &[u8]) -> Option<&'static str> {
    /// Bytes of a line that is looked at: frames are short, minified scripts are not.
    const LINE: usize = 2048;
    let line = line.get(..LINE.min(line.len()))?.trim_ascii();
    if contains(line, b"File \"") && digits_after(line, b"\", line ") {
        return Some("python");
    }
    if let Some(rest) = line.strip_prefix(b"at ") {
        let java =
            contains(rest, b".java:") || contains(rest, b".kt:") || contains(rest, b".scala:");
        if java && rest.contains(&b'(') {
            return Some("java");
        }
        if digits_after(rest, b".js:")
            || digits_after(rest, b".ts:")
            || digits_after(rest, b".mjs:")
        {
            return Some("node");
        }
        if digits_after(rest, b".cs:line ") {
            return Some("dotnet");
        }
    }
    if contains(line, b".rb:") && contains(line, b":in `") {
        return Some("ruby");
    }
    if contains(line, b".php(") && line.starts_with(b"#") {
        return Some("php");
    }
    None
}

/// Marks that tell an error by themselves.
fn mark(line: &[u8]) -> Option<&'static str> {
    if digits_after(line, b"goroutine ") && contains(line, b" [") {
        return Some("go");
    }
    if contains(line, b"SQLSTATE[") {
        return Some("sql");
    }
    let oracle = find_from(line, b"ORA-", 0).and_then(|at| line.get(at + 4..at + 9));
    if oracle.is_some_and(|code| code.iter().all(u8::is_ascii_digit)) {
        return Some("oracle");
    }
    None
}

fn stack_trace(page: &Page<'_>, sink: &mut Sink) -> bool {
    let mut frames = 0;
    let mut first: Option<(usize, usize, &'static str)> = None;
    for (start, line) in lines(&page.body) {
        if let Some(kind) = frame(line).or_else(|| mark(line)) {
            frames += 1;
            first = first.or(Some((start, start + line.len(), kind)));
        }
    }
    let Some((start, end, kind)) = first else {
        return false;
    };
    // A single line in a page that is no error is mostly a tutorial's.
    if page.status < 400 && frames < 2 {
        return false;
    }
    sink.add(
        "stack-trace",
        Part::ResponseBody,
        kind,
        format!("{frames} lines of a {kind} trace"),
    )
    .confidence(Confidence::Firm)
    .at(Span::new(start, end));
    true
}

fn paths(page: &Page<'_>, traced: bool, sink: &mut Sink) {
    if !traced && page.status < 500 {
        return;
    }
    for prefix in [
        &b"/home/"[..],
        b"/var/www/",
        b"/usr/local/",
        b"/opt/",
        b"/srv/",
        b"C:\\",
    ] {
        let Some(at) = find_from(&page.body, prefix, 0) else {
            continue;
        };
        let rest = page.body.get(at + prefix.len()..).unwrap_or_default();
        let length = rest
            .iter()
            .take(200)
            .position(|byte| !(byte.is_ascii_alphanumeric() || b"/\\._-".contains(byte)))
            .unwrap_or(rest.len().min(200));
        if length > 2 {
            let place = Span::new(at, at + prefix.len() + length);
            let shown = String::from_utf8_lossy(place.of(&page.body)).into_owned();
            sink.add(
                "path-disclosed",
                Part::ResponseBody,
                &shown,
                format!("the path {shown}"),
            )
            .at(place);
            return;
        }
    }
}

fn listing(page: &Page<'_>, sink: &mut Sink) {
    if !page.is_2xx() || !media::is_html(&page.media_type) {
        return;
    }
    let start = page
        .body
        .get(..page.body.len().min(16 << 10))
        .unwrap_or_default();
    let has = |part: &[u8]| contains(start, part);
    let apache = has(b"<title>Index of /")
        && (has(b"Parent Directory") || has(b"Last modified") || has(b"../"));
    let tomcat = has(b"Directory Listing For") && has(b"Apache Tomcat");
    let iis = has(b"[To Parent Directory]") && has(b"<pre>");
    if apache || tomcat || iis {
        let path = url::split(page.url).path.to_owned();
        sink.add(
            "directory-listing",
            Part::ResponseBody,
            &path,
            "the page lists a directory",
        )
        .confidence(Confidence::Firm);
    }
}

fn is_private(text: &str) -> bool {
    text.parse::<std::net::Ipv4Addr>()
        .is_ok_and(|address| address.is_private())
}

/// Private addresses in a text, with their places. A longer number with dots is a version.
fn addresses(bytes: &[u8]) -> Vec<(Span, String)> {
    let inside = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    let mut found = Vec::new();
    for start in ["10.", "172.", "192.168."] {
        for at in memchr::memmem::find_iter(bytes, start.as_bytes()) {
            let before = at
                .checked_sub(1)
                .and_then(|before| bytes.get(before))
                .copied()
                .unwrap_or(b' ');
            if before.is_ascii_alphanumeric()
                || before == b'.'
                || before == b'-'
                || (before == b'/' && !bytes.get(..at).is_some_and(|text| text.ends_with(b"//")))
            {
                continue;
            }
            let rest = bytes.get(at..).unwrap_or_default();
            let length = rest
                .iter()
                .take(32)
                .take_while(|&&byte| inside(byte))
                .count();
            let text = String::from_utf8_lossy(rest.get(..length).unwrap_or_default()).into_owned();
            let text = text.trim_end_matches('.').to_owned();
            let after = rest.get(length).copied().unwrap_or(b' ');
            if is_private(&text) && !after.is_ascii_alphabetic() && after != b'-' {
                found.push((Span::new(at, at + text.len()), text));
            }
            if found.len() >= 16 {
                return found;
            }
        }
    }
    found
}

fn private_addresses(page: &Page<'_>, text: bool, sink: &mut Sink) {
    if is_private(&page.origin.host) || page.local() {
        return;
    }
    for header in &page.response.headers {
        if let Some((_, address)) = addresses(header.value.as_bytes()).first() {
            sink.add(
                "private-address",
                Part::ResponseHead,
                address,
                format!("{} holds {address}", header.name),
            )
            .at(header.place);
        }
    }
    let kind = media::is_html(&page.media_type) || media::is_json(&page.media_type);
    if text
        && kind
        && let Some((place, address)) = addresses(&page.body).first()
    {
        sink.add(
            "private-address",
            Part::ResponseBody,
            address,
            format!("the body holds {address}"),
        )
        .at(*place);
    }
}

fn redirect(page: &Page<'_>, sink: &mut Sink) {
    if !(300..400).contains(&page.status) {
        return;
    }
    let Some(location) = page.response.header("location") else {
        return;
    };
    let host = url::split(location).host.to_ascii_lowercase();
    if host.is_empty() || host == page.origin.host {
        return;
    }
    for (name, value, _) in page.parameters() {
        let value = String::from_utf8_lossy(&value).to_ascii_lowercase();
        let given = url::split(&value).host == host || value == host;
        if given {
            let exact = location.eq_ignore_ascii_case(&value);
            sink.add(
                "open-redirect",
                Part::ResponseHead,
                &name,
                format!("the host of Location comes from the parameter {name}"),
            )
            .severity(if exact { Severity::Low } else { Severity::Info })
            .confidence(Confidence::Tentative);
            return;
        }
    }
}

fn files(page: &Page<'_>, sink: &mut Sink) {
    if !page.is_2xx() || page.body.is_empty() {
        return;
    }
    let path = url::split(page.url).path;
    let html = media::is_html(&page.media_type);
    let body = page
        .body
        .get(..page.body.len().min(64 << 10))
        .unwrap_or_default();
    let mut found = |what: &str| {
        sink.add(
            "exposed-file",
            Part::ResponseBody,
            path,
            format!("{what} is served"),
        );
    };
    if contains(body, b"<title>phpinfo()</title>")
        || (contains(body, b"PHP Version")
            && contains(body, b"<title>PHP ")
            && contains(body, b"phpinfo()"))
    {
        return found("the output of phpinfo()");
    }
    if html {
        return;
    }
    if path.ends_with("/.git/config") && contains(body, b"[core]") {
        found("a Git configuration");
    } else if path
        .rsplit('/')
        .next()
        .is_some_and(|name| name == ".env" || name.starts_with(".env."))
        && settings(body) >= 2
    {
        found("a file of environment variables");
    } else if path.contains(".htpasswd")
        && (contains(body, b":$apr1$") || contains(body, b":$2y$") || contains(body, b":{SHA}"))
    {
        found("a password file");
    } else if path.ends_with("/env")
        && media::is_json(&page.media_type)
        && contains(body, b"\"propertySources\"")
    {
        found("the environment of a Spring application");
    }
}

/// Lines `KEY=value`.
fn settings(body: &[u8]) -> usize {
    lines(body)
        .filter(|(_, line)| {
            let name = line.split(|&byte| byte == b'=').next().unwrap_or_default();
            line.contains(&b'=')
                && !name.is_empty()
                && name
                    .iter()
                    .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
        })
        .count()
}

fn serialized(page: &Page<'_>, sink: &mut Sink) {
    const BINARY: &[u8] = b"\xac\xed\x00\x05";
    for (name, value, query) in page.parameters() {
        if value.starts_with(b"rO0AB") {
            let part = if query { Part::Url } else { Part::RequestBody };
            sink.add(
                "java-serialized",
                part,
                &name,
                format!("the parameter {name} is a serialised Java object"),
            );
        }
    }
    for (part, body) in [
        (Part::RequestBody, &page.request_body),
        (Part::ResponseBody, &page.body),
    ] {
        if body.starts_with(BINARY) || body.starts_with(b"rO0AB") {
            sink.add(
                "java-serialized",
                part,
                "",
                "the body is a serialised Java object",
            );
        }
    }
}

fn api(page: &Page<'_>, sink: &mut Sink) {
    if !page.is_2xx() || !media::is_json(&page.media_type) {
        return;
    }
    let mut version = false;
    crate::message::json::walk(&page.body, &mut |frames, _| {
        if let [frame] = frames
            && let Some(key) = frame.key
        {
            version |= matches!(key.of(&page.body), b"openapi" | b"swagger");
        }
    });
    if version {
        let path = url::split(page.url).path.to_owned();
        sink.add(
            "api-docs",
            Part::ResponseBody,
            &path,
            "an OpenAPI description is served",
        );
    }
}

/// Whether the response is a source map.
pub(super) fn is_source_map(page: &Page<'_>) -> bool {
    let start = page
        .body
        .get(..page.body.len().min(4096))
        .unwrap_or_default();
    page.is_2xx()
        && url::split(page.url).path.ends_with(".map")
        && (contains(start, b"\"mappings\"")
            || (contains(start, b"\"version\"") && contains(start, b"\"sources\"")))
}

/// The source map that a script names, as a URL without query, and the place of the comment.
pub(super) fn source_map_of(page: &Page<'_>) -> Option<(String, Option<Span>)> {
    if !page.is_2xx() || !media::is_script(&page.media_type) {
        return None;
    }
    let header = page
        .response
        .header("sourcemap")
        .or_else(|| page.response.header("x-sourcemap"));
    let (name, place) = match header {
        Some(name) => (name.to_owned(), None),
        None => {
            const MARK: &[u8] = b"# sourceMappingURL=";
            let at = memchr::memmem::rfind(&page.body, MARK)?;
            let rest = page.body.get(at + MARK.len()..)?;
            let length = rest
                .iter()
                .take(2048)
                .position(u8::is_ascii_whitespace)
                .unwrap_or(rest.len().min(2048));
            let name = String::from_utf8_lossy(rest.get(..length)?).into_owned();
            (name, Some(Span::new(at, at + MARK.len() + length)))
        }
    };
    if name.starts_with("data:") {
        return None;
    }
    let pieces = url::split(&name);
    let origin = if pieces.host.is_empty() {
        page.origin.to_url()
    } else {
        url::origin(&name)?.to_url()
    };
    let path = if pieces.path.starts_with('/') {
        pieces.path.to_owned()
    } else {
        let base = url::split(page.url).path;
        let folder = base.rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{folder}/{}", pieces.path.trim_start_matches("./"))
    };
    Some((format!("{origin}{path}"), place))
}
