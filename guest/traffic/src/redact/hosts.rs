//! Host names, e-mail addresses and IP addresses, for the strict mode.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::finds::Finds;
use crate::types::Span;

/// Last labels that make a dotted name a host name. File names and identifiers with dots have others.
const TOP: &[&str] = &[
    "com",
    "net",
    "org",
    "io",
    "dev",
    "app",
    "cloud",
    "co",
    "uk",
    "de",
    "fr",
    "nl",
    "eu",
    "us",
    "ca",
    "au",
    "jp",
    "cn",
    "in",
    "br",
    "ru",
    "ch",
    "at",
    "se",
    "no",
    "fi",
    "dk",
    "es",
    "it",
    "pl",
    "cz",
    "be",
    "ie",
    "pt",
    "gov",
    "edu",
    "mil",
    "int",
    "info",
    "biz",
    "ai",
    "tech",
    "online",
    "site",
    "xyz",
    "shop",
    "local",
    "localdomain",
    "internal",
    "intranet",
    "corp",
    "lan",
    "home",
    "private",
    "test",
    "example",
    "invalid",
    "onion",
    "tv",
    "sh",
    "gg",
];

/// Bytes of a name in the sense of DNS.
const NAME: usize = 253;

/// Finds what the strict mode hides. `known` are hosts of the exchange, which count whatever their last label is.
pub(super) fn scan(finds: &mut Finds<'_>, known: &[String]) {
    let bytes = finds.bytes;
    let mut at = 0;
    while at < bytes.len() {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(skip) = rest.iter().position(|&byte| is_name(byte)) else {
            break;
        };
        let start = at + skip;
        let rest = bytes.get(start..).unwrap_or_default();
        let length = rest
            .iter()
            .position(|&byte| !is_name(byte))
            .unwrap_or(rest.len());
        word(finds, start, start + length, known);
        at = start + length;
    }
    addresses_v6(finds);
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_') || byte >= 0x80
}

fn is_local_part(byte: u8) -> bool {
    is_name(byte) || b"+%!#$&'*/=?^`{|}~".contains(&byte)
}

fn word(finds: &mut Finds<'_>, start: usize, end: usize, known: &[String]) {
    let bytes = finds.bytes;
    let mut end = end;
    while end > start && matches!(bytes.get(end - 1), Some(b'.' | b'-' | b'_')) {
        end -= 1;
    }
    // An escape before the name is no part of it: `%2Fhost`, `\nhost`.
    let mut start = start;
    let before = start
        .checked_sub(1)
        .and_then(|at| bytes.get(at))
        .copied()
        .unwrap_or(0);
    if before == b'%' && end - start > 2 {
        start += 2;
    } else if before == b'\\' && end - start > 1 {
        start += 1;
    }
    let text = bytes.get(start..end).unwrap_or_default();
    let Ok(text) = str::from_utf8(text) else {
        return;
    };
    let before = start
        .checked_sub(1)
        .and_then(|at| bytes.get(at))
        .copied()
        .unwrap_or(0);
    let lower = text.to_ascii_lowercase();
    let span = Span::new(start, end);
    if let Ok(address) = text.parse::<Ipv4Addr>() {
        // `Chrome/120.0.0.0` is a version.
        let version = before == b'/'
            && start
                .checked_sub(2)
                .and_then(|at| bytes.get(at))
                .is_some_and(|byte| byte.is_ascii_alphabetic());
        if !version && !address.is_loopback() && !address.is_unspecified() {
            finds.kind("ip", span, lower.into_bytes());
        }
        return;
    }
    let named = known.iter().any(|host| {
        host == &lower
            || lower
                .strip_suffix(host.as_str())
                .is_some_and(|rest| rest.ends_with('.'))
    });
    if !named && !is_host(&lower) {
        return;
    }
    if before == b'@' && start >= 2 {
        let local = bytes
            .get(..start - 1)
            .unwrap_or_default()
            .iter()
            .rev()
            .take(64)
            .take_while(|&&byte| is_local_part(byte))
            .count();
        if local > 0 {
            let span = Span::new(start - 1 - local, end);
            let value = span.of(bytes).to_ascii_lowercase();
            finds.kind("email", span, value);
            return;
        }
    }
    finds.kind("host", span, lower.into_bytes());
}

/// Whether a dotted name is a host's by its last label.
fn is_host(name: &str) -> bool {
    if name.len() > NAME || !name.contains('.') {
        return false;
    }
    let mut labels = name.rsplit('.');
    let top = labels.next().unwrap_or_default();
    TOP.contains(&top)
        && labels.all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && label.bytes().all(|byte| {
                    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' || byte >= 0x80
                })
        })
}

fn addresses_v6(finds: &mut Finds<'_>) {
    let bytes = finds.bytes;
    let inside = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b':' || *byte == b'.';
    let mut last = 0;
    for colon in memchr::memchr_iter(b':', bytes) {
        if colon < last {
            continue;
        }
        let before = bytes
            .get(last..colon)
            .unwrap_or_default()
            .iter()
            .rev()
            .take(40)
            .take_while(|byte| inside(byte))
            .count();
        let start = colon - before;
        let after = bytes
            .get(colon..)
            .unwrap_or_default()
            .iter()
            .take(46)
            .take_while(|byte| inside(byte))
            .count();
        last = colon + after;
        let text = bytes.get(start..last).unwrap_or_default();
        if let Ok(text) = str::from_utf8(text)
            && text.len() > 3
            && let Ok(address) = text.parse::<Ipv6Addr>()
            && !address.is_loopback()
            && !address.is_unspecified()
        {
            let value = address.to_string().into_bytes();
            finds.kind("ip", Span::new(start, last), value);
        }
    }
}
